"""Start servers for work by hand and keep them until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
from typing import NoReturn, get_args

from .distribution import DEFAULT_VERSIONS, Product, ServerError
from .starting import start


def main() -> int:
    products: tuple[Product, ...] = get_args(Product)
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    parser.add_argument("product", nargs="?", default="both", choices=[*products, "both"])
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="nodes of each cluster")
    parser.add_argument("--version", help=f"instead of {DEFAULT_VERSIONS}; for one product")
    parser.add_argument("--heap", default="1g", help="heap of each node")
    arguments = parser.parse_args()
    if arguments.nodes < 1:
        parser.error("--nodes must be at least 1")
    if arguments.version and arguments.product == "both":
        parser.error("--version needs one product")
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.ExitStack() as stack:
        try:
            for product in products if arguments.product == "both" else [arguments.product]:
                began = time.monotonic()
                print(f"{product}: starting", file=sys.stderr, flush=True)
                servers = stack.enter_context(
                    start(
                        product,
                        version=arguments.version,
                        nodes=arguments.nodes,
                        heap=arguments.heap,
                        as_installed=True,
                    )
                )
                took = time.monotonic() - began
                print(f"{product}: up in {took:.0f} s", file=sys.stderr)
                for url in servers.urls:
                    print(url, flush=True)
            print("Ctrl-C stops them", file=sys.stderr, flush=True)
            signal.pause()
        except ServerError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr, flush=True)
    return 0


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


sys.exit(main())
