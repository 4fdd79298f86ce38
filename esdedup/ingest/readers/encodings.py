"""Decodes pages and files that declare their encoding wrongly or not at all."""

from __future__ import annotations

import codecs
import re

# Longest first: the BOM of UTF-32 begins with the one of UTF-16.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# First bytes of files that are binary, whatever their name.
_BINARY_MAGIC = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF",
    b"PK\x03\x04",
    b"\x7fELF",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"PAR1",
    b"SQLite format 3",
    b"RIFF",
)
# Control characters no text contains. Random bytes are 10 % of these, text next to none; the line
# is drawn between, so that a page with a few stray null bytes still counts as text.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))
_BINARY_SHARE = 0.05
_FEW = 8
_SAMPLE = 8192

# How browsers read these labels (WHATWG Encoding): the Windows superset, never the ISO subset.
_AS_BROWSERS_DO = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# What pages of a language used before UTF-8, for pages that name no encoding.
_BY_LANGUAGE = {
    **dict.fromkeys(("en", "fr", "de", "es", "pt", "it", "nl"), ("cp1252",)),
    **dict.fromkeys(("cs", "sk", "hu", "ro"), ("cp1250",)),
    **dict.fromkeys(("ru", "uk", "bg"), ("cp1251",)),
    **dict.fromkeys(("tr", "az"), ("cp1254",)),
    **dict.fromkeys(("ar", "fa"), ("cp1256",)),
    "pl": ("iso8859-2", "cp1250"),
    "el": ("cp1253",),
    "he": ("cp1255",),
    "th": ("cp874",),
    "ja": ("cp932", "euc_jp"),
    "ko": ("cp949",),
    "zh": ("gb18030", "big5hkscs"),
}
# The letters of Turkish in cp1254, which charset_normalizer (3.5) takes for cp1250, and those that
# are not also French or German.
_TURKISH = "ÇĞİÖŞÜÂÎÛçğışöüâîû".encode("cp1254")
_ONLY_TURKISH = "ĞİŞğış".encode("cp1254")
_ALMOST_ALL = 0.95
# Encodings that news was written in; the other eighty Python knows only bring false guesses.
_CANDIDATES = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp874"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
# A UTF-8 text with a foreign comment or a cut last letter is still UTF-8: at most this share of
# its non-ASCII characters may be broken.
_BROKEN_SHARE = 0.1


def bom_encoding(data: bytes) -> str | None:
    """The encoding a byte order mark announces."""
    return next((name for bom, name in _BOMS if data.startswith(bom)), None)


def looks_binary(data: bytes) -> bool:
    """Whether these first bytes are of an image, an archive, a program, but not of a text."""
    if bom_encoding(data) is not None:
        return False
    if data.startswith(_BINARY_MAGIC):
        return True
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > max(_FEW, _BINARY_SHARE * len(sample))


def decode(data: bytes, *, declared: tuple[str, ...] = (), lang: str | None = None) -> str:
    """The text of `data`; never fails, and replaces only what no encoding explains.

    It tries, in this order: the byte order mark; UTF-8 (a text of another encoding practically
    never decodes as such); the declared encodings; UTF-8 with a few broken letters; the usual
    encodings of the language; a guess from the letters.
    """
    if (marked := bom_encoding(data)) is not None:
        return data.decode(marked, "replace")
    labels = [name for label in declared if (name := _known_encoding(label))]
    shifting = [name for name in labels if name.startswith("iso2022")]  # these fit ASCII too
    for name in (*shifting, "utf-8", *labels):
        if (text := _decode_strictly(data, name)) is not None:
            return text
    if (text := _decode_mostly_utf8(data)) is not None:
        return text
    for name in _BY_LANGUAGE.get(lang or "", ()):
        if (text := _decode_strictly(data, name)) is not None:
            return text
    others = [name for name in labels if name != "utf-8"]
    return data.decode(others[0] if others else likely_encoding(data), "replace")


def likely_encoding(data: bytes) -> str:
    """Guess the encoding of a text that is not UTF-8 from its letters."""
    from charset_normalizer import from_bytes

    # Only lines with non-ASCII letters, without tags: the others carry no information.
    lines = re.findall(rb"[^\n]*[\x80-\xff][^\n]*", re.sub(rb"<[^>]*>", b"\n", data))
    sample = b"\n".join(lines)[:_SAMPLE]
    letters = sample.translate(None, bytes(range(0xC0)))
    turkish = len(letters) - len(letters.translate(None, _TURKISH))
    if turkish >= _ALMOST_ALL * len(letters) and any(b in _ONLY_TURKISH for b in letters):
        return "cp1254"
    best = from_bytes(sample, cp_isolation=list(_CANDIDATES)).best()
    return best.encoding if best is not None else "cp1252"


def _known_encoding(label: str) -> str | None:
    """The codec for a label found in the wild; None for labels that name no text encoding."""
    try:
        name = codecs.lookup(label.strip()).name
        " ".encode(name)  # refused by codecs that are no text encoding, as base64
    except (LookupError, ValueError):  # ValueError: a null byte in the label
        return None
    # A page whose declaration could be read byte by byte is not in UTF-16; UTF-7 is an attack.
    if name.startswith(("utf-16", "utf-32", "utf-7")):
        return None
    return _AS_BROWSERS_DO.get(name, name)


def _decode_strictly(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except UnicodeDecodeError:
        return None


def _decode_mostly_utf8(data: bytes) -> str | None:
    text = data.decode("utf-8", "replace")
    foreign = len(re.findall(r"[^\x00-\x7f]", text))
    return text if text.count("�") <= _BROKEN_SHARE * foreign else None
