"""Read agents that write code: the streams and sessions of command-line agents, and SWE-agent."""
