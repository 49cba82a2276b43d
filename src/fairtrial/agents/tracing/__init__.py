"""Record conversations by the spans that frameworks and instrumentations write while the agent works."""
