"""Metrics of users: functions, code in a configuration, and prompts of their own."""
