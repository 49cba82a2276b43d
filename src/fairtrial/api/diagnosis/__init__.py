"""Find the side at fault by repeating failed attempts without a suspect."""
