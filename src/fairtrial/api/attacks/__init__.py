"""Attack an agent in its own cases."""
