"""Imported by the server from which workers are forked: loads what signing loads on first use.

Tables of characters, name lists and word frequencies take 0.4 s of processor time, once here
instead of once in every worker. Of the languages only English is loaded.
"""

from __future__ import annotations

from esdedup.ingest.sign import sign_many
from esdedup.model import Document
from esdedup.settings import Settings

_TEXT = Document(id="london", title="London", text="Words of a text in London.", lang="en")

sign_many([_TEXT], Settings())
