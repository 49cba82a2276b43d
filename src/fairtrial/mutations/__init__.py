"""Operators that plant one change in a conversation. An evaluation should catch the harmful changes only."""
