"""Parts of a bulk looked at ahead: in which order, and that no desk is left waiting."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

from esdedup.gateway.bulk import Bulk
from esdedup.gateway.write_job import Ahead, Share, Work

PARTS = [Bulk([], []) for _ in range(3)]


class Desk:
    """Counts what waits for it."""

    def __init__(self) -> None:
        self.waiting = 0

    def written(self, operations: int | None) -> None:
        self.waiting -= 1

    def give_up(self) -> None:
        self.waiting -= 1


class Steps:
    """Signing and deciding that wait until they are let through."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.desk = Desk()
        self.is_open = asyncio.Event()

    async def sign(self, work: Work) -> Work:
        await self._step("sign", work)
        self.desk.waiting += 1
        work.prepared.append(Share("news", [], cast(Any, self.desk)))
        return work

    async def decide(self, work: Work) -> Work:
        try:
            await self._step("decide", work)
        except asyncio.CancelledError:
            work.release(None)  # as `Writes._detected` does
            raise
        work.desks.append(cast(Any, work.prepared.pop().desk))
        return work

    async def _step(self, name: str, work: Work) -> None:
        number = next(n for n, part in enumerate(PARTS) if part is work.bulk)
        self.told.append(f"{name} {number}")
        await self.is_open.wait()

    def ahead(self) -> Ahead:
        return Ahead(PARTS, self.sign, self.decide)


async def turn() -> None:
    """All that can go on does."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_part_is_signed_while_the_one_before_it_is_decided() -> None:
    async def run() -> None:
        steps = Steps()
        steps.is_open.set()
        ahead = steps.ahead()
        for number in range(3):
            assert ahead.has_more
            work = await ahead.next()
            assert work.bulk is PARTS[number]
            await turn()
            work.release(None)
        assert not ahead.has_more
        assert sorted(steps.told, key=lambda told: told[-1]) == [
            f"{name} {number}" for number in range(3) for name in ("sign", "decide")
        ]
        assert steps.told.index("sign 1") < steps.told.index("decide 1")
        assert steps.told.index("sign 2") < steps.told.index("decide 2")
        assert steps.desk.waiting == 0

    asyncio.run(run())


def test_only_one_part_is_signed_ahead() -> None:
    async def run() -> None:
        steps = Steps()
        ahead = steps.ahead()
        coming = asyncio.create_task(ahead.next())
        await turn()
        assert steps.told == ["sign 0"]
        steps.is_open.set()
        (await coming).release(None)
        await turn()
        assert steps.told == ["sign 0", "decide 0", "sign 1"]
        ahead.let_go()
        await turn()
        assert steps.desk.waiting == 0

    asyncio.run(run())


def test_a_client_that_goes_away_leaves_no_desk_waiting() -> None:
    async def run() -> None:
        for pause in range(8):  # wherever the first part is
            steps = Steps()
            ahead = steps.ahead()
            coming = asyncio.create_task(ahead.next())
            await turn()
            steps.is_open.set()
            for _ in range(pause):
                await asyncio.sleep(0)
            ahead.let_go()
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                (await coming).release(None)
            await turn()
            assert "sign 2" not in steps.told
            assert steps.desk.waiting == 0, pause

    asyncio.run(run())
