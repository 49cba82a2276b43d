"""Properties of a run that are computed at the first access: failures and attack rates."""
