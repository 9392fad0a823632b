"""`python -m acp_nvim.tutor`: the tutor on standard input and output, or on a socket."""

from __future__ import annotations

import argparse
import asyncio
import io
import sys

from acp_nvim.tutor.agent import Tutor
from acp_nvim.tutor.connection import Connection

CHUNK = 1 << 16


def main() -> int:
    """Serve until the client closes our input, or the process is ended."""
    parser = argparse.ArgumentParser(prog="acp_nvim.tutor", description=__doc__)
    parser.add_argument(
        "--listen",
        metavar="[HOST:]PORT",
        help="serve WebSocket and Streamable HTTP there instead; the host is 127.0.0.1 unless "
        "another is named, the port any that is free where it is 0. The addresses are printed",
    )
    where = parser.parse_args().listen
    return on_stdio() if where is None else listen(where)


def on_stdio() -> int:
    """Serve one client on our pipes.

    Reading happens in a worker thread, because Windows has no other way to wait for stdin;
    writing blocks: a client that reads nothing gets nothing said.
    """
    reader = io.BufferedReader(io.FileIO(0, closefd=False))
    writer = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = sys.stderr  # nothing but messages may go to the client

    def write(line: bytes) -> None:
        try:
            writer.write(line)
            writer.flush()
        except BrokenPipeError:
            return  # the client is gone; the end of our input follows and ends everything

    connection = Connection(write)
    service = Tutor(connection)
    asyncio.run(connection.run(service, lambda: asyncio.to_thread(reader.read1, CHUNK)))
    return 0


def listen(where: str) -> int:
    """Serve many clients on a socket."""
    from acp_nvim.tutor.server import serve_tutors

    try:
        asyncio.run(serve_tutors(where))
    except (OSError, ValueError, ImportError) as error:
        sys.stderr.write(f"acp_nvim.tutor: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
