"""The criteria about planted texts."""
