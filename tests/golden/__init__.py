"""Signatures of fixed texts in every format: what is stored outlives the code.

`python -m tests.golden` writes those of the present format anew. That is right only together with
a new number of the format; otherwise a difference means that stored keys no longer match. Files of
earlier formats are never written again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from esdedup.ingest.sign import sign_many
from esdedup.matching.content import read_contents
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.settings.presets import FORMAT_1, PRESETS

FORMATS = (1, 2)
PRESENT = FORMATS[-1]
FOLDER = Path(__file__).parent
SIGNED_PRESETS = ("hybrid", "nrc-gphin")
FIRST_SHINGLES = 8

DOCUMENTS = (
    Document(
        id="english",
        title="Ferry fire: 12 dead off Skerrin",
        text="At least 12 people were killed and 40 injured when a fire broke out on the car deck "
        "of a ferry off Skerrin early on Tuesday, the coastguard said. The ship carried 1,250 "
        "passengers. Damage is put at £3.5m, 20 per cent more than in the fire of 1998.",
    ),
    Document(
        id="turkish",
        lang="tr",
        title="MADENDE GÖÇÜK: YEDİ ÖLÜ",
        text="Isparta'nın Eğirdir ilçesinde bir maden ocağında meydana gelen göçükte yedi işçi "
        "hayatını kaybetti, 12 bin 500 kişi elektriksiz kaldı. Fiyatlar yüzde 42,9 arttı.",
    ),
    Document(
        id="french",
        title="Incendie dans le massif de l\N{RIGHT SINGLE QUOTATION MARK}Aubrette",
        text="Quelque 1 400 hectares ont été détruits et trois cents habitants évacués dans la "
        "nuit de samedi à dimanche, selon la préfecture. Une enquête est ouverte pour "
        "déterminer l\N{RIGHT SINGLE QUOTATION MARK}origine du feu, qui est désormais fixé.",
    ),
    Document(
        id="german",
        lang="de",
        title="Große Straßenschäden",
        text="Die Überschwemmung hat 3.400 Menschen obdachlos gemacht; zweiundzwanzig Brücken sind "
        "gesperrt. STRASSEN und Straßen im Landkreis bleiben bis auf weiteres zu.",
    ),
    Document(
        id="japanese",
        lang="ja",
        title="東京都、新計画を発表",
        text="東京都は2024年5月、新しい防災計画を発表した。死者は12人、負傷者は1万2000人に上った。ﾃﾚﾋﾞ",
    ),
    Document(
        id="chinese",
        lang="zh",
        title="河水上涨",
        text="星期二凌晨河水上涨，3400人被疏散，损失达2亿元。",
    ),
    Document(id="thai", lang="th", title="น้ำท่วม", text="ชาวบ้าน ๓๔๐ คนถูกอพยพหลังน้ำท่วมหนักในจังหวัด"),
    Document(
        id="arabic",
        lang="ar",
        title="حريق في عبّارة",
        text="قالت السلطات إنّ ١٢ شخصا قُتلوا وأصيب ٤٠ آخرون في حريق "
        "اندلع على متن عبّارة صباح الثلاثاء.",
    ),
    Document(
        id="greek, marks and signs",
        title="ΣΊΣΥΦΟΣ\u00ad Ο\u0301ΔΟΣ",
        text="Soft\u00adhyphens, zero\u200bwidth, ﬁ ligatures, ½ and ², ❤\ufe0f 👩\u200d👧, "
        "x\u030c, Ǆ K \N{KELVIN SIGN} snake_case re-elect don't 𝔘𝔫𝔦 𠀀𠀁",
    ),
    Document(id="short", title="", text="Two words"),
    Document(id="title only", title="  A headline of exactly six words  ", text=""),
    Document(
        id="long words and many",
        title="x" * 300,
        text=" ".join(f"word{i % 1700}" for i in range(2500)) + " " + "y" * 257,
    ),
)


def settings_of(format_: int, preset: str, **flags: Any) -> Settings:
    """A preset as a store of this format has it."""
    of_format = {"clause_marks": "", **FORMAT_1} if format_ == 1 else {}
    methods = {"methods": PRESETS[preset]["methods"]} if "methods" in PRESETS[preset] else {}
    return Settings.load(
        preset=preset, environment={}, flags={**of_format, **methods, **flags, "format": format_}
    )


def signed(preset: str, format_: int) -> dict[str, Any]:
    settings = settings_of(format_, preset)
    contents = read_contents(DOCUMENTS, settings)
    return {
        one.document.id: {
            "keys": {method: list(keys) for method, keys in one.signature.keys.items()},
            "first_shingles": content.shingles[:FIRST_SHINGLES].tolist(),
            "shingles": len(content.shingles),
            "exact": one.signature.digest,
            "words": content.words,
            "numbers": [list(count) for count in content.reading.counts]
            if settings.number_check
            else [],
            "lang": content.lang,
        }
        for one, content in zip(sign_many(DOCUMENTS, settings), contents, strict=True)
    }


def vectors(format_: int) -> dict[str, Any]:
    return {
        preset: {
            "shaping": settings_of(format_, preset).shaping(),
            "fingerprint": settings_of(format_, preset).fingerprint_of_format(),
            "signatures": signed(preset, format_),
        }
        for preset in SIGNED_PRESETS
    }
