"""Sample articles: texts about different events, and a factory for each way tests make articles.

`article` gives a text an id and a day. `StoryVariant` invents versions of a story that share some
of their sentences, `topical_text` invents texts that share a topic and no passage.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from esdedup.model import Document

DAY_ONE = datetime(2024, 3, 1, tzinfo=UTC)
FERRY = (
    "At least 12 people died and more than 40 were injured when fire swept through the car deck "
    "of an overnight ferry off the Eastshire coast early on Tuesday, the coastguard said. The "
    "Stella Corvina was carrying 286 passengers and 31 crew from Brackwater to the island of "
    "Skerrin when the alarm was raised about nine nautical miles from shore. Helicopters and two "
    "lifeboats lifted people from the upper decks as flames spread from the vehicle hold to the "
    "forward cabins. Several passengers jumped into the water before rescue craft came."
)
BRIDGE = (
    "The Kestrel Bridge will close to lorries for eighteen weeks from April while engineers "
    "replace the bearings under its northern span, the county highways authority announced. "
    "Drivers of heavy vehicles will have to use the valley road through Lower Arle, a detour of "
    "forty kilometres that hauliers say will add an hour to each journey across the estuary."
)
FLOOD = (
    "The river Arle burst its banks near Tollmere after three days of rain, and families were "
    "taken to the school on the hill. Sandbags lined the market square when night fell, and the "
    "mayor asked everybody to stay away from the old bridge until engineers had looked at it."
)
STRIKE = (
    "Train drivers walked out over pay on Friday and commuters waited for hours at stations in "
    "the capital. The union said talks with the rail operator would go on next week."
)
GARDEN = (
    "The spring garden show opened with tulips from forty growers. Visitors admired a pavilion of "
    "willow branches, and the prize for roses went to a school."
)


def article(id_: str, text: str, day: float = 0, **fields: Any) -> Document:
    """An English article, published so many days after `DAY_ONE`."""
    published = DAY_ONE + timedelta(days=day)
    return Document(**{"id": id_, "text": text, "lang": "en", "published": published, **fields})


# --- versions of a story -------------------------------------------------------------------------

SENTENCES = 8
WHOLE = tuple(range(SENTENCES))


@cache
def story_sentence(*place: object) -> str:
    chooser = random.Random(repr(place))
    letters = "abcdefghijklmnoprstuvyz"
    return " ".join("".join(chooser.choices(letters, k=6)) for _ in range(9)) + "."


@dataclass(frozen=True)
class StoryVariant:
    """One version of an invented story: its sentences, the count it reports, what it adds.

    Leaving out different sentences makes similarity intransitive, as it is among real articles.
    With a `headline` it is the page of a source about something else: the story is boilerplate.
    """

    story: int
    sentences: tuple[int, ...] = WHOLE
    dead: int = 12
    added: int = 0
    day: int | None = None
    headline: int | None = None

    def document(self, id_: str, **fields: Any) -> Document:
        body = [story_sentence(self.story, i) for i in self.sentences]
        if self.headline is not None:
            title = story_sentence("headline", self.headline)
            fields = {"source": "example.org", "title": title, **fields}
            body.insert(0, " ".join(reversed(title.rstrip(".").split())) + ".")
        body.insert(
            1, f"Officials in {story_sentence(self.story)} said {self.dead} people were killed."
        )
        body += [story_sentence(self.story, self.dead, "more", i) for i in range(self.added)]
        if self.day is None:
            return article(id_, " ".join(body), published=None, **fields)
        return article(id_, " ".join(body), self.day, **fields)


def story_article(id_: str, story: int, day: int, dead: int = 12) -> Document:
    """The whole text of an invented story: of one story and number of dead, all are copies."""
    return StoryVariant(story, dead=dead, day=day).document(id_)


# --- one topic, different texts ------------------------------------------------------------------

# The words of an article about a subject; each article has them in an order of its own.
SUBJECTS = {
    "ferry": "ferry Stella fire Brackwater coastguard passengers lifeboats helicopter harbour "
    "smoke captain survivors rescue deck engine evening flames crew",
    "strike": "train drivers strike commuters union wages stations railway timetable talks "
    "operator platform walkout ballot picket carriages ministry",
    "garden": "tulips garden roses growers pavilion willow visitors prize orchids greenhouse "
    "spring lawn judges bouquet hedges nursery seeds",
}
_FILLERS = ("the", "on", "at", "said", "after", "with", "from", "was", "while", "before", "during")


def topical_text(subject: str, n: int, *, words: int = 70) -> str:
    """A text about a subject that shares words with the others of its subject, and no passage."""
    own = random.Random(f"{subject} {n}")
    terms = SUBJECTS[subject].split()
    text = [own.choice(terms) if own.random() < 0.6 else own.choice(_FILLERS) for _ in range(words)]
    return " ".join(text) + "."


def ferry_articles(count: int, *, start: datetime, minutes: int = 60) -> list[Document]:
    """Different articles about one fire, each from another source."""
    return [
        Document(
            id=f"ferry{n}",
            title=f"Ferry Stella: fire off Brackwater ({n})",
            text=topical_text("ferry", n),
            source=f"Paper {n}",
            lang="en",
            published=start + timedelta(minutes=minutes * n),
        )
        for n in range(count)
    ]
