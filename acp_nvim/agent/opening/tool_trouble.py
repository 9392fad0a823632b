"""Handling of agents that fail because of the editor's tools.

If necessary, a session is opened without the tools. The error of a failed prompt names the option
that disables them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening.session_params import SessionParams
from acp_nvim.patterns import late
from acp_nvim.protocol.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RESOURCE_NOT_FOUND,
    RequestError,
    details,
)
from acp_nvim.protocol.refusals import needs_login, rate_limit
from acp_nvim.session import turns
from acp_nvim.session.session import Session

Ask = Callable[[SessionParams], Awaitable[Any]]

_UNRELATED: Final = (METHOD_NOT_FOUND, REQUEST_CANCELLED, RESOURCE_NOT_FOUND)
_BARE: Final = late(r"(?i)\W*internal( server)? error\W*")
_NAMED: Final = late(r"(?i)\b(mcp|tools?|neovim)\b|nvim_|input_?schema")


async def open_session(
    connection: Connection, session: Session, params: SessionParams, ask: Ask
) -> tuple[Any, SessionParams]:
    """Send a request that opens a session. Return its result and the parameters that worked.

    If the request fails with the editor's server in the list, send it again with another name for
    that server, then without the server. If that works without the server, withdraw the tools and
    warn the user. If both fail too, raise the first error.
    """
    try:
        return await ask(params), params
    except RequestError as error:
        if not params.tools or _is_unrelated(error):
            raise
        first = error
    renamed = params.with_tools_named(connection.tools_names.new_name())
    without_tools = params.without_tools()
    for changed in (renamed, without_tools):
        try:
            result = await ask(changed)
        except RequestError as error:
            if needs_login(error):
                raise
            continue
        if changed is renamed:
            connection.tools_names.stop_sharing()
        else:
            connection.withdraw_tools(session)
            message = wording.TOOLS_REFUSED.format(
                agent=connection.title, reason=_in_one_line(first)
            )
            session.notice("warning", message)
        return result, changed
    raise first


def _is_unrelated(error: RequestError) -> bool:
    """Return whether the tools cannot be the cause of an error."""
    return error.code in _UNRELATED or needs_login(error) or rate_limit(error) is not None


def tools_hint(session: Session, error: Exception, *, is_first: bool) -> Sequence[str]:
    """Return a line about the option `tools` if the tools may have caused a prompt's error.

    This is the case if the error names the tools, or if the first prompt fails without a reason.
    `is_first` is true until the agent has answered a prompt of the session.
    """
    if session.tools is None or not isinstance(error, RequestError):
        return ()
    reason = _in_one_line(error)
    is_bare = error.code == INTERNAL_ERROR and _BARE.fullmatch(reason)
    if _NAMED.search(reason) or (is_bare and is_first and turns.is_without_answer(session)):
        return (wording.TOOLS_MAY_BE_CAUSE.format(agent=session.agent),)
    return ()


def _in_one_line(error: RequestError) -> str:
    return " ".join((str(error), *details(error)))
