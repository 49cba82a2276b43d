"""Writes the files that an evaluation starts from."""
