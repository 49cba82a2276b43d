"""Failure analysis: the decisive step of each failed attempt, and the modes of the failures of a run."""
