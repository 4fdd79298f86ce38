"""Counts in a news text, and which of them changed between two versions of it.

`number_contexts` finds the counts of a text with a few words on either side; these are small
enough to be stored. `changed_numbers` compares the stored counts of two texts that are known to
be near-identical, and lists those that changed in the same context ("12 -> 17 people killed").
`names.py` does the same for names at the beginning; `stated` and `changed` join both.

Counts are cardinal numbers in digits or words: people, cases, magnitudes, measures (kind
``count``), shares of a hundred (``percent``) and sums of money (``money``); a score or a range
("2-1") is one count. Not counts: dates, years, clock times, "3 hours ago", ordinals, ages,
fractions, ratios "1/5", phone numbers, identifiers, version and list numbers, names such as
"COVID-19", page furniture ("3 comments"), and a lone "one".
"""

from __future__ import annotations

from esdedup.features.numbers.changes import changed_numbers
from esdedup.features.numbers.facts import changed, stated
from esdedup.features.numbers.finding import number_contexts
from esdedup.features.numbers.lazy import UnreadNumbers
from esdedup.features.numbers.names import changed_names, name_contexts
from esdedup.model.numbers import NumberChange, NumberContext, WrittenNumbers, written

__all__ = [
    "NumberChange",
    "NumberContext",
    "UnreadNumbers",
    "WrittenNumbers",
    "changed",
    "changed_names",
    "changed_numbers",
    "name_contexts",
    "number_contexts",
    "stated",
    "written",
]
