"""What is read from a text besides its words: numbers, named entities, topics."""
