"""Observers of agent frameworks: they turn the reports of models and tools into items of a recording."""
