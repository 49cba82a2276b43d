"""Recordings as files for other tools."""
