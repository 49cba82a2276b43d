"""Reads the folders into which data sets are scored."""
