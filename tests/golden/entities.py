"""Keys of the methods entities and lengths for fixed texts."""

from __future__ import annotations

from esdedup.ingest.sign import sign_many
from esdedup.model import Document
from tests.golden import settings_of

PRESETS = ("tweezer", "chang-wang")
_LENGTHS = (3, 7, 4, 9, 5, 6, 3, 8, 4, 7, 5, 9, 6, 3)

DOCUMENTS = (
    Document(
        id="turkish",
        lang="tr",
        title="Başlık imzalanmaz: Ankara",
        text="Isparta'nın Eğirdir İlçesi'nde dün toplanan Göller Bankası yönetim kurulu, Genel "
        "Müdürü Canan Ediz'in istifasını kabul etti. Açıklamada Göller adına konuşan olmadı; "
        "karar ABD'deki ortaklara da bildirildi.",
    ),
    Document(
        id="english",
        lang="en",
        text="Mr. John Smith of Skerrin University flew to Paris on Tuesday. The U.S. delegation, "
        'led by Mary-Ann O\'Neill, stayed in "The Grand Hotel" near the Seine. Smith said no.',
    ),
    Document(
        id="german",
        lang="de",
        text="Bundeskanzlerin Anna Groß reiste nach Wien … STRASSEN in Hamburg und München blieben "
        "gesperrt, teilte die Hafen AG mit.",
    ),
    Document(
        id="french",
        lang="fr",
        text="Le ministre Jean Dupont était hier à Lyon, près de l’Université de Genève.",
    ),
    Document(
        id="spanish", lang="es", text="El presidente viajó ayer a Madrid con el Banco de España."
    ),
    Document(id="other language", lang="nl", text="Zij wonen sinds mei in Berlin, naast de haven."),
    Document(id="no names", lang="en", text=" ".join(f"word{i}" for i in range(50))),
    Document(id="short", lang="en", text="only four small words"),
    Document(id="capitals", lang="en", text="LONDON AND PARIS ARE FAR FROM EACH OTHER " * 3),
    Document(id="japanese", lang="ja", text="東京都は新しい防災計画を発表した。"),
    Document(id="arabic", lang="ar", text="قالت السلطات إنّ ١٢ شخصا قُتلوا في حريق."),
    Document(id="emoji", text="😀 👩\u200d👧 ❤\ufe0f"),
    Document(
        id="sentences",
        lang="en",
        text=" ".join(" ".join(["word"] * (size - 1)) + " end." for size in _LENGTHS * 2),
    ),
    Document(
        id="cümleler",
        lang="tr",
        text=" ".join(" ".join(["söz"] * (size - 1)) + " son." for size in _LENGTHS),
    ),
    Document(
        id="句子",
        lang="zh",
        text="".join("字" * size + "。" for size in _LENGTHS),
    ),
)


def signed(format_: int) -> dict[str, dict[str, dict[str, list[str]]]]:
    out = {}
    for preset in PRESETS:
        settings = settings_of(format_, preset)
        out[preset] = {
            one.document.id: {name: list(keys) for name, keys in one.signature.keys.items()}
            for one in sign_many(DOCUMENTS, settings)
        }
    return out
