"""The records of the domain: frozen, and without I/O."""
