"""Failure modes of runs, their changes between runs, and guards against them."""
