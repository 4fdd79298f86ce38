"""Statistics of one's own corpus: which words and phrases are common there, on which site.

`esdedup words build` counts them, `words_file` names the file, and the methods that weigh words
read it instead of the fixed tables. A file is known by its version, which is in the signature of
every text that was signed with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from esdedup.errors import SettingsError, SettingsMismatch

if TYPE_CHECKING:
    from esdedup.settings import Settings
    from esdedup.text.statistics.corpus import Statistics


def statistics_of(settings: Settings) -> Statistics | None:
    """The statistics that keys depend on, read once a process; none where they depend on none."""
    if not settings.uses_words:
        return None
    return _read_checked(settings.words_file, settings.words_version, settings.phrase_words)


@lru_cache(maxsize=2)
def _read_checked(file: str, version: str, phrase_words: int) -> Statistics:
    from esdedup.text.statistics.file import read

    if not version:
        raise SettingsError(
            f"words_file is {file}, and words_version is empty; take Settings.with_words({file!r})"
        )
    found = read(file)
    if found.version != version:
        raise SettingsMismatch(
            f"words_file {file} is version {found.version}, and the keys are made with version "
            f"{version}; name the file of that version (--set words_file=FILE), or index the "
            "articles into a new store"
        )
    if found.phrase_words != phrase_words:
        raise SettingsError(
            f"words_file {file} counts phrases of {found.phrase_words} words, and phrase_words is "
            f"{phrase_words}; build it with --set phrase_words={phrase_words}"
        )
    return found
