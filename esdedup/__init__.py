"""Near-duplicate news detection: every copy linked to its original, one result per story."""

__version__ = "0.1.0.dev0"
