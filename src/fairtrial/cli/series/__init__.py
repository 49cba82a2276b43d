"""Commands about changes along commits and in production."""
