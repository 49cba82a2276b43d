"""Renders the results of mutation testing."""
