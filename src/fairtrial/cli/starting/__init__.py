"""Commands for the first minutes."""
