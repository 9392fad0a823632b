"""Requests and notifications beyond the protocol.

Their names start with `_`, and the user's handlers answer them (v1/extensibility).
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Container
from typing import Any

import anyio
import msgspec
from msgspec import UNSET

from acp_nvim.agent.wire.endpoint import IncomingCall
from acp_nvim.protocol.errors import INTERNAL_ERROR, RequestError

Context = dict[str, Any]
"""`{agent, method, session, request}`. `session` is a number, or None if the params name none."""
Ask = Callable[[int, Any, Context], Awaitable[Any]]
"""Function that calls the user's handler.

The handler returns `{result}`, `{error: {code, message, data}}` or `{later: true}`.
"""
Notify = Callable[[Any, Context], None]


async def _no_handler(number: int, params: Any, context: Context) -> Any:
    raise RequestError(INTERNAL_ERROR, f"no handler for {context['method']}")


class Extensions:
    """The user's handlers by method, for all agents."""

    def __init__(
        self,
        names: Callable[[], Container[str]] = tuple,
        ask: Ask = _no_handler,
        notify: Notify = lambda _, __: None,
    ) -> None:
        """`names` returns the methods that have a handler now."""
        self._names = names
        self._ask = ask
        self._notify = notify
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[anyio.Event, list[Any]]] = {}
        """Event and answer of each request whose handler has not answered yet, by number."""

    def has_handler(self, method: str) -> bool:
        return method.startswith("_") and method in self._names()

    def notify(self, method: str, params: msgspec.Raw, agent: str, session: int | None) -> None:
        context = {"agent": agent, "method": method, "session": session, "request": False}
        self._notify(_decode_params(params), context)

    async def request(
        self, method: str, params: msgspec.Raw, agent: str, session: int | None, call: IncomingCall
    ) -> Any:
        """Return a handler's result, without a timeout.

        Raise `RequestError` if the handler refuses or fails.
        """
        context = {"agent": agent, "method": method, "session": session, "request": True}
        number = next(self._numbers)
        event, answers = self._open[number] = anyio.Event(), []
        try:
            answer = await self._ask(number, _decode_params(params), context)
            if isinstance(answer, dict) and answer.get("later"):
                await event.wait()
                answer = answers[0]
        finally:
            del self._open[number]
        return _result(answer)

    def reply(self, number: int, answer: Any) -> None:
        """Answer a request whose handler returned `later`. Ignore a request that was cancelled."""
        event, answers = self._open.get(number, (anyio.Event(), []))
        if not answers:
            answers.append(answer)
            event.set()


def session_of(params: msgspec.Raw) -> str | None:
    """Return the session id in the params of an extension, if they have one."""
    value = _decode_params(params)
    session_id = value.get("sessionId") if isinstance(value, dict) else None
    return session_id if isinstance(session_id, str) else None


def _decode_params(params: msgspec.Raw) -> Any:
    return msgspec.json.decode(params) if bytes(params) else None


def _result(answer: Any) -> Any:
    if not isinstance(answer, dict):
        raise RequestError(INTERNAL_ERROR, "the handler's answer cannot be read")
    error = answer.get("error")
    if error is None:
        return answer.get("result", {})
    raise RequestError(
        int(error.get("code", INTERNAL_ERROR)),
        str(error.get("message", "refused")),
        UNSET if error.get("data") is None else error["data"],
    )
