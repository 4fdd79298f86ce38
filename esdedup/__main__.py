"""`python -m esdedup` is the command `esdedup`."""

from __future__ import annotations

from esdedup.cli import main

if __name__ == "__main__":
    main()
