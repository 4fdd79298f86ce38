"""What every program between a caller and a cluster costs: bytes copied both ways, nothing else.

`python -m tests.bench.relay UPSTREAM_PORT PORT`, on the same event loop as the gateway. A caller's
connection has one to the cluster from the beginning.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast


class End(asyncio.Protocol):
    """One of the two ends of a way through; what comes here is written to the other."""

    transport: asyncio.Transport
    other: End

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.other.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.other.transport.close()


async def relay(upstream: int, port: int, connections: int = 16) -> None:
    loop = asyncio.get_running_loop()
    ready: list[End] = []
    for _ in range(connections):
        _, end = await loop.create_connection(End, "127.0.0.1", upstream)
        ready.append(end)

    def caller() -> End:
        end = End()
        end.other = ready.pop()
        end.other.other = end
        return end

    server = await loop.create_server(caller, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(relay(int(sys.argv[1]), int(sys.argv[2])))
