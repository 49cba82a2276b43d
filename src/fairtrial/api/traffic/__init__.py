"""Exchanges traces, recordings and scores with other tools."""
