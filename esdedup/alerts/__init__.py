"""Watches that report each new finding once: events, protected texts, feeds."""
