"""Checks of servers of tools and agents."""
