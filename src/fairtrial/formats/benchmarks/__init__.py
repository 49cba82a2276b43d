"""Benchmarks of agents: their tasks and their logs."""
