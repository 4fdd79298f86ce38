"""The tree of errors.

EsdedupError
├── SettingsError          a setting is unknown, of the wrong type or out of range
│   └── SettingsMismatch   the store was written with other signature-shaping settings
├── InputError             something given to read cannot be read
│   ├── DocumentError      one document of it; the others go on
│   ├── UnknownDocument    an id that the store does not have
│   ├── Contradiction      two things that people said of groups cannot both hold
│   └── QueryError         a search cannot be understood, or not be done in that way
│       └── NotCollapsible it cannot be folded by `collapse`; `canonical` can do it
├── ExtractionError        an HTML page gave no article (later: retry; never: quarantine)
└── StoreError             the store refused or could not do something
    ├── StoreMissing       there is none yet, and reading does not make one
    ├── StoreUnprepared    articles are there, our fields are not: `esdedup backfill`
    ├── UnsupportedVersion the server is too old
    ├── StoreUnavailable   it may work later (disk full, locked, no connection)
    └── StoreCorrupt       it will not work before someone mends it

Every message says what happened, to which document, file or store, and what to do.
"""

from __future__ import annotations


class EsdedupError(Exception):
    """Base class: whoever catches this catches everything esdedup raises on purpose."""


class SettingsError(EsdedupError):
    """A setting is unknown, of the wrong type or out of range."""


class SettingsMismatch(SettingsError):
    """The store was written with other settings of the kind that shapes its keys."""


class InputError(EsdedupError):
    """Something given to read cannot be read."""


class DocumentError(InputError):
    """One document cannot be used; the rest of its batch goes on."""

    def __init__(self, document: str, reason: str) -> None:
        super().__init__(f"{document}: {reason}")
        self.document = document
        self.reason = reason


class UnknownDocument(InputError):
    """An id that the store does not have."""


class Contradiction(InputError):
    """What somebody says of groups cannot hold beside what was said before."""

    def __init__(self, new: str, before: str, where: str = "") -> None:
        super().__init__(
            f"{new}, and {before}: both cannot hold{where}. `esdedup groups forget` takes back "
            "what was said"
        )
        self.new = new
        self.before = before


class QueryError(InputError):
    """A search cannot be understood, or cannot be done in the way that was asked for."""


class NotCollapsible(QueryError):
    """A search whose results cannot be folded by `collapse`; mode `canonical` can do it."""


class ExtractionError(EsdedupError):
    """An HTML page gave no article text."""


class StoreError(EsdedupError):
    """The store refused something."""


class StoreMissing(StoreError):
    """There is no store there yet."""


class StoreUnprepared(StoreError):
    """Articles are there without our fields: nothing could be folded."""


class UnsupportedVersion(StoreError):
    """The server is older than the versions that esdedup works with."""


class StoreUnavailable(StoreError):
    """The store cannot work now and may work later."""


class StoreCorrupt(StoreError):
    """The store cannot work before someone mends or replaces it."""
