"""One result per story: in a store's own searches, and in any list from anywhere.

`queries`, `results` and `requests` are plain data and pure functions over it, which the stores
use; `searcher` is the one entry for searches, `fold` the one for lists.
"""
