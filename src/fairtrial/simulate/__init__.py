"""Plays the surroundings of the agent under test: its users and its tools."""
