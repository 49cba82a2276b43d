"""Servers on HTTP: front ends like the command line, on the same `api`."""
