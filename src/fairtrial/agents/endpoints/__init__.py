"""Agents behind servers and in other processes."""
