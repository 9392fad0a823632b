"""`python -m acp_nvim.tutor`: the tutor on standard input and output."""

from __future__ import annotations

import asyncio
import io
import sys

from acp_nvim.tutor.agent import Tutor
from acp_nvim.tutor.connection import Connection


def main() -> int:
    """Serve until the client closes our input."""
    reader = io.BufferedReader(io.FileIO(0, closefd=False))
    writer = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = sys.stderr  # nothing but messages may go to the client
    connection = Connection(reader, writer)
    asyncio.run(connection.run(Tutor(connection)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
