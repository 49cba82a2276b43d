"""Large data sets in chunks: executors do the work, sinks take the rows, and a broken-off output can be resumed.

Nothing here knows what the rows are about.
"""
