"""Finds and removes secrets and personal data."""

Span = tuple[int, int, str]
"""The start and the end of what is removed, and its name."""
