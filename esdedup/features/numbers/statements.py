"""Statements that turned: something is denied, or goes the other way."""

from __future__ import annotations

from esdedup.features.numbers.difference import Side
from esdedup.model.numbers import NumberChange

# Words on either side in which a denial may stand elsewhere: "no dio detalles" and "no dio ningún
# detalle" deny the same.
_CLAUSE = 4
# Longer passages were rewritten.
_LONGEST = 8
# Words of a passage that a denial replaces; longer ones share what is denied.
_FEW = 2
# Words by which one passage may be longer; with more it has a statement of its own.
_MOST_ADDED = 3


def compare_statements(old: Side, new: Side) -> NumberChange | None:
    """What the passages state differently: a negation or a direction."""
    if max(old.size, new.size) > _LONGEST or abs(old.size - new.size) > _MOST_ADDED:
        return None
    if not _is_turned(old, new) and not _is_negated(old, new):
        return None
    if not old.size or not new.size:
        old, new = old.widen(1), new.widen(1)
    return NumberChange(old.text, new.text, new.clause())


def _is_negated(old: Side, new: Side) -> bool:
    if denies(old) == denies(new):
        return False
    if min(old.size, new.size) > _FEW and not old.shares_word(new):
        return False
    around = [side.widen(_CLAUSE) for side in (old, new)]
    if any(_has("soft_negation", side) for side in (old, new)):
        return False
    return denies(around[0]) != denies(around[1])


def denies(side: Side) -> bool:
    """Whether a word of the passage negates."""
    lexicon = side.reading.lexicon
    if lexicon.ideographic:
        text = side.widen(1).folded
        for word in lexicon.lists["not_negation"]:
            text = text.replace(word, "")
        own = side.folded
        return any(sign in text and sign in own for sign in lexicon.lists["negation"])
    words = side.words
    if not lexicon.lists["negation"].isdisjoint(words):
        return True
    if lexicon.negative_forms and any(map(lexicon.negative_forms.fullmatch, words)):
        return True
    # "N'est plus", but not "plus de 600".
    paired, particles = lexicon.lists["paired_negation"], lexicon.lists["negative_particles"]
    return not paired.isdisjoint(words) and not particles.isdisjoint(side.widen(_CLAUSE).words)


def _is_turned(old: Side, new: Side) -> bool:
    directions = [(_has("rises", side), _has("falls", side)) for side in (old, new)]
    return sorted(directions) == [(False, True), (True, False)]


def _has(name: str, side: Side) -> bool:
    lexicon = side.reading.lexicon
    if lexicon.ideographic:
        text = side.widen(1).folded
        return any(word in text for word in lexicon.lists[name])
    return not lexicon.lists[name].isdisjoint(side.words)
