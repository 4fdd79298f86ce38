"""Write the golden keys of the present format."""

from __future__ import annotations

import json

from tests.golden import FOLDER, PRESENT, entities, methods, vectors

for name, made in (
    ("format", vectors(PRESENT)),
    ("methods", methods.vectors(PRESENT)),
    ("methods_entities", entities.signed(PRESENT)),
):
    file = FOLDER / f"{name}{PRESENT}.json"
    file.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"wrote {file}")
