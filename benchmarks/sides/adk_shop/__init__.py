"""The shop assistant of `examples/agent.py` as an agent of google-adk, with an instant model."""

from . import agent as agent
