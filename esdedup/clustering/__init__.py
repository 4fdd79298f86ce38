"""The write path: records are placed in groups, written, and reconciled."""
