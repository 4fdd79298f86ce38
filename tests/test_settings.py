"""Where values come from, what is refused, and what the fingerprint covers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from esdedup.errors import SettingsError, SettingsMismatch
from esdedup.presets import PRESETS
from esdedup.settings import FORMAT, Settings

SHAPING = {
    "signed_text",
    "fingerprint",
    "shingle_words",
    "sample_size",
    "permutations",
    "seed",
    "compared_part",
    "short_text",
    "max_shingles",
    "keep",
    "number_check",
}


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
        ({"preset": "best"}, "unknown preset 'best'; known are: hybrid, precise, nrc-gphin"),
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
    assert set(settings.shaping()) == {"format", *SHAPING, "hot_keys"}
    common = {n: v for n, v in settings.shaping().items() if n != "hot_keys"}
    recipe = json.dumps(common, sort_keys=True).encode()
    assert settings.fingerprint_of_format() == hashlib.sha256(recipe).hexdigest()[:12]
    changed = [
        replace(settings, shingle_words=7),
        replace(settings, fingerprint="poly31"),
        replace(settings, max_shingles=9),
    ]
    assert len({s.fingerprint_of_format() for s in [settings, *changed]}) == 4
    same = replace(settings, min_overlap=0.9, attract="all", batch=1, on_duplicate="drop")
    assert same.fingerprint_of_format() == settings.fingerprint_of_format()


def test_a_store_of_another_format_is_refused() -> None:
    recorded = {**Settings().shaping(), "format": FORMAT + 1}
    with pytest.raises(
        SettingsMismatch, match=rf"x\.db .*format is {FORMAT + 1} there and {FORMAT}"
    ):
        Settings().check_against(recorded, store="x.db")
    Settings().check_against(Settings(min_overlap=0.9).shaping(), store="x.db")
