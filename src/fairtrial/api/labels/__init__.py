"""Collects the labels of people, and measures how far people agree."""
