"""Answers questions about finished runs from their results: summaries, comparisons, gates and plans.

For example, `comparison` says whether a candidate is better than its base, and `sizing` how many cases show it.
"""
