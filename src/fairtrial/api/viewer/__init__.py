"""Answers the requests of the pages that show runs."""
