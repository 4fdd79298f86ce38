"""Prints the table of early signals.

python -m tests.eval.signals                      changes detected and false updates per language
python -m tests.eval.signals --preset monitoring  with another preset
python -m tests.eval.signals --failures           wrong decisions of the development part
"""

from __future__ import annotations

import argparse

from esdedup.settings import Settings
from tests.eval.signals import LANGUAGES, PARTS, Part, Tally, select_cases, tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.eval.signals")
    parser.add_argument("--preset", default="hybrid")
    parser.add_argument("--failures", action="store_true", help="list those of development")
    parser.add_argument("--lang", choices=LANGUAGES, action="append", help="default: all")
    given = parser.parse_args()
    settings = Settings.load(preset=given.preset, environment={})
    languages = given.lang or LANGUAGES
    if given.failures:
        print_failures(languages, settings)
    else:
        for part in PARTS:
            print_table(languages, part, settings)


def print_table(languages: tuple[str, ...], part: Part, settings: Settings) -> None:
    print(f"{part}: detected changes and false updates, with `lang` | without")
    totals = Tally(), Tally()
    for lang in languages:
        row = [tally(lang, part, settings, with_lang=known) for known in (True, False)]
        print(f"  {lang}  {row[0].cases:3} cases  ", " | ".join(map(_figures, row)))
        for total, one in zip(totals, row, strict=True):
            total.add_tally(one)
    print(f"  all {totals[0].cases:3} cases  ", " | ".join(map(_figures, totals)), flush=True)


def _figures(one: Tally) -> str:
    return (
        f"{one.detected:3} of {one.changes:3} ({one.detected_share:6.1%}), "
        f"{one.false_updates:2} of {one.same:3} ({one.false_update_share:5.1%})"
    )


def print_failures(languages: tuple[str, ...], settings: Settings) -> None:
    for lang in languages:
        for case in select_cases(lang, "development"):
            wrong = []
            for with_lang in (True, False):
                for backwards in case.directions:
                    evidence = case.judge(settings, with_lang=with_lang, backwards=backwards)
                    if (evidence.verdict == "update") != case.is_change:
                        wrong.append(f"{'L' if with_lang else '-'}{'<' if backwards else '>'}")
                        told = "; ".join(map(str, evidence.numbers)) or evidence.verdict
            if wrong:
                print(f"{lang}/{case.id} {' '.join(wrong)}: {case.old} | {case.new} => {told}")


if __name__ == "__main__":
    main()
