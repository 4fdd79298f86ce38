"""Invented news about a few things, for tests of topics and events."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from esdedup.model import Document

FERRY = (
    "The ferry Stella caught fire off Brackwater on Tuesday evening and 12 people died, the "
    "coastguard said. Lifeboats and a helicopter brought the passengers to the harbour."
)
STRIKE = (
    "Train drivers walked out over pay on Friday and commuters waited for hours at stations in "
    "the capital. The union said talks with the rail operator would go on next week."
)
GARDEN = (
    "The spring garden show opened with tulips from forty growers. Visitors admired a pavilion of "
    "willow branches, and the prize for roses went to a school."
)
# What an article about a subject speaks of; each newsroom in an order of its own.
SUBJECTS = {
    "ferry": "ferry Stella fire Brackwater coastguard passengers lifeboats helicopter harbour "
    "smoke captain survivors rescue deck engine evening flames crew",
    "strike": "train drivers strike commuters union wages stations railway timetable talks "
    "operator platform walkout ballot picket carriages ministry",
    "garden": "tulips garden roses growers pavilion willow visitors prize orchids greenhouse "
    "spring lawn judges bouquet hedges nursery seeds",
}
_FILLING = ("the", "on", "at", "said", "after", "with", "from", "was", "while", "before", "during")


def story(subject: str, n: int, *, words: int = 70) -> str:
    """An article about a subject that shares its words with others, and no passage."""
    own = random.Random(f"{subject} {n}")
    telling = SUBJECTS[subject].split()
    text = [
        own.choice(telling) if own.random() < 0.6 else own.choice(_FILLING) for _ in range(words)
    ]
    return " ".join(text) + "."


def ferry_stories(count: int, *, start: datetime, minutes: int = 60) -> list[Document]:
    """Different articles about one fire, each by another newsroom."""
    return [
        Document(
            id=f"ferry{n}",
            title=f"Ferry Stella: fire off Brackwater ({n})",
            text=story("ferry", n),
            source=f"Paper {n}",
            lang="en",
            published=start + timedelta(minutes=minutes * n),
        )
        for n in range(count)
    ]
