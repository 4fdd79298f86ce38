"""Correction notes in eight languages, and words like them that are none."""

from __future__ import annotations

import pytest

from esdedup.features.correction_notes import find_correction_note

BODY = "A ferry burned off Tollmere.\nTen people were rescued.\n"

NOTES = [
    "Correction: the ferry was built in 1998.",
    "CORRECTION, Dec. 3, 2026: the ferry was built in 1998.",
    "Clarification: the ferry was built in 1998.",
    "Corrections and clarifications: the ferry was built in 1998.",
    "(Corrects year in third paragraph)",
    "An earlier version of this article said that twelve had died.",
    "This story was amended on 3 March 2026.",
    "Rectificatif : le ferry date de 1998.",
    "Erratum : le ferry date de 1998.",
    "Une version précédente de cet article indiquait douze morts.",
    "Cet article a été corrigé le 3 mars.",
    "Korrektur: Die Fähre stammt von 1998.",
    "Berichtigung: Die Fähre stammt von 1998.",
    "In einer früheren Version dieses Artikels hieß es, zwölf Menschen seien gestorben.",
    "Corrección: el ferri es de 1998.",
    "Fe de errores: el ferri es de 1998.",
    "Una versión anterior de este artículo hablaba de doce muertos.",
    "Düzeltme: Feribot 1998 yapımı.",
    "Bu haberin önceki versiyonunda on iki kişinin öldüğü yazıldı.",
    "Errata corrige: il traghetto è del 1998.",
    "Rettifica: il traghetto è del 1998.",
    "Una versione precedente di questo articolo parlava di dodici morti.",
    "Correção: o ferry é de 1998.",
    "Erramos: o ferry é de 1998.",
    "Uma versão anterior desta reportagem falava de doze mortos.",
    "Correctie: de veerboot is van 1998.",
    "Rectificatie: de veerboot is van 1998.",
    "In een eerdere versie van dit artikel stond dat er twaalf doden waren.",
]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_is_found_where_notes_stand(note: str) -> None:
    assert find_correction_note("Ferry fire", f"{BODY}{note}") == note
    assert find_correction_note("Ferry fire", f"{note}\n{BODY}") == note


@pytest.mark.parametrize(
    "text",
    [
        "They need correction, he said.",
        "Correction of the course took the ferry an hour.",
        "The market is due for a correction. Shares fell.",
        "He corrected the captain.",
        "An earlier version of the engine burned, too.",
        "Die Korrektur des Kurses dauerte eine Stunde.",
        "La corrección del rumbo duró una hora.",
        "Düzeltme yapılması gerektiğini söyledi.",
        "Une version précédente du moteur a brûlé.",
    ],
)
def test_words_like_a_note_are_none(text: str) -> None:
    assert find_correction_note("Prison reform and correction of youths", f"{BODY}{text}") == ""


def test_a_label_in_the_middle_of_a_long_text_is_none() -> None:
    """There it is a heading of the article's own."""
    far = "The boats came back one by one. " * 40
    assert find_correction_note("Ferry", f"{far}\nCorrection: of the course.\n{far}") == ""


def test_a_long_note_is_shortened() -> None:
    note = find_correction_note("", "Correction: " + "word " * 500)
    assert 390 <= len(note) <= 400
