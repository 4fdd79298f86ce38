"""Whether two documents are one story, and which is the original: pure functions."""
