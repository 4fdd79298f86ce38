"""Marks of news agencies: invented texts as newsrooms of eleven languages mark them."""

from __future__ import annotations

import pytest

from esdedup.features.agencies import AgencyMark, find_agency, publishing_agency
from esdedup.model import Document
from tests.support.articles import BRIDGE, FERRY, FLOOD, GARDEN, STRIKE

# Longer than both edges, so that each mark stands at one of them alone.
TEXT = " ".join((FERRY, BRIDGE, FLOOD, STRIKE, GARDEN, BRIDGE))

MARKED = [
    ("BRACKWATER (AP) — {text}", "AP", "dateline"),
    ("BRACKWATER, March 1 (Reuters) - {text}", "Reuters", "dateline"),
    ("Home\nNews\nWeather\nBRACKWATER (Reuters) -- {text}", "Reuters", "dateline"),
    ("PARIS, 1er mars (AFP) - {text}", "AFP", "dateline"),
    ("Hamburg (dpa) - {text}", "dpa", "dateline"),
    ("FRANKFURT (dpa-AFX) - {text}", "dpa", "dateline"),
    ("Madrid, 3 nov (EFE).- {text}", "EFE", "dateline"),
    ("(ANSA) - ROMA, 3 NOV - {text}", "ANSA", "dateline"),
    ("Lisboa, 03 nov 2024 (Lusa) - {text}", "Lusa", "dateline"),
    ("MOSCOW, November 3. /TASS/. {text}", "TASS", "dateline"),
    ("BEIJING, Nov. 3 (Xinhua) -- {text}", "Xinhua", "dateline"),
    ("TOKYO (Kyodo) - {text}", "Kyodo", "dateline"),
    ("New Delhi, Nov 3 (PTI) {text}", "PTI", "dateline"),
    ("ANKARA (AA) - {text}", "AA", "dateline"),
    ("Ayşe DEMİR/ANTALYA, (DHA) {text}", "DHA", "dateline"),
    ("ANKARA - AA\n{text}", "AA", "dateline"),
    ("AP - {text}", "AP", "byline"),
    ("By Jane Doe, Associated Press Writer\n{text}", "AP", "byline"),
    ("By The Associated Press\n\nMarch 1, 2024\n{text}", "AP", "byline"),
    ("Jane Doe, Associated Press\nUpdated 5:32 am\n{text}", "AP", "byline"),
    ("Eine Zeile\nvon dpa\n\n{text}", "dpa", "byline"),
    ("Por EFE Ene 01, 2024 {text}", "EFE", "byline"),
    ("{text}\nCopyright 2024 The Associated Press. All rights reserved.", "AP", "copyright"),
    ("{text}\n© 2024 AFP", "AFP", "copyright"),
    ("{text}\nCopyright 2024 by The\nAssociated Press.", "AP", "copyright"),
    ("{text} Kaynak: İHA", "İHA", "credit"),
    ("{text} Kaynak: DHA Haber Videos", "DHA", "credit"),
    ("{text}\nQuelle: dpa", "dpa", "credit"),
    ("{text}\nFonte: Ansa", "ANSA", "credit"),
    ("{text}\nBron: ANP", "ANP", "credit"),
    ("{text} Источник: ТАСС", "TASS", "credit"),
    ("{text} (Reuters, 25.5.2016)", "Reuters", "credit"),
    ("{text} (red, APA, AFP, 16.5.2020)", "APA", "credit"),
    ("{text} (mbr/dpa", "dpa", "credit"),
    ("{text}\n\nRND/dpa", "dpa", "credit"),
    ("{text} (DHA) Bu içerik editör tarafından yayına alınmıştır.", "DHA", "credit"),
    ("{text} EFE", "EFE", "credit"),
    ("{text}\nAvec AFP", "AFP", "credit"),
    ("{text} Con información de EFE", "EFE", "credit"),
]
UNMARKED = [
    "{text} The master had told Reuters on Monday that the ship was sound.",
    "{text} One survivor spoke to AP about the night.",
    "A man on the quay (AP Photo/John Doe)\n{text}",
    "Photo: AP\n{text}",
    "(J. Scott Doe / Associated Press)\n\n{text}",
    "John Doe / Reuters\n\n{text}",
    "Das Schiff am Morgen. © dpa\n{text}",
    "{text} Jane Roe and The Associated Press contributed to this report.",
    "Von Reuters befragte Fachleute hatten mehr erwartet. {text}",
    "{text} Das berichtet die Thomson-Reuters-Tochter IFR.",
    "Wetter in Anadolu ve Ege: {text}",
]


@pytest.mark.parametrize(("form", "agency", "kind"), MARKED)
def test_a_mark_names_the_agency(form: str, agency: str, kind: str) -> None:
    found = find_agency(Document(id="a", text=form.format(text=TEXT)))
    assert found == AgencyMark(agency, kind)  # type: ignore[arg-type]  # one of the kinds


@pytest.mark.parametrize("form", UNMARKED)
def test_mentions_pictures_and_contributions_are_no_marks(form: str) -> None:
    assert find_agency(Document(id="a", text=form.format(text=TEXT))) is None


@pytest.mark.parametrize(
    ("fields", "agency"),
    [
        ({"source": "Reuters"}, "Reuters"),
        ({"source": "REUTERS"}, "Reuters"),
        ({"url": "https://www.aa.com.tr/en/news/1"}, "AA"),
        ({"url": "https://racing.ap.org/article"}, "AP"),
        ({"url": "https://notap.org/article"}, None),
        ({"url": "https://[broken"}, None),
        ({"source": "Harbour Courier"}, None),
    ],
)
def test_an_agency_that_publishes_itself(fields: dict[str, str], agency: str | None) -> None:
    document = Document(id="a", text=FERRY, **fields)  # type: ignore[arg-type]  # all are texts
    assert publishing_agency(document) == agency
    if agency is not None:
        assert find_agency(document) == AgencyMark(agency, "source")


def test_a_mark_in_the_middle_of_a_long_text_is_none() -> None:
    text = f"{FERRY} {BRIDGE} {FERRY} {BRIDGE} (Reuters) - {FERRY} {BRIDGE}"
    assert find_agency(Document(id="a", text=text)) is None
