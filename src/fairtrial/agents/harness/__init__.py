"""Run command-line agents, each attempt in a clean workspace of its own."""
