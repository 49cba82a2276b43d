"""Plays the user."""
