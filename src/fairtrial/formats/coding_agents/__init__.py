"""Read the output of command-line agents: the streams of Claude Code, Gemini CLI and OpenCode."""
