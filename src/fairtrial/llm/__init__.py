"""Talks to language models: providers, and everything that may stand between a question and a provider."""
