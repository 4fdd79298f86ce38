"""What a few articles are about: those that were read lately are not read again.

Questions for similar news are about the articles of the day, and bring the same ones again and
again. A text is known by what is read of it, so that a topic is right whatever became of the
article, the store or the index that it came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.features.topics import CHARACTERS, mark_of, topics
from esdedup.model import Document, Topic
from esdedup.settings import Settings

# Texts that are remembered at least, and at most twice as many: about 2 kB each.
_REMEMBERED = 2_000

# What topics depend on, title, beginning of the text, language.
_Read = tuple[str, str, str, str | None]


class _Memory:
    """The topics asked for last: a full half is kept until the other one is full as well."""

    def __init__(self) -> None:
        self._recent: dict[_Read, Topic] = {}
        self._before: dict[_Read, Topic] = {}

    def get(self, read: _Read) -> Topic | None:
        topic = self._recent.get(read)
        if topic is None:
            topic = self._before.get(read)
            if topic is not None:
                self.keep(read, topic)
        return topic

    def keep(self, read: _Read, topic: Topic) -> None:
        if len(self._recent) >= _REMEMBERED:
            self._recent, self._before = {}, self._recent
        self._recent[read] = topic

    def __len__(self) -> int:
        return len(self._recent) + len(self._before)


_memory = _Memory()


def topics_of_few(documents: Sequence[Document], settings: Settings) -> list[Topic]:
    """As `topics` has them, one for each document."""
    if settings.leave_out_boilerplate:  # which words count depends on the site as well
        return topics(documents, settings)
    mark = mark_of(settings)
    reads = [(mark, d.title, d.text[:CHARACTERS], d.lang) for d in documents]
    known = [_memory.get(read) for read in reads]
    missing = [place for place, topic in enumerate(known) if topic is None]
    new = iter(topics([documents[place] for place in missing], settings))
    found = [next(new) if topic is None else topic for topic in known]
    for place in missing:
        _memory.keep(reads[place], found[place])
    return found
