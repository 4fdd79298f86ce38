"""Words, sentences, hashes and word statistics."""
