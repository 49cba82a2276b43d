"""Writes eval sets: from recordings, from other formats, and with a model."""
