"""Asynchronous Lua functions as awaitables (`lua/acp/base/host/async_calls.lua`)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable
from typing import Any, Protocol

from acp_nvim.nvim.bridge import NvimError

MODULE = "acp.base.host.async_calls"


class CallError(NvimError):
    """Failure of an asynchronous function."""


class Caller(Protocol):
    """Bridge to Neovim."""

    def call(self, module: str, function: str, *args: Any) -> Awaitable[Any]:
        """Run `require(module)[function](...)` in Neovim."""
        ...

    def call_nowait(self, module: str, function: str, *args: Any) -> None:
        """Run the function as `call` does, but don't wait for its result."""
        ...


class AsyncCalls:
    """Calls of asynchronous Lua functions that have not been answered."""

    def __init__(self, bridge: Caller) -> None:
        self._bridge = bridge
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}

    async def call(self, module: str, function: str, *args: Any) -> Any:
        """Run `require(module)[function](reply, ...)` and return the value passed to `reply`.

        Raise CallError if `reply` gets an error. If the caller is cancelled, the Lua function is
        too.
        """
        number = next(self._numbers)
        future = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            await self._bridge.call(MODULE, "begin", number, module, function, *args)
            return await future
        except NvimError as error:
            raise CallError(str(error)) from error
        except asyncio.CancelledError:
            self._bridge.call_nowait(MODULE, "cancel", number)
            raise
        finally:
            del self._open[number]

    def on_reply(self, number: int, value: Any, error: str | None) -> None:
        """Pass a reply to its caller. Ignore it if the call has ended."""
        future = self._open.get(number)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(CallError(error))
