"""Values reasoning traces, selects the best of them, and removes secrets."""
