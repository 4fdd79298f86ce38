"""Do the tests notice when the code that decides is wrong? `make mutation` asks them.

    python -m tests.mutation [--mutants 6] [--seed 1] [FILE ...]

A sample of small changes, the same for the same seed: a comparison, a sum, a constant, an `and`
or a returned value is made another one, one at a time, and the tests of that file are run until
one fails. Nothing is written: each mutant is a process of its own that loads the changed module
in place of the file. Annotations, decorators and messages are left as they are.
"""

from __future__ import annotations

import argparse
import ast
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType

import hypothesis
import numpy  # noqa: F401  (and pytest: loaded once, before processes are forked)
import pytest

ROOT = Path(__file__).parents[1]
# The tests that would be read first by someone who changes the file, the quick ones in front.
_ALL = ("tests/methods/test_all.py", "tests/golden/test_methods.py")
TESTS: dict[str, tuple[str, ...]] = {
    "esdedup/matching/verify.py": (
        "tests/matching/test_verify.py",
        "tests/matching/test_decide.py",
    ),
    "esdedup/matching/decide.py": (
        "tests/matching/test_decide.py",
        "tests/matching/test_constraints.py",
        "tests/clustering/test_fixed_point.py",
    ),
    "esdedup/methods/antecedents.py": ("tests/methods/test_phrases.py",),
    "esdedup/text/batch.py": (
        *_ALL,
        "tests/methods/test_reference.py",
        "tests/methods/test_signing.py",
    ),
    "esdedup/text/boilerplate.py": ("tests/text/statistics",),
    "esdedup/methods/entities.py": (*_ALL, "tests/methods/test_entities.py"),
    "esdedup/methods/exact.py": (*_ALL, "tests/methods/test_signing.py"),
    "esdedup/methods/imatch.py": (*_ALL, "tests/methods/test_imatch.py"),
    "esdedup/methods/lengths.py": (
        *_ALL,
        "tests/methods/test_lengths.py",
        "tests/methods/test_jumping.py",
    ),
    "esdedup/methods/phrases.py": (*_ALL, "tests/methods/test_phrases.py"),
    "esdedup/methods/simhash.py": (*_ALL, "tests/methods/test_simhash.py"),
    "esdedup/methods/sketch.py": (
        *_ALL,
        "tests/methods/test_reference.py",
        "tests/methods/test_sketch.py",
    ),
    "esdedup/methods/spotsigs.py": (*_ALL, "tests/methods/test_phrases.py"),
    "esdedup/methods/vectors.py": ("tests/methods/test_vectors.py",),
}
# A mutant that runs on is noticed, too; of processor time, so that a busy machine changes nothing.
CPU_SECONDS = 120

_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_UNTOUCHED = {"annotation", "returns", "decorator_list"}
Change = Callable[[], None]


def sites(node: ast.AST) -> Iterator[tuple[int, str, Change]]:
    """Every change that can be made below a node: its line, what it is, and how to make it."""
    line = getattr(node, "lineno", 0)
    for what, change in _changes(node):
        yield line, what, change
    for name, value in ast.iter_fields(node):
        if name in _UNTOUCHED:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from sites(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    def other(holder: list[ast.cmpop] | None, at: int, old: ast.AST) -> tuple[str, Change]:
        new = _OTHER[type(old)]()

        def change() -> None:
            if holder is None:
                setattr(node, "op", new)  # noqa: B010  (one name on several kinds of nodes)
            else:
                holder[at] = new  # type: ignore[call-overload]  # a comparison for a comparison

        return f"{type(old).__name__} -> {type(new).__name__}", change

    match node:
        case ast.Compare():
            yield from (other(node.ops, i, op) for i, op in enumerate(node.ops))
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in _OTHER:
            yield other(None, 0, node.op)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            twice = ast.UnaryOp(ast.Not(), inner)
            yield "not -> not not", lambda: setattr(node, "operand", twice)
        case ast.Constant(value=bool(value)):
            yield f"{value} -> {not value}", lambda: setattr(node, "value", not value)
        case ast.Constant(value=int(number) | float(number)):
            yield f"{number} -> {number + 1}", lambda: setattr(node, "value", number + 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None", lambda: setattr(node, "value", ast.Constant(None))


def mutant(source: str, number: int) -> tuple[str, ast.Module]:
    tree = ast.parse(source)
    line, what, change = list(sites(tree))[number]
    change()
    return f"line {line}: {what}", ast.fix_missing_locations(tree)


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads one module from a changed tree, and is asked before the file is found."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        super().__init__(file.removesuffix(".py").replace("/", "."), str(ROOT / file))
        self._code = compile(tree, self.path, "exec")

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)


def survives(file: str, tree: ast.Module) -> bool:
    """Whether all tests of the file pass with this tree in its place."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.meta_path.insert(0, _Changed(file, tree))
        options = ["-x", "-q", "-m", "not servers", "--hypothesis-profile=mutation"]
        # Of Hypothesis, which is loaded before pytest could rewrite assertions in it.
        options += ["-W", "ignore:Module already imported"]
        without = ["-p", "no:cacheprovider", "-p", "no:xdist"]
        os._exit(int(pytest.main([*options, *without, *TESTS[file]])))
    except BaseException:  # noqa: BLE001  (a child never returns into the loop of its parent)
        os._exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=list(TESTS), metavar="FILE")
    parser.add_argument("--mutants", type=int, default=6, help="of each file, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-least", type=float, default=0.8, help="share to be noticed")
    given = parser.parse_args()
    os.chdir(ROOT)
    hypothesis.settings.register_profile(
        "mutation",
        deadline=None,
        max_examples=30,
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    tried = noticed = 0
    for file in given.files:
        source = (ROOT / file).read_text("utf-8")
        if not survives(file, ast.parse(source)):
            print(f"{file}: its tests fail without a change")
            return 2
        count = len(list(sites(ast.parse(source))))
        chosen = random.Random(f"{given.seed} {file}").sample(
            range(count), min(given.mutants, count)
        )
        left = []
        for number in sorted(chosen):
            what, tree = mutant(source, number)
            if survives(file, tree):
                left.append(what)
        tried += len(chosen)
        noticed += len(chosen) - len(left)
        print(f"{file}: {len(chosen) - len(left)} of {len(chosen)} noticed ({count} possible)")
        for what in left:
            print(f"  not noticed: {what}", flush=True)
    print(f"{noticed} of {tried} noticed, {noticed / tried:.0%}")
    return int(noticed < given.at_least * tried)


if __name__ == "__main__":
    raise SystemExit(main())
