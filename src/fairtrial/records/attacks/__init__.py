"""Records of attacks."""
