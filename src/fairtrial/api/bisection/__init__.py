"""Finds the commit that changed what an agent does."""
