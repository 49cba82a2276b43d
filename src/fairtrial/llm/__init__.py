"""Talks to language models: the seam, and everything that may stand between a question and a provider."""
