"""`python -m acp_nvim.tutor`: the tutor on standard input and output."""

from __future__ import annotations

import asyncio
import io
import sys

from acp_nvim.tutor.agent import Tutor
from acp_nvim.tutor.connection import Connection

CHUNK = 1 << 16


def main() -> int:
    """Serve one client until it closes standard input.

    A worker thread reads, because Windows has no other way to wait for stdin.
    """
    reader = io.BufferedReader(io.FileIO(0, closefd=False))
    writer = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = sys.stderr  # only messages may go to the client

    def write(line: bytes) -> None:
        try:
            writer.write(line)
            writer.flush()
        except BrokenPipeError:
            return  # the client is gone: the end of the input follows

    connection = Connection(write)
    tutor = Tutor(connection)
    asyncio.run(connection.run(tutor, lambda: asyncio.to_thread(reader.read1, CHUNK)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
