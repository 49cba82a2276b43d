"""Renders comparisons, gates and plans."""
