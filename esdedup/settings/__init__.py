"""Settings: the fields of `table`, the values of `presets`, and where values come from.

A value is taken from, in rising order: the preset, a TOML file, the environment
(`ESDEDUP_<FIELD>`), flags. Fields marked `shapes` decide what is stored with a document. Their
fingerprint is recorded in the store, and opening it with other values is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar, get_type_hints

from esdedup.errors import SettingsError, SettingsMismatch
from esdedup.model.methods import METHOD_SPECS
from esdedup.settings.presets import FORMAT_1, preset_values
from esdedup.settings.table import SHAPED_FORMAT_1, SettingsTable
from esdedup.settings.values import check_bounds, check_windows, coerce, quote, read_toml


@dataclass(frozen=True, slots=True)
class Settings(SettingsTable):
    """Every choice esdedup makes, with its default, unit, source and reason."""

    def __post_init__(self) -> None:
        for item in fields(self):
            check_bounds(item.name, getattr(self, item.name), item.metadata)
        if self.ner != "rules" and not (self.ner.startswith("spacy:") and self.ner[6:]):
            raise SettingsError(
                f"ner is {quote(self.ner)}; say rules, or spacy: and the name of a model"
            )
        check_windows(self.candidate_windows)
        for name, chosen, known in (
            ("methods", self.methods or ("",), tuple(METHOD_SPECS)),
            ("verified_by", (self.verified_by,), ("overlap", *METHOD_SPECS)),
            ("candidates_by", self.candidates_by, self.methods),
        ):
            if unknown := [entry for entry in chosen if entry not in known]:
                raise SettingsError(
                    f"{name} has {quote(unknown[0])}; known are: {', '.join(known)}"
                )
        if self.keep == "ranking" and not self.keep_sources:
            raise SettingsError(
                "keep = ranking needs keep_sources: name the sources, the best first "
                "(keep_sources=@FILE reads them from a file)"
            )
        if self.leave_out_boilerplate and not self.words_file:
            raise SettingsError(
                "leave_out_boilerplate needs statistics that know the boilerplate; name them with "
                "words_file (`esdedup words build` makes them)"
            )

    @property
    def uses_words(self) -> bool:
        """Whether keys depend on the statistics of `words_file`."""
        return bool(self.words_file) and (
            self.leave_out_boilerplate
            or any(
                METHOD_SPECS[name].uses_word_statistics
                for name in self.methods
                if name != "simhash" or self.simhash_weights == "tf-idf"
            )
        )

    def with_words(self, file: str | os.PathLike[str]) -> Self:
        """A copy that uses the statistics in `file`, at its present version; "" for none."""
        if not os.fspath(file):
            return replace(self, words_file="", words_version="")
        from esdedup.settings.word_file import read_version

        return replace(self, words_file=os.fspath(file), words_version=read_version(file))

    @property
    def candidate_methods(self) -> tuple[str, ...]:
        """The methods whose keys a candidate query uses."""
        if self.candidates_by:
            return self.candidates_by
        has_window = bool(self.candidate_window)
        found = [
            name
            for name in self.methods
            if not METHOD_SPECS[name].finds_passages
            and (has_window or not METHOD_SPECS[name].matches_by_chance)
        ]
        return tuple(found) or self.methods

    @property
    def ranked_candidates(self) -> int:
        """How many candidates a store returns: those verified, and the originals of the secondary
        representatives among them."""
        return 3 * self.verified_candidates

    def fingerprint_of_format(self) -> str:
        """Twelve hex digits of the fields that shape every signature; stored with each document.

        Fields of single methods are left out: switching a method on does not outdate the rest.
        Where statistics of a corpus shape the keys, their version follows by name.
        """
        return _fingerprint(self)

    def common_shaping(self) -> dict[str, Any]:
        """The fields that shape every signature, whatever its methods."""
        return self._shaping_fields(lambda method: method is None)

    def shaping(self) -> dict[str, Any]:
        """The fields that shape what is stored, and the number of the format itself."""
        return self._shaping_fields(lambda method: method is None or method in self.methods)

    def _shaping_fields(self, is_included: Callable[[str | None], bool]) -> dict[str, Any]:
        values = self.to_json()
        return {
            f.name: values[f.name]
            for f in fields(self)
            if f.metadata["shapes"]
            and is_included(f.metadata["method"])
            and self._has_effect(f.name)
        }

    def _has_effect(self, name: str) -> bool:
        """Whether a field has an effect: fields about statistics have none without `words_file`."""
        if name in ("words_version", "boilerplate_share", "boilerplate_stories"):
            return self.uses_words
        if name == "keep_sources":
            return self.keep == "ranking"
        if name in SHAPED_FORMAT_1:
            return self.format == 1
        if name in ("entity_in_sentence", "clause_marks", "entity_keys"):  # new in format 2
            return bool(getattr(self, name))
        return name != "leave_out_boilerplate" or self.leave_out_boilerplate

    def to_json(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """Recorded settings; those without a format are of format 1."""
        return _change(cls(), raw if "format" in raw else {**FORMAT_1, **raw}, where="JSON")

    @classmethod
    def load(
        cls,
        *,
        preset: str | None = None,
        file: Path | None = None,
        base: Settings | None = None,
        environment: Mapping[str, str] = os.environ,
        flags: Mapping[str, Any] | None = None,
    ) -> Self:
        """Preset, then file, then environment, then flags; each overrides the ones before.

        `base` takes the place of the default preset where none is named: the settings a store
        was made with, when only some are to be different.
        """
        from_file = read_toml(file) if file is not None else {}
        from_environment = {
            f.name: environment[variable]
            for f in fields(cls)
            if (variable := f"ESDEDUP_{f.name.upper()}") in environment
        }
        given = {k: v for k, v in (flags or {}).items() if v is not None}
        for layer in (given, from_environment, from_file):
            preset = preset or layer.get("preset")
        start = base.to_json() if base and not preset else preset_values(preset or "hybrid")
        settings = _change(cls(), start, where="preset")
        layers = {str(file): from_file, "environment": from_environment, "flags": given}
        for where, layer in layers.items():
            named = {k: v for k, v in layer.items() if k != "preset"}
            settings = _change(settings, named, where=where)
        words = {"words_version", "words_file"} & {*from_file, *from_environment, *given}
        # A file named now is taken as it is; one that a store recorded, in that version.
        return settings.with_words(settings.words_file) if words == {"words_file"} else settings

    def check_against(self, recorded: Mapping[str, Any], *, store: str) -> None:
        """Refuse a store whose keys were made with other settings, naming each field."""
        mine = self.shaping()
        _check_words(mine.get("words_version"), recorded.get("words_version"), store)
        by_name = {f.name: f.metadata["method"] for f in fields(self)}
        absent = [n for n in mine if n not in recorded and by_name.get(n)]
        if absent and recorded.get("format") == self.format:
            raise SettingsMismatch(
                f"{store} has no keys of the method {by_name[absent[0]]!r}, which was off when it "
                f"was written: `esdedup backfill --only {by_name[absent[0]]}` adds them"
            )
        differing = [n for n in mine if recorded.get(n) != mine[n]]
        if differing:
            detail = ", ".join(
                f"{n} is {recorded.get(n)!r} there and {mine[n]!r} here" for n in differing
            )
            upgrade = ", bring it to format 2 (`esdedup backfill --upgrade`)"
            raise SettingsMismatch(
                f"{store} was written with other settings: {detail}. Open it with its own "
                f"settings{upgrade if 'format' in differing else ''}, or index the articles into a "
                "new store."
            )


_S = TypeVar("_S", bound=Settings)


def _change(settings: _S, values: Mapping[str, Any], *, where: str) -> _S:
    types = get_type_hints(type(settings))
    if unknown := sorted(set(values) - set(types)):
        raise SettingsError(
            f"unknown setting {unknown[0]!r} ({where}); known are: {', '.join(sorted(types))}"
        )
    return replace(settings, **{k: coerce(k, v, types[k]) for k, v in values.items()})


def _check_words(mine: str | None, recorded: str | None, store: str) -> None:
    if mine == recorded:
        return
    remedy = "index the articles into a new store"
    if recorded:
        remedy = f"name the file of version {recorded} (--set words_file=FILE), or {remedy}"
    raise SettingsMismatch(
        f"{store} was written with {_statistics(recorded)}, and these settings have "
        f"{_statistics(mine)}: {remedy}"
    )


def _statistics(version: str | None) -> str:
    return f"statistics of version {version}" if version else "no statistics of a corpus"


@lru_cache(maxsize=16)
def _fingerprint(settings: Settings) -> str:
    """Cached: it would be a third of the work of signing a single article."""
    common = settings.common_shaping()
    digits = hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()[:12]
    return f"{digits}.{settings.words_version}" if settings.uses_words else digits
