"""Early signals are noticed in eleven languages, and what says the same stays a copy."""

from __future__ import annotations

import pytest

from esdedup.settings import Settings
from tests.eval.signals import LANGUAGES, PARTS, Part, Tally, read_cases, select_cases, tally

# Least share of changes that are detected, and largest share of false updates.
BARS: dict[Part, tuple[float, float]] = {"development": (0.99, 0.0), "held-out": (0.95, 0.03)}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_forty_cases_and_a_third_is_held_out(lang: str) -> None:
    cases = list(read_cases(lang))
    assert len(cases) >= 40
    assert len({case.id for case in cases}) == len(cases)
    assert {case.verdict for case in cases} == {"update", "added", "duplicate"}
    parts = [select_cases(lang, part) for part in PARTS]
    assert sum(map(len, parts)) == len(cases)
    assert 0.3 <= len(parts[1]) / len(cases) <= 0.34


@pytest.mark.parametrize("preset", ["hybrid", "monitoring"])
@pytest.mark.parametrize("with_lang", [True, False], ids=["with lang", "without"])
@pytest.mark.parametrize("part", PARTS)
def test_changes_are_detected_and_copies_stay_copies(
    part: Part, with_lang: bool, preset: str
) -> None:
    settings = Settings.load(preset=preset, environment={})
    total = Tally()
    for lang in LANGUAGES:
        total.add_tally(tally(lang, part, settings, with_lang=with_lang))
    detected, false = BARS[part]
    assert total.detected_share >= detected
    assert total.false_update_share <= false
