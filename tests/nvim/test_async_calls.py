"""Lua functions that answer the host later."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio.lowlevel
import pytest

from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import NvimError


class RecordingNeovim:
    """Neovim that records calls and never answers by itself."""

    def __init__(self) -> None:
        self.called: list[tuple[Any, ...]] = []
        self.told: list[tuple[Any, ...]] = []
        self.refuses: str | None = None

    async def call(self, *args: Any) -> None:
        self.called.append(args)
        if self.refuses:
            raise NvimError(self.refuses)

    def call_nowait(self, *args: Any) -> None:
        self.told.append(args)


async def begin_call(neovim: RecordingNeovim, calls: AsyncCalls) -> asyncio.Task[Any]:
    """Begin a call that waits for its answer."""
    task = asyncio.create_task(calls.call("acp.x", "f", 1))
    while not neovim.called:
        await anyio.lowlevel.checkpoint()
    return task


async def test_an_answer_goes_to_its_call() -> None:
    neovim = RecordingNeovim()
    calls = AsyncCalls(neovim)
    task = await begin_call(neovim, calls)
    assert neovim.called == [("acp.base.host.async_calls", "begin", 1, "acp.x", "f", 1)]
    calls.on_reply(2, "of another", None)
    calls.on_reply(1, {"a": 1}, None)
    calls.on_reply(1, "twice", None)
    assert await task == {"a": 1}
    calls.on_reply(1, "late", None)


async def test_an_error_is_raised_with_its_message() -> None:
    neovim = RecordingNeovim()
    calls = AsyncCalls(neovim)
    task = await begin_call(neovim, calls)
    calls.on_reply(1, None, "no such server")
    with pytest.raises(NvimError, match="no such server"):
        await task


async def test_a_cancelled_call_is_cancelled_in_neovim() -> None:
    neovim = RecordingNeovim()
    calls = AsyncCalls(neovim)
    task = await begin_call(neovim, calls)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert neovim.told == [("acp.base.host.async_calls", "cancel", 1)]


async def test_a_closing_neovim_refuses() -> None:
    neovim = RecordingNeovim()
    neovim.refuses = "channel closed"
    with pytest.raises(NvimError, match="channel closed"):
        await AsyncCalls(neovim).call("acp.x", "f")
