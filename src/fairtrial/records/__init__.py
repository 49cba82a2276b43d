"""The nouns: frozen records without I/O."""
