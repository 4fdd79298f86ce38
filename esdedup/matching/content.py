"""What verification compares: computed from the texts of two documents, stored nowhere.

Only the few candidates of a document are read, all in one pass over their characters. The latest
contents are cached by their text, so that the original of a large story is read once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from esdedup.features.numbers import Reading, read_quantities
from esdedup.matching.prose import find_prose
from esdedup.methods import exact
from esdedup.model import Document, Hashes32
from esdedup.settings import Settings
from esdedup.text.batch import Batch, signed_text
from esdedup.text.tokens import guess_language

# Characters and shingles of all cached contents: some 20,000 articles of 400 words.
_MOST_UNITS = 64 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class Content:
    """What verification reads of one document.

    `shingles` are 32-bit hashes in text order, as far as they are compared. `words` counts the
    words of the signed text, without those of menus and lists where these are not compared.
    """

    text: str
    given_lang: str | None
    words: int
    shingles: Hashes32
    digest: str

    @cached_property
    def lang(self) -> str | None:
        """Given, else guessed from the text."""
        return self.given_lang or guess_language(self.text)

    @cached_property
    def reading(self) -> Reading:
        """The text with its quantities. Few articles are ever asked for them."""
        return read_quantities(self.text, self.given_lang)


# All that a content depends on: settings, title, text, language, and the site for boilerplate.
_Key = tuple[tuple[Hashable, ...], str, str, str | None, str | None, str | None]


class ContentCache:
    """The contents that were used last, within a bound of memory; shared by threads."""

    def __init__(self, most_units: int = _MOST_UNITS) -> None:
        self._contents: OrderedDict[_Key, Content] = OrderedDict()
        self._lock = Lock()
        self._room = most_units

    def read(self, documents: Sequence[Document], settings: Settings) -> list[Content]:
        """The content of each document; those not cached are computed in one pass."""
        keys = _keys(documents, settings)
        with self._lock:
            found = {key: self._contents[key] for key in keys if key in self._contents}
            for key in found:
                self._contents.move_to_end(key)
        missing = {
            key: document for key, document in zip(keys, documents, strict=True) if key not in found
        }
        if missing:
            batch = Batch(list(missing.values()), settings)
            contents = compute_contents(batch, exact.sign(batch, settings))
            computed = dict(zip(missing, contents, strict=True))
            self._put(computed)
            found |= computed
        return [found[key] for key in keys]

    def add(
        self, documents: Sequence[Document], contents: Iterable[Content], settings: Settings
    ) -> None:
        """Cache the contents of texts that were just signed, here or in a worker process."""
        self._put(dict(zip(_keys(documents, settings), contents, strict=True)))

    def _put(self, contents: dict[_Key, Content]) -> None:
        with self._lock:
            for key, content in contents.items():
                if key not in self._contents:
                    self._room -= _units(content)
                self._contents[key] = content
            while self._room < 0 and self._contents:
                _, dropped = self._contents.popitem(last=False)
                self._room += _units(dropped)


def _keys(documents: Sequence[Document], settings: Settings) -> list[_Key]:
    of_settings = (
        settings.signed_text,
        settings.fingerprint,
        settings.shingle_words,
        settings.compared_part,
        settings.short_text,
        settings.max_shingles,
        settings.compared_text,
        settings.leave_out_boilerplate,
        settings.words_version,
        settings.boilerplate_share,
        settings.boilerplate_stories,
    )
    return [(of_settings, d.title, d.text, d.lang, d.source, d.url) for d in documents]


def _units(content: Content) -> int:
    # The text once more as it was read, and folded.
    return 3 * len(content.text) + 4 * len(content.shingles) + 500


def compute_contents(batch: Batch, digests: Sequence[str]) -> Iterator[Content]:
    """`digests` are those of `exact.sign`."""
    settings = batch.settings
    is_whole = settings.compared_text == "all"
    prose = [None] * len(batch.documents) if is_whole else find_prose(batch)
    for i, document in enumerate(batch.documents):
        start, end = batch.ranges[i]
        words, shingles = batch.tokens.count(i), batch.compared_hashes[start:end]
        if (is_prose := prose[i]) is not None:
            shingles = shingles[is_prose]
            words -= len(is_prose) - len(shingles)
        compared = count_compared(len(shingles), words, settings)
        yield Content(
            text=batch.texts[i],
            given_lang=document.lang,
            words=words,
            shingles=shingles[:compared].copy(),
            digest=digests[i],
        )


def restore_content(
    document: Document, words: int, shingles: bytes, digest: str, settings: Settings
) -> Content:
    """The content of a document from what a worker process computed of it."""
    return Content(
        text=signed_text(document, settings),
        given_lang=document.lang,
        words=words,
        shingles=np.frombuffer(shingles, np.uint32),
        digest=digest,
    )


def count_compared(shingles: int, words: int, settings: Settings) -> int:
    """The first f of the shingles, all of them in a short text, never more than the cap."""
    part = 1.0 if words < settings.short_text else settings.compared_part
    return min(int(np.ceil(shingles * part)), settings.max_shingles)


_cache = ContentCache()
read_contents = _cache.read
cache_contents = _cache.add


def content_of(document: Document, settings: Settings) -> Content:
    (content,) = read_contents([document], settings)
    return content
