"""Reports of failure modes: terminal, Markdown and HTML."""
