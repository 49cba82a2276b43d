"""Conversations that are built from spans."""
