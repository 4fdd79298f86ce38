"""Parts of a bulk signed ahead: in which order, and that no session is left waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, cast

from esdedup.gateway.bulk import Bulk
from esdedup.gateway.write_job import SplitPipeline, WriteJob

PARTS = [Bulk([], []) for _ in range(3)]


class Steps:
    """Signing and deciding that wait until they are let through; `open` jobs hold a session."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.open = 0
        self.is_open = asyncio.Event()

    def _end(self) -> None:
        self.open -= 1

    async def sign(self, job: WriteJob) -> WriteJob:
        await self._step("sign", job)
        self.open += 1
        job.enter(cast(Any, contextlib.closing(cast(Any, _Write(self._end)))))
        return job

    async def decide(self, job: WriteJob) -> WriteJob:
        try:
            await self._step("decide", job)
        except asyncio.CancelledError:
            job.close()  # as `Writes._detect` does
            raise
        return job

    async def _step(self, name: str, job: WriteJob) -> None:
        number = next(n for n, part in enumerate(PARTS) if part is job.bulk)
        self.told.append(f"{name} {number}")
        await self.is_open.wait()

    def pipeline(self) -> SplitPipeline:
        return SplitPipeline(PARTS, 0, self.sign, self.decide)


class _Write:
    """The write of a session, of which only the end matters."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.close = end


async def turn() -> None:
    """All that can go on does."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_part_is_signed_while_the_one_before_it_is_decided() -> None:
    async def run() -> None:
        steps = Steps()
        steps.is_open.set()
        pipeline = steps.pipeline()
        for number in range(3):
            assert pipeline.has_more
            job = await pipeline.next()
            assert job.bulk is PARTS[number]
            await turn()
            job.close()
        assert not pipeline.has_more
        assert sorted(steps.told, key=lambda told: told[-1]) == [
            f"{name} {number}" for number in range(3) for name in ("sign", "decide")
        ]
        assert steps.told.index("sign 1") < steps.told.index("decide 1")
        assert steps.told.index("sign 2") < steps.told.index("decide 2")
        assert steps.open == 0

    asyncio.run(run())


def test_only_one_part_is_signed_ahead() -> None:
    async def run() -> None:
        steps = Steps()
        pipeline = steps.pipeline()
        coming = asyncio.create_task(pipeline.next())
        await turn()
        assert steps.told == ["sign 0"]
        steps.is_open.set()
        (await coming).close()
        await turn()
        assert steps.told == ["sign 0", "decide 0", "sign 1"]
        pipeline.abort()
        await turn()
        assert steps.open == 0

    asyncio.run(run())


def test_a_client_that_goes_away_leaves_no_session_waiting() -> None:
    async def run() -> None:
        for pause in range(8):  # wherever the first part is
            steps = Steps()
            pipeline = steps.pipeline()
            coming = asyncio.create_task(pipeline.next())
            await turn()
            steps.is_open.set()
            for _ in range(pause):
                await asyncio.sleep(0)
            pipeline.abort()
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                (await coming).close()
            await turn()
            assert "sign 2" not in steps.told
            assert steps.open == 0, pause

    asyncio.run(run())
