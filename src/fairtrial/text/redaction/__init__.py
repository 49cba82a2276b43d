"""Finds and removes secrets and personal data."""
