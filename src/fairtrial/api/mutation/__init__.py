"""Plants changes in conversations and environments, and counts the changes that an evaluation catches."""
