"""Facts of a news text, and which of them changed between two versions of it.

`read_quantities` reads a text: its counts with a few words on either side, shares ("a third of"),
ordinals of victims, cases and arrests, and vague quantities ("hundreds"). `compare_facts` compares
two texts that are known to be near-identical: it lists quantities that changed in the same context
("12 -> 17: at least 17 people died"), places and diseases that were named, and statements that were
denied or turned round.

Counts are cardinal numbers in digits or words: people, cases, magnitudes, measures (kind
``count``), shares of a hundred (``percent``) and sums of money (``money``); a score or a range
("2-1") is one count. Not counts: dates, years, clock times, "3 hours ago", ages, ratios "1/5",
phone numbers, identifiers, roads, lines and channels, version and list numbers, names such as
"COVID-19", page furniture ("3 comments"), and a lone "one".
"""

from __future__ import annotations

from esdedup.features.numbers.changes import compare_numbers
from esdedup.features.numbers.facts import compare_facts
from esdedup.features.numbers.finding import Reading, extract_numbers, read_quantities
from esdedup.model.numbers import NumberChange, NumberContext

__all__ = [
    "NumberChange",
    "NumberContext",
    "Reading",
    "compare_facts",
    "compare_numbers",
    "extract_numbers",
    "read_quantities",
]
