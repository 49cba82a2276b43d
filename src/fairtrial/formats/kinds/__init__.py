"""Kinds of logs that become messages of OpenAI: one row in a table for each."""
