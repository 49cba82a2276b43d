"""Agents in processes of their own."""
