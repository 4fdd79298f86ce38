"""The tree of errors.

EsdedupError
├── SettingsError          a setting is unknown, of the wrong type or out of range
│   └── SettingsMismatch   the store was written with other signature-shaping settings
├── InputError             something given to read cannot be read
│   └── DocumentError      one document of it; the others go on
├── ExtractionError        an HTML page gave no article (later: retry; never: quarantine)
└── StoreError             the store refused or could not do something
    ├── StoreMissing       there is none yet, and reading does not make one
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


class ExtractionError(EsdedupError):
    """An HTML page gave no article text."""


class StoreError(EsdedupError):
    """The store refused something."""


class StoreMissing(StoreError):
    """There is no store there yet."""


class StoreUnavailable(StoreError):
    """The store cannot work now and may work later."""


class StoreCorrupt(StoreError):
    """The store cannot work before someone mends or replaces it."""
