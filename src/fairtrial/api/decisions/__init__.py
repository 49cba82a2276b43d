"""Compares runs, decides claims, and plans the size of runs."""
