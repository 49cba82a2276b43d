"""Renders the values of reasoning traces."""
