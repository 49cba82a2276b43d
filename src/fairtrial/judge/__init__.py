"""Asks language models closed questions and counts their votes."""
