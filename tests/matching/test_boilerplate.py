"""Passages that a source puts on many pages make no copies; the same article with them does."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import prepare, sign_many
from esdedup.matching.verify import verify
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import open_store

SETTINGS = Settings()
# Without the comparison of counts and names, which may tell such articles apart as well.
PLAIN = Settings(number_check=False)

NEWS = {
    "Ferry to the northern islands cancelled": (
        "The ferry to the northern islands was cancelled on Tuesday after its engine failed. "
        "Passengers waited in the harbour until the evening and were then taken to hotels."
    ),
    "Bakery celebrates a hundred years of rye bread": (
        "A bakery in Mill Street celebrates its first hundred years with free rye bread. The owner "
        "still uses the oven of her grandmother, who opened the shop with two apprentices."
    ),
    "Council votes for a second bridge": (
        "The council has voted for a second bridge across the river. It will cost nine million, "
        "and cyclists are to have a lane of their own on either side of the road."
    ),
    "Choir from Lindholm wins contest in Riga": (
        "The choir from Lindholm has won the contest in Riga with three songs of its own. Its "
        "youngest singer is seven years old and had never been abroad before this week."
    ),
}
BOILERPLATE = {
    "newsletter form": (
        "Sign up for our morning briefing and get the stories that matter in your inbox before "
        "breakfast. By entering your email address you agree to our terms of use and to our "
        "privacy policy. You may leave the list at any time by following the link at the end of "
        "each message. We will never sell your address to anybody else. Please check the folder "
        "for unwanted mail if our message of welcome does not reach you within the hour."
    ),
    "donation appeal": (
        "Since you are here, we have a small favour to ask. More people than ever are reading us, "
        "and fewer and fewer of them are paying for it. Unlike many others we have not put up a "
        "wall around our work, because we think that all readers deserve reports which they can "
        "trust. If everyone who reads this would give as little as one coin a month, our future "
        "would be much safer. It takes less than a minute to support us, and every gift counts."
    ),
    "comment rules": (
        "We welcome your comments, and we ask you to be polite to each other. Posts that are "
        "insulting, that advertise something or that have nothing to do with the subject will be "
        "removed by our moderators without notice. Please do not write in capital letters only. "
        "Comments are open for three days and are shown under the name with which you have "
        "registered. Whoever breaks these rules again and again will be excluded for good."
    ),
    "menu": " ".join(
        f"Home {part} Sports Weather Traffic Video Photos Jobs Cars Homes Classifieds Archive "
        f"{part} Education Crime Food Travel Style Calendar Comics Puzzles Games"
        for part in ("Metro", "Valley", "Coast")
    ),
}
COMPANY = (
    "About Norvik Marine: Norvik Marine builds and repairs ships at four yards on the west coast. "
    "The company was founded in 1921 by two brothers and has been listed on the exchange since "
    "1987. It has some three thousand employees, and its customers are shipping lines, navies and "
    "research institutes all over the world. More about the company, its yards and its management "
    "can be found on its pages for investors."
)
COMPANY_NEWS = {
    "Norvik Marine appoints Helga Strand as finance chief": (
        "Norvik Marine has appointed Helga Strand as its finance chief. Strand, who worked for a "
        "bank before, succeeds Olav Berg and begins in March."
    ),
    "Norvik Marine sells tugboat division to Danish fund": (
        "Norvik Marine has agreed to sell its tugboat division to a Danish fund. The price of the "
        "division was not disclosed; the sale still needs the consent of authorities."
    ),
    "Norvik Marine wins order for two icebreakers": (
        "Norvik Marine has won an order for two icebreakers. The first of the icebreakers is to be "
        "delivered in four years, and the order is worth half a billion."
    ),
}


def pages(news: dict[str, str], boilerplate: str, source: str = "example.org") -> list[Document]:
    return [
        Document(f"{source} {i}", title, f"{text}\n{boilerplate}", source=source, lang="en")
        for i, (title, text) in enumerate(news.items())
    ]


CASES = {name: pages(NEWS, text) for name, text in BOILERPLATE.items()} | {
    "standing background of a company": pages(COMPANY_NEWS, COMPANY)
}


@pytest.mark.parametrize("documents", CASES.values(), ids=CASES)
def test_different_articles_with_the_same_boilerplate_are_no_copies(
    documents: list[Document],
) -> None:
    for old, new in combinations(sign_many(documents, SETTINGS), 2):
        evidence = verify(old, new, SETTINGS)
        assert evidence.verdict == "different"
        assert evidence.reason in ("boilerplate", "overlap", "other event")


def test_the_evidence_names_boilerplate() -> None:
    documents = CASES["donation appeal"]
    old, new, *_ = sign_many(documents, PLAIN)
    evidence = verify(old, new, PLAIN)
    assert (evidence.verdict, evidence.reason) == ("different", "boilerplate")
    assert evidence.overlap > PLAIN.min_overlap
    trusting = replace(PLAIN, ignore_boilerplate=False)
    assert verify(old, new, trusting).verdict == "duplicate"


@pytest.mark.parametrize("documents", CASES.values(), ids=CASES)
def test_the_same_article_with_the_same_boilerplate_is_a_copy(documents: list[Document]) -> None:
    for document in documents:
        republished = replace(document, id="again")
        retitled = replace(document, id="again", title=f"Update: {document.title}")
        elsewhere = replace(document, id="again", source="example.net")
        for copy in (republished, retitled, elsewhere):
            old, new = sign_many([document, copy], SETTINGS)
            assert verify(old, new, SETTINGS).verdict == "duplicate"


@pytest.mark.parametrize("with_title", [True, False])
def test_pages_of_a_headline_and_a_notice_are_no_copies(with_title: bool) -> None:
    notice = BOILERPLATE["newsletter form"]
    one, other = (
        Document(title, title, notice, source="example.org", lang="en")
        if with_title
        else Document(title, "", f"{title}\n{notice}", source="example.org", lang="en")
        for title in list(NEWS)[:2]
    )
    old, new = sign_many([one, other], PLAIN)
    assert verify(old, new, PLAIN).reason == "boilerplate"


def test_an_article_under_another_headline_is_a_copy() -> None:
    """The words of both headlines are in the text that both have."""
    (document, *_) = CASES["newsletter form"]
    other = replace(document, id="again", title="Passengers stranded as engine fails in harbour")
    old, new = sign_many([document, other], SETTINGS)
    assert verify(old, new, SETTINGS).verdict == "duplicate"


def test_without_a_source_nothing_is_boilerplate() -> None:
    documents = [replace(d, source=None) for d in CASES["donation appeal"][:2]]
    old, new = sign_many(documents, PLAIN)
    assert verify(old, new, PLAIN).verdict == "duplicate"


@pytest.mark.parametrize("documents", CASES.values(), ids=CASES)
def test_groups_do_not_depend_on_the_order_of_arrival(documents: list[Document]) -> None:
    copy = replace(documents[1], id="copy")
    for order in list(permutations([*documents[:3], copy]))[::5]:
        with Deduplicator(open_store("sqlite://:memory:", SETTINGS)) as deduplicator:
            for document in order:
                deduplicator.write(prepare([document], SETTINGS))
            records = deduplicator.store.documents.get(d.id for d in order)
            groups = {frozenset((id_, r.decision.group)) for id_, r in records.items()}
            groups = {group for group in groups if len(group) > 1}
            assert groups == {frozenset((documents[1].id, "copy"))}
