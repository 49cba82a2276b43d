"""Makes the data that pages and files show from stored records."""
