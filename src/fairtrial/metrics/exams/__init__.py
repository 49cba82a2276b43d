"""Questions with known answers, for judges and for models that write."""
