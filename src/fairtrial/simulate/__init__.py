"""Plays what stands around the agent under test: its users, and its tools."""
