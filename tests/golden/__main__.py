"""Write the golden signatures of the present format."""

from __future__ import annotations

import json

from tests.golden import FILE, methods, vectors

for file, made in ((FILE, vectors()), (methods.FILE, methods.vectors())):
    file.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
    print(f"wrote {file}")
