"""Serve an agent that speaks over stdio behind a Unix socket, a process for each client.

python serve.py /tmp/agent.sock -m acp_nvim.tutor
"""

from __future__ import annotations

import asyncio
import sys


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()
    target.close()


async def main(path: str, *command: str) -> None:
    """Serve for ever; ``command`` are the arguments of this Python."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pipe = asyncio.subprocess.PIPE
        agent = await asyncio.create_subprocess_exec(
            sys.executable, *command, stdin=pipe, stdout=pipe
        )
        assert agent.stdin is not None
        assert agent.stdout is not None
        await asyncio.gather(_copy(reader, agent.stdin), _copy(agent.stdout, writer))

    server = await asyncio.start_unix_server(served, path)
    sys.stdout.write(f"unix://{path}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
