"""The life of a host process: verbs in order from the first to the end of the connection."""

from __future__ import annotations

import math
from typing import Any

import anyio

from acp_nvim.editor import verbs
from acp_nvim.editor.bridge import Bridge
from acp_nvim.editor.host import Host

Letter = tuple[str, dict[str, Any]]


def serve(bridge: Bridge) -> None:
    """Serve one Neovim until it closes the connection."""
    send, receive = anyio.create_memory_object_stream[Letter](math.inf)
    host = Host(bridge)

    async def dispatch(host: Host) -> None:
        async with receive:
            async for name, args in receive:
                verbs.run(host, name, args)

    bridge.run(host.run(dispatch), lambda name, args: send.send_nowait((name, args)))


def main() -> None:
    """Entry point of `python -m acp_nvim`, started by `lua/acp/host.lua`."""
    serve(Bridge.stdio())
