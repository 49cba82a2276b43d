"""Scores data sets into folders, and reads the folders back."""
