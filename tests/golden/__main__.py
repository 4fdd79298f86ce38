"""Write the golden signatures of the present format."""

from __future__ import annotations

import json

from tests.golden import FILE, vectors

FILE.write_text(json.dumps(vectors(), ensure_ascii=False, indent=1) + "\n", "utf-8")
print(f"wrote {FILE}")
