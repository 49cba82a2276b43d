"""Checks judges before, during and after runs."""
