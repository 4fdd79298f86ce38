"""Counts in a news text, and which of them changed between two versions of it.

`extract_numbers` finds the counts of a text with a few words on either side. `compare_numbers`
compares the counts of two texts that are known to be near-identical, and lists those that changed
in the same context ("12 -> 17 people killed"). `names.py` does the same for names at the beginning.
`extract_facts` and `compare_facts` do both.

Counts are cardinal numbers in digits or words: people, cases, magnitudes, measures (kind
``count``), shares of a hundred (``percent``) and sums of money (``money``); a score or a range
("2-1") is one count. Not counts: dates, years, clock times, "3 hours ago", ordinals, ages,
fractions, ratios "1/5", phone numbers, identifiers, version and list numbers, names such as
"COVID-19", page furniture ("3 comments"), and a lone "one".
"""

from __future__ import annotations

from esdedup.features.numbers.changes import compare_numbers
from esdedup.features.numbers.facts import compare_facts, extract_facts
from esdedup.features.numbers.finding import extract_numbers
from esdedup.features.numbers.names import compare_names, extract_names
from esdedup.model.numbers import NumberChange, NumberContext

__all__ = [
    "NumberChange",
    "NumberContext",
    "compare_facts",
    "compare_names",
    "compare_numbers",
    "extract_facts",
    "extract_names",
    "extract_numbers",
]
