"""What every method keeps of the contract in `esdedup/methods/__init__.py`."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from esdedup.errors import SettingsError
from esdedup.methods import METHODS, method
from esdedup.model import Document
from esdedup.model.methods import is_distance
from esdedup.settings import Settings
from esdedup.text.batch import Batch


def _more(words: str, step: int) -> str:
    """Sixty sentences of four to fourteen words: `lengths` needs a long text."""
    many = words.split()
    counts = [4 + i * i * step % 11 for i in range(60)]
    sentences = (
        " ".join(many[(i + j) % len(many)] for j in range(n)) for i, n in enumerate(counts)
    )
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


FERRY = (
    "The coastguard in Haverford said that 12 people were killed when a fire broke out on a ferry "
    "to Eastshire late on Monday. The captain, Anna Brandt, was the last to leave the burning "
    "ship. The mayor of Haverford spoke of a black day for the whole coast. A court is to find "
    "out why the alarm was silent. The line has been closed until the end of the week. "
) + _more("smoke rescue boats harbour night crew deck sailors hospital sirens engine room", 3)
BRIDGE = (
    "Workers in Norvale have begun to repair the Kestrel bridge, which was closed in the spring. "
    "The town council expects that cars can use it again before the winter. Until then buses run "
    "every twenty minutes from the market. Shopkeepers complain about empty streets. The minister "
    "Paul Okafor promised that the road would be free of charge. "
) + _more("steel pillars concrete lorry detour summer builders budget toll river cranes", 7)


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def _keys(self, name: str, *texts: str) -> tuple[Settings, list[tuple[str, ...]]]:
        settings = Settings(methods=(name,))
        batch = Batch([Document(id=f"{i}", text=t) for i, t in enumerate(texts)], settings)
        signed = METHODS[name].sign(batch, settings)
        return settings, [METHODS[name].keys(one, settings) for one in signed]

    def test_a_text_finds_and_matches_itself_and_no_other(self, name: str) -> None:
        settings, (one, again, other) = self._keys(name, FERRY, FERRY, BRIDGE)
        assert one == again
        assert len(set(one)) >= METHODS[name].min_shared_keys(settings) >= 1
        same = METHODS[name].compare(one, again, settings)
        different = METHODS[name].compare(one, other, settings)
        assert METHODS[name].matches(same, settings)
        assert not METHODS[name].matches(different, settings)
        assert (same < different) == is_distance(name)

    def test_what_else_is_in_the_batch_does_not_matter(self, name: str) -> None:
        _, alone = self._keys(name, BRIDGE)
        _, together = self._keys(name, FERRY, BRIDGE, "")
        assert together[1] == alone[0]

    def test_keys_are_of_the_method_alone(self, name: str) -> None:
        _, (keys,) = self._keys(name, FERRY)
        others = {k for n in METHODS if n != name for k in self._keys(n, FERRY)[1][0]}
        assert others.isdisjoint(keys)


@pytest.mark.parametrize("name", ["exact", "imatch", "entities"])
def test_methods_with_one_key(name: str) -> None:
    """It is the same or it is not."""
    settings = Settings(methods=(name,), entity_keys=0)
    assert METHODS[name].min_shared_keys(settings) == 1
    assert METHODS[name].compare(["k:1"], ["k:1"], settings) == 1
    assert METHODS[name].compare(["k:1"], ["k:2"], settings) == 0
    assert [METHODS[name].matches(m, settings) for m in (0, 1)] == [False, True]


@pytest.mark.parametrize(("format_", "form"), [(1, "x:[0-9a-f]{32}"), (2, "x[A-Za-z0-9_-]{8}")])
def test_the_key_of_the_exact_text(format_: int, form: str) -> None:
    settings = Settings(methods=("exact",), format=format_)
    (signed,) = METHODS["exact"].sign(Batch([Document(id="a", text=FERRY)], settings), settings)
    assert re.fullmatch(form, *METHODS["exact"].keys(signed, settings))


def test_one_band_of_phrases_is_there_or_not() -> None:
    settings = replace(Settings(methods=("phrases",)), phrase_samples=6, phrase_band=6)
    assert METHODS["phrases"].compare(["q:1"], ["q:1"], settings) == 1
    assert METHODS["phrases"].compare(["q:1"], ["q:2"], settings) == 0


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(SettingsError, match="unknown method 'nonsense'; known are: sketch, exact"):
        method("nonsense")
