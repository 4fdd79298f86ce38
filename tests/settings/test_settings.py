"""Where values come from, what is refused, and what the fingerprint covers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import EsdedupError, InputError, SettingsError, SettingsMismatch
from esdedup.ingest.sign import check_settings
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.settings.presets import PRESETS
from esdedup.stories.events.history import find_events
from tests.support.articles import BRIDGE, FERRY
from tests.support.commands import ARTICLES, Cli, ndjson

SHAPING = {
    "signed_text",
    "fingerprint",
    "shingle_words",
    "sample_size",
    "permutations",
    "seed",
    "keep",
}
OF_METHODS = {
    "hot_keys", "ner", "block_plan", "entity_words_before", "entity_words_after", "entity_keys",
    "entity_in_sentence", "simhash_weights", "simhash_title_weight", "simhash_lead_weight",
    "simhash_lead_words", "simhash_field", "simhash_vectors",
}  # fmt: skip


def test_flags_over_environment_over_file_over_preset(tmp_path: Path) -> None:
    file = tmp_path / "esdedup.toml"
    file.write_text('preset = "nrc-gphin"\nseed = 1\npermutations = 10\nbatch = 7\n')
    environment = {"ESDEDUP_SEED": "2", "ESDEDUP_PERMUTATIONS": "11", "OTHER": "x"}
    flags = {"seed": 3, "batch": None}
    settings = Settings.load(file=file, environment=environment, flags=flags)
    assert (settings.preset, settings.fingerprint) == ("nrc-gphin", "poly31")
    assert (settings.seed, settings.permutations, settings.batch) == (3, 11, 7)


def test_the_nearest_preset_wins(tmp_path: Path) -> None:
    file = tmp_path / "esdedup.toml"
    file.write_text('preset = "nrc-gphin"\n')
    environment = {"ESDEDUP_PRESET": "nrc-gphin-precise"}
    assert Settings.load(file=file, environment=environment).min_overlap == 0.5
    assert Settings.load(file=file, environment=environment, preset="hybrid") == Settings()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"shingle_word": 3}, r"unknown setting 'shingle_word' \(flags\); known are: attract,"),
        ({"shingle_words": 0}, "shingle_words is 0; it must be between 1 and 32"),
        ({"sample_size": "-1"}, "sample_size is -1; it must be at least 1"),
        ({"compared_part": 1.5}, "compared_part is 1.5; it must be between 0.05 and 1.0"),
        ({"measure": "cosine"}, "measure is 'cosine'; choose one of containment, dice, jaccard"),
        ({"seed": "many"}, "seed is 'many', which is not a int"),
        ({"number_check": "perhaps"}, "number_check is 'perhaps'; say yes or no"),
        ({"preset": "best"}, "unknown preset 'best'; known are: hybrid, sketch, precise"),
    ],
)
def test_bad_values_are_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.load(environment={}, flags=values)


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "esdedup.toml"
    with pytest.raises(SettingsError, match=r"settings file .*esdedup.toml: .*No such file"):
        Settings.load(file=file, environment={})
    file.write_text("seed = = 3")
    with pytest.raises(SettingsError, match=r"esdedup.toml: .*line 1"):
        Settings.load(file=file, environment={})


@pytest.mark.parametrize("preset", PRESETS)
def test_json_and_back(preset: str) -> None:
    settings = Settings.load(preset=preset, environment={})
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_every_field_says_what_it_is() -> None:
    for field in fields(Settings):
        text = field.metadata["text"]
        assert text.endswith("."), field.name
        assert field.metadata["unit"], field.name
        assert field.metadata["source"], field.name


def test_the_fingerprint_covers_the_fields_that_shape_what_is_stored() -> None:
    settings = Settings()
    # Fields of one method are recorded with the store, not stamped on every document.
    assert set(settings.shaping()) == {"format", *SHAPING, *OF_METHODS}
    common = {n: v for n, v in settings.shaping().items() if n not in OF_METHODS}
    recipe = json.dumps(common, sort_keys=True).encode()
    assert settings.fingerprint_of_format() == hashlib.sha256(recipe).hexdigest()[:12]
    changed = [
        replace(settings, shingle_words=7),
        replace(settings, fingerprint="poly31"),
        replace(settings, permutations=9),
    ]
    assert len({s.fingerprint_of_format() for s in [settings, *changed]}) == 4
    same = replace(settings, min_overlap=0.9, attract="all", batch=1, on_duplicate="drop")
    assert same.fingerprint_of_format() == settings.fingerprint_of_format()


def test_a_store_of_another_format_is_refused() -> None:
    recorded = {**Settings().shaping(), "format": 1}
    with pytest.raises(SettingsMismatch, match=r"x\.db .*format is 1 there and 2"):
        Settings().check_against(recorded, store="x.db")
    Settings().check_against(Settings(min_overlap=0.9).shaping(), store="x.db")


# Wrong for every field but those that take any name.
_WRONG: list[Any] = [
    "", " ", ",", "x", "x,x", "nan", "inf", "-inf", "-1", "1e308", "5e-324", "1.5", "9" * 30,
    "9" * 5_000, "\0", "\ud800", "@", "@/nowhere", [1], ["x", None], {"a": 1}, None, 1.5, -1,
    float("nan"), float("inf"), True, 10**30,
]  # fmt: skip


def loaded(name: str, value: Any) -> Settings | EsdedupError:
    try:
        return Settings.load(environment={}, flags={name: value})
    except (SettingsError, InputError) as error:
        return error


@pytest.mark.parametrize("name", [f.name for f in fields(Settings)])
def test_a_wrong_value_is_told_by_its_name_or_can_be_worked_with(name: str) -> None:
    """Of every setting; what is taken must not fail later with something else."""
    articles = [Document("a", text=FERRY), Document("b", text=FERRY), Document("c", text=BRIDGE)]
    for value in _WRONG:
        settings = loaded(name, value)
        if isinstance(settings, Settings):
            try:
                check_settings(settings)
            except EsdedupError as error:
                settings = error
        if isinstance(settings, EsdedupError):
            told = str(settings)
            # A file is told by its own name; of any other long value only the start is shown.
            assert name == "words_file" or (name in told and len(told) < 2_000)
            continue
        with Deduplicator.open("sqlite://:memory:", settings) as news:
            assert [o.failure for o in news.add_many(articles)] == [None] * 3, (name, value)
            find_events(news.store, settings=settings)


@pytest.mark.parametrize("value", ["", "x", "sketch,x", ",", "\0"])
def test_unknown_methods_are_told_with_the_known(cli: Cli, value: str) -> None:
    articles = cli.file("a.ndjson", ndjson(*ARTICLES))
    for name in ("methods", "verified_by"):
        result = cli("index", articles, "--set", f"{name}={value}")
        assert result.exit_code == 2
        assert isinstance(result.exception, SystemExit)
        wrong = value.rsplit(",", maxsplit=1)[-1] if name == "methods" else value
        assert f"{name} has {wrong!r}; known are: " in result.stderr
        assert "sketch, exact" in result.stderr
