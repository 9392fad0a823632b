"""The life of a host process: verbs in order from the first to the end of the connection."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Coroutine
from threading import Thread, main_thread
from typing import Any

from acp_nvim import verbs
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.app import Host
from acp_nvim.nvim.bridge import Bridge, Verb
from acp_nvim.nvim.buffer_events import VERBS, on_buffer_event

VerbCall = tuple[str, dict[str, Any]]
"""A verb and its arguments."""


def core(bridge: Bridge, agent: EarlyAgent | None = None) -> tuple[Coroutine[Any, Any, None], Verb]:
    """Return the root task of a host, and the function that takes verbs for it. The agent was
    started before.
    """
    waiting: asyncio.Queue[VerbCall] = asyncio.Queue()
    host = Host(bridge, agent)

    async def dispatch(host: Host) -> None:
        while True:
            verbs.run(host, *await waiting.get())

    def deliver(name: str, args: dict[str, Any]) -> None:
        if name in VERBS:
            on_buffer_event(host.workspace, name, args)
        else:
            waiting.put_nowait((name, args))

    return host.run(dispatch), deliver


def main(agent: EarlyAgent | None = None) -> None:
    """Entry point of `python -m acp_nvim`: serve the Neovim that started it
    (`lua/acp/base/host.lua`), which has named this agent, if any.
    """
    # Messages of agents are many small objects and hardly a cycle. Python would look for cycles
    # after each 700 of them, through all modules as well: a tenth of a flood's time, in pauses.
    # `Pace` looks when nothing is to be shown.
    gc.set_threshold(100_000, 20, 20)
    # A thread that looks at files would keep the loop waiting for 5 ms each time.
    sys.setswitchinterval(0.0005)
    gc.freeze()
    gc.enable()
    bridge = Bridge.stdio()
    root, deliver = core(bridge, agent)
    bridge.run(root, deliver)


class Classic:
    """The same core in the shared host of classic remote plugins (`rplugin/python3/`)."""

    def __init__(self, nvim: Any) -> None:
        """Nothing is started yet."""
        self._nvim = nvim
        self._root: asyncio.Task[None] | None = None
        self._deliver: Verb = lambda name, args: None

    def start(self) -> int:
        """Start the core unless it runs; returns the channel that takes its verbs."""
        if self._root is None or self._root.done():
            bridge = Bridge.within(self._nvim)
            root, self._deliver = core(bridge)
            self._root = bridge.loop.create_task(root)
            self._root.add_done_callback(lambda _: _left(bridge))
            Thread(target=_end_with_main, daemon=True).start()
        return int(self._nvim.channel_id)

    def deliver(self, name: str, args: Any) -> None:
        """Take a verb; must not wait, the host is shared. After `leave` all that runs ends."""
        if name == "leave" and self._root is not None:
            self._root.cancel()
            return
        self._deliver(name, args if isinstance(args, dict) else {})


def _left(bridge: Bridge) -> None:
    """Neovim waits for this before it goes."""
    bridge.notify("nvim_exec_lua", "require('acp.base.host').left()", [])


def _end_with_main() -> None:
    """A Neovim that was killed says nothing: its host ends by itself, but Python would wait for
    the threads that looked at files, for ever.
    """
    main_thread().join()
    os._exit(0)
