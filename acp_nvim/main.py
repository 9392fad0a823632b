"""Entry points of the host: run verbs in order until Neovim closes the connection."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import sys
from collections.abc import Coroutine
from threading import Thread, main_thread
from typing import Any

import anyio

from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.agent.notify import notify
from acp_nvim.app import Host
from acp_nvim.features import FEATURES
from acp_nvim.nvim.bridge import Bridge, Verb
from acp_nvim.nvim.buffer_events import VERBS, on_buffer_event

VerbCall = tuple[str, dict[str, Any]]
"""Verb and its arguments."""


def core(bridge: Bridge, agent: EarlyAgent | None = None) -> tuple[Coroutine[Any, Any, None], Verb]:
    """Return the root task of a host, and the function that queues verbs for it.

    `agent` is an agent that is already starting.
    """
    waiting: asyncio.Queue[VerbCall] = asyncio.Queue()
    host: Host | None = None

    async def serve() -> None:
        nonlocal host
        try:
            async with anyio.create_task_group() as group:
                host = Host(bridge, group, agent)
                await _run(host, waiting)
        finally:
            if host is not None:
                with anyio.CancelScope(shield=True):
                    await host.close()

    def deliver(name: str, args: dict[str, Any]) -> None:
        if name not in VERBS:
            waiting.put_nowait((name, args))
        elif host is not None:
            on_buffer_event(host.workspace, name, args)

    return serve(), deliver


async def _run(host: Host, waiting: asyncio.Queue[VerbCall]) -> None:
    """Install the features, and run the verbs in their order until cancelled."""
    for name in FEATURES:
        importlib.import_module(f"acp_nvim.features.{name}").install(host)
    host.tasks.start_soon(host.nvim.frames.run, host.workspace.persistence.wait_written)
    host.tasks.start_soon(host.early_start.end_if_unused)
    try:
        while True:
            name, args = await waiting.get()
            host.run(name, args)
            host.nvim.buffers.on_verb(args)
            await anyio.lowlevel.checkpoint()  # the task of a verb begins before the next verb
    finally:
        notify(host.observers.on_closing)


def main(agent: EarlyAgent | None = None) -> None:
    """Serve the Neovim that started `python -m acp_nvim` (`lua/acp/base/host/init.lua`).

    `agent` is an agent that is already starting.
    """
    # Agents' messages are many small objects with hardly any cycles. With the default threshold,
    # Python would collect after every 700 objects, which takes a tenth of the time of a flood.
    # `Pace` collects when there is nothing to show.
    gc.set_threshold(100_000, 20, 20)
    # With the default interval, each thread that reads files would delay the loop by 5 ms.
    sys.setswitchinterval(0.0005)
    gc.freeze()
    gc.enable()
    bridge = Bridge.stdio()
    root, deliver = core(bridge, agent)
    bridge.run(root, deliver)


class Classic:
    """Host that runs in the shared process of classic remote plugins (`rplugin/python3/`)."""

    def __init__(self, nvim: Any) -> None:
        self._nvim = nvim
        self._root: asyncio.Task[None] | None = None
        self._deliver: Verb = lambda name, args: None

    def start(self) -> int:
        """Start the core unless it is running. Return the channel that receives its verbs."""
        if self._root is None or self._root.done():
            bridge = Bridge.within(self._nvim)
            root, self._deliver = core(bridge)
            self._root = bridge.loop.create_task(root)
            self._root.add_done_callback(lambda _: _notify_exit(bridge))
            Thread(target=_end_with_main, daemon=True).start()
        return int(self._nvim.channel_id)

    def deliver(self, name: str, args: Any) -> None:
        """Queue a verb without waiting, because other plugins share this process.

        The verb `leave` ends the core.
        """
        if name == "leave" and self._root is not None:
            self._root.cancel()
            return
        self._deliver(name, args if isinstance(args, dict) else {})


def _notify_exit(bridge: Bridge) -> None:
    """Notify Neovim, which waits for this before it exits."""
    bridge.notify("nvim_exec_lua", "require('acp.base.host').on_exit()", [])


def _end_with_main() -> None:
    """Exit as soon as the main thread ends.

    If Neovim is killed, the host ends, but Python would wait forever for threads that read files.
    """
    main_thread().join()
    os._exit(0)
