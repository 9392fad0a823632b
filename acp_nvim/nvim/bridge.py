"""Requests to Neovim as futures, over the callbacks of pynvim's `AsyncSession`.

pynvim's public `Nvim` object runs handlers in greenlets, which asyncio tasks cannot enter.
Therefore this module uses its internals. No other module does.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from pynvim.msgpack_rpc.async_session import AsyncSession
from pynvim.msgpack_rpc.event_loop import EventLoop
from pynvim.msgpack_rpc.msgpack_stream import MsgpackStream

from acp_nvim.agent.transport.stream import CHUNK_BYTES

Verb = Callable[[str, dict[str, Any]], None]

_CALL = "local m, f = ... return require(m)[f](select(3, ...))"


class NvimError(Exception):
    """Error response from Neovim. The message is its first line."""


class Bridge:
    """Connection to Neovim: requests as futures, notifications as calls of one function."""

    def __init__(self, session: AsyncSession) -> None:
        """Wrap a session whose loop is running or will be."""
        self._session = session
        self.loop: asyncio.AbstractEventLoop = session.loop._loop
        self.is_closed = False
        self._unanswered: set[asyncio.Future[Any]] = set()

    @classmethod
    def stdio(cls) -> Bridge:
        """Connect to the Neovim that started this process with `jobstart({rpc = true})`."""
        session = AsyncSession(MsgpackStream(EventLoop("stdio")))
        for transport in session.loop._to_close:  # as `_Pipes` in `agent/transport` does for agents
            transport.max_size = CHUNK_BYTES
        return cls(session)

    @classmethod
    def within(cls, nvim: Any) -> Bridge:
        """Share the connection of a classic remote-plugin host, whose loop is running."""
        return cls(nvim._session._async_session)

    def request(self, method: str, *args: Any) -> asyncio.Future[Any]:
        """Send an API request. The future gets the result or an `NvimError`.

        The future is cancelled when Neovim has exited.
        """
        future: asyncio.Future[Any] = self.loop.create_future()
        if self.is_closed:
            future.cancel()
            return future
        self._unanswered.add(future)

        def on_answer(error: Any, value: Any = None) -> None:
            self._unanswered.discard(future)
            if future.done():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(NvimError(_first_line(error)))

        try:
            self._session.request(method, args, on_answer)
        except (OverflowError, TypeError, ValueError) as error:  # not representable in msgpack
            self._unanswered.discard(future)
            future.set_exception(NvimError(f"{method}: {error}"))
        return future

    def call(self, module: str, function: str, *args: Any) -> asyncio.Future[Any]:
        """Run `require(module)[function](...)` in Neovim, in one round trip."""
        return self.request("nvim_exec_lua", _CALL, [module, function, *args])

    def call_nowait(self, module: str, function: str, *args: Any) -> None:
        """Run the function as `call` does, but don't wait for its result."""
        self.notify("nvim_exec_lua", _CALL, [module, function, *args])

    def notify(self, method: str, *args: Any) -> None:
        """Send an API request, but don't wait for its result."""
        if not self.is_closed:
            self._session.notify(method, args)

    def run(self, main: Coroutine[Any, Any, None], on_verb: Verb) -> None:
        """Run the loop with `main` as its root task until Neovim closes the pipe.

        Then `main` is cancelled and awaited, unless Neovim kills this process first.
        """
        root = self.loop.create_task(main)
        root.add_done_callback(lambda _: self._session.stop())
        self.request("nvim_set_client_info", "acp", {}, "msgpack-rpc", {}, {})
        try:
            self._session.run(_refuse_request, lambda name, args: _deliver(on_verb, name, args))
        except (EOFError, OSError):
            pass  # Neovim closed the pipe
        except Exception as error:
            # Neovim also sends SIGTERM to its jobs. If that arrives first, pynvim raises this.
            if type(error) is not Exception:
                raise
        self.is_closed = True
        self._finish(root)

    def _finish(self, root: asyncio.Task[None]) -> None:
        """Cancel the root task and wait for it.

        Tasks that are shielded from the cancellation may wait for answers that cannot come, so all
        requests are cancelled too.

        The waiting task must also finish: anyio then ends its worker threads, and Python waits for
        those on exit. pynvim may stop the loop before that, so the loop is restarted.
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        root.cancel()
        for future in self._unanswered:
            future.cancel()
        ended = self.loop.create_task(_wait_ended(root))
        while not ended.done():
            try:
                self.loop.run_until_complete(ended)
            except RuntimeError:  # "Event loop stopped before Future completed."
                continue
        if not root.cancelled() and (error := root.exception()) is not None:
            raise error


async def _wait_ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


def _first_line(error: Any) -> str:
    """Return the first line of the message in `[type, message]`, which may contain a traceback."""
    text = error[1] if isinstance(error, (list, tuple)) and len(error) > 1 else error
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return str(text).split("\n", 1)[0]


def _deliver(on_verb: Verb, name: str, args: list[Any]) -> None:
    """Pass the arguments `{verb, table}` of a notification `acp` to `on_verb`. Ignore others."""
    if name == "acp" and args:
        table = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
        on_verb(args[0], table)


def _refuse_request(name: str, args: list[Any], response: Any) -> None:
    response.send(f"acp.nvim has no request named {name}", error=True)
