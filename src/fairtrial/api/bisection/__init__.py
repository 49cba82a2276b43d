"""Finds the commit that changed an agent."""
