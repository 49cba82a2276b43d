"""Talks to the operating system and the interpreter: imports, locks, paths, threads and the end of the process."""
