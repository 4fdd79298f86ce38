"""The tree of errors.

EsdedupError
├── SettingsError          a setting is unknown, of the wrong type or out of range
│   └── SettingsMismatch   the store was written with other signature-shaping settings
├── InputError             something given to read cannot be read
│   ├── DocumentError      one document of it; the others go on
│   ├── UnknownDocument    an id that the store does not have
│   ├── NothingToExplain   an article that was compared with no other
│   ├── Contradiction      two constraints that people set cannot both hold
│   └── QueryError         a search is not valid, or not possible in that mode
│       └── NotCollapsible it cannot be folded by `collapse`; `canonical` can do it
├── ExtractionError        an HTML page gave no article (later: retry; never: quarantine)
└── StoreError             the store refused or could not do something
    ├── StoreMissing       there is no store yet, and reading does not create one
    ├── StoreUnprepared    its articles lack the fields of esdedup: `esdedup backfill`
    ├── UnsupportedVersion the server is too old
    ├── StoreUnavailable   it may work later (disk full, locked, no connection)
    └── StoreCorrupt       it must be repaired or replaced first

Every message says what happened, to which document, file or store, and what to do.
"""

from __future__ import annotations


class EsdedupError(Exception):
    """Base class of all errors that esdedup raises on purpose."""


class SettingsError(EsdedupError):
    """A setting is unknown, of the wrong type or out of range."""


class SettingsMismatch(SettingsError):
    """The store was written with other values of the settings that shape its keys."""


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


class NothingToExplain(InputError):
    """An article that was compared with no other; a second one has to be named."""


class Contradiction(InputError):
    """A new constraint contradicts one that was set before."""

    def __init__(self, new: str, before: str, where: str = "") -> None:
        super().__init__(
            f"{new}, and {before}: both cannot hold{where}. `esdedup groups forget` removes "
            "a constraint"
        )
        self.new = new
        self.before = before


class QueryError(InputError):
    """A search is not valid, or not possible in the requested mode."""


class NotCollapsible(QueryError):
    """A search whose results cannot be folded by `collapse`; mode `canonical` can do it."""


class ExtractionError(EsdedupError):
    """An HTML page gave no article text."""


class StoreError(EsdedupError):
    """The store refused something."""


class StoreMissing(StoreError):
    """There is no store there yet."""


class StoreUnprepared(StoreError):
    """The articles lack the fields of esdedup, so that no search can be folded."""


class UnsupportedVersion(StoreError):
    """The server is older than the versions that esdedup works with."""


class StoreUnavailable(StoreError):
    """The store cannot work now and may work later."""


class StoreCorrupt(StoreError):
    """The store must be repaired or replaced before it works again."""
