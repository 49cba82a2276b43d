"""Renders the votes, the calibrations and the report cards of judges."""
