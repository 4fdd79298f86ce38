"""One result per story: `searcher` for the searches of a store, `fold` for lists from anywhere."""
