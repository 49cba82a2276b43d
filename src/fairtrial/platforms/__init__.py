"""Services that keep traces: a client for each, which reads traces and labels, and writes scores."""
