"""Requests that open a session at an agent (v1/session-setup).

The session is new or stored, or it is opened again after the agent's process was replaced.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import anyio

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening.origin import Origin
from acp_nvim.agent.opening.session_params import SessionParams
from acp_nvim.agent.serving.session_router import Mute, SessionRouter
from acp_nvim.agent.wire.calls import OnResponse
from acp_nvim.protocol.errors import RESOURCE_NOT_FOUND, RemoteProtocolError, RequestError
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Heading, Line

if TYPE_CHECKING:
    from acp_nvim.agent.opening.fork_points import Arguments

IfUnanswered = Callable[[str], AbstractContextManager[None]]
"""Context that warns the user if the request with that name is answered late."""

QUIET_S: Final = 0.25
"""Time without an update after which a replay counts as complete, in seconds.

Some agents answer `session/load` first and replay afterwards.
"""
REPLAY_S: Final = 5.0
"""Maximum seconds to wait for such a late replay to finish."""

_RESUMED: Final = (
    wording.LOST_RESUMED,
    wording.RESTARTED_RESUMED,
    wording.RECONNECTED_RESUMED,
)
_LOADED: Final = (wording.LOST_LOADED, wording.RESTARTED_LOADED, wording.RECONNECTED_LOADED)
"""Texts for a session that was lost, or whose agent was restarted or reconnected."""


class Opening:
    """Attempt to open a session at a connection.

    Its methods return the agent's result. They raise `RequestError` if the agent refuses.
    """

    def __init__(
        self,
        session: Session,
        origin: Origin,
        connection: Connection,
        params: SessionParams,
        if_unanswered: IfUnanswered,
    ) -> None:
        self.params = params
        """Parameters of the last request. The editor's tools may be renamed or left out."""
        self.handover = ""
        """Earlier conversation to send to an agent that does not have it."""
        self.shows_entries = False
        """Whether the chat shows the known entries, even if the opening fails afterwards."""
        self._session = session
        self._origin = origin
        self._connection = connection
        self._agent = connection.agent
        self._router = connection.router
        self._if_unanswered = if_unanswered

    @property
    def _directories(self) -> list[str]:
        """Return the additional directories that exist where the agent runs."""
        return list(filter(self._connection.covers, self._session.directories))

    # -- the first time ---------------------------------------------------------------------------

    async def open_first(self) -> Any:
        """Open the session as its origin requires, even if an earlier attempt has failed."""
        if self._origin.kind in ("load", "resume"):
            from acp_nvim.session import replays

            replays.drop(self._session)
        match self._origin.kind:
            case "load":
                result = await self._load(self._origin.id)
                await self._show_known_entries()
                return result
            case "resume":
                result = await self._resume_stored()
                self._session.notice("info", wording.SESSION_RESUMED)
                return result
            case "fork":
                return await self._fork()
            case "copy":
                return await self._copy()
            case _:
                return await self._new()

    async def _show_known_entries(self) -> None:
        """Show the known entries of a loaded session if its agent replays nothing."""
        entries = () if self._has_replayed() else self._origin.entries()
        if not entries:
            return
        await anyio.sleep(QUIET_S)
        if not self._has_replayed():
            self._session.transcript.append_all(entries)
            self._session.observer.on_change(self._session)

    def _has_replayed(self) -> bool:
        entries = self._session.transcript.entries
        return not all(isinstance(entry, Line | Heading) for entry in entries)

    async def _resume_stored(self) -> Any:
        """Resume a session that was not open here.

        If its entries are known, show them and drop the replay that some agents still send.
        """
        session, entries = self._session, self._origin.entries()
        if not entries:
            return await self._resume(self._origin.id)
        async with mute_replay(self._router, self._origin.id) as mute:
            result = await self._resume(self._origin.id, mute.on_answer)
            session.transcript.append_all(entries)
            session.observer.on_change(session)
        return result

    async def _copy(self) -> Any:
        """Open a new session that shows the earlier conversation. The first prompt includes it."""
        self._session.transcript.append_all(self._origin.entries())
        self.shows_entries = True
        self._hand_over()
        result = await self._new()
        if self.handover:
            text = wording.NEW_SESSION_WITH_CONVERSATION.format(agent=self._connection.title)
            self._session.notice("info", text)
        return result

    async def _fork(self) -> Any:
        """Fork the session, at a point if there is one.

        If the agent cannot fork there or refuses, open a new session that receives the earlier
        conversation.
        """
        from acp_nvim.agent.opening import fork_points

        point = self._origin.point
        if point is None:
            return await self._fork_at({})
        if not (arguments := fork_points.arguments(self._agent, point)):
            return await self._copy()
        try:
            return await self._fork_at(arguments)
        except RequestError as error:
            if needs_login(error):
                raise
            self._connection.warnings.count("session/fork refused", str(error))
            return await self._copy()

    async def _fork_at(self, arguments: Arguments) -> Any:
        """Fork the agent's session, and show the conversation so far."""
        session, router = self._session, self._router
        with self._if_unanswered("session/fork"):
            result = await self._ask(
                lambda params: self._agent.fork_session(
                    self._origin.id, session.cwd, params, self._directories, **arguments
                )
            )
        session_id = result.session_id
        has_replay = session.replaying = router.has_replay(session_id)
        router.adopt(session_id, session)
        session.replaying = False
        entries = () if has_replay else self._origin.entries()
        session.transcript.append_all(entries)
        async with mute_replay(router, session_id) if entries else nullcontext():
            self._set_id(session_id)
        hidden = "" if has_replay or entries else wording.PART_NOT_SHOWN
        session.notice("info", wording.SESSION_FORKED.format(hidden=hidden))
        return result

    # -- again, at another process of the agent ---------------------------------------------------

    async def open_again(self, lost: str | None, *, hands_over: bool) -> Any:
        """Resume the session, else load it, else open a new one with the reason in the chat.

        `lost` is the end of the line about a session that a running agent has lost, otherwise
        None. With `hands_over`, a new session receives the conversation.
        """
        agent, session_id = self._agent, self._session.id
        self._session.cursors.clear()
        reason = wording.WHY_NO_REOPENING
        for is_able, request, texts in (
            (agent.session_capabilities.resume, self._resume, _RESUMED),
            (agent.capabilities.load_session, self._load, _LOADED),
        ):
            if not (is_able and session_id):
                continue
            try:
                result = await self._reopen(request)
            except (RequestError, RemoteProtocolError) as error:
                reason = _refusal(error)
            else:
                self._report_reopened(lost, texts)
                return result
        return await self._replace(lost, reason, hands_over=hands_over)

    async def _reopen(self, request: Callable[[str, OnResponse], Awaitable[Any]]) -> Any:
        """Open a session whose chat is already shown, and drop the replay.

        If the agent replays the session, all ids remain valid. Otherwise the agent may reuse ids
        for new messages.
        """
        session = self._session
        session.mark_ids()
        async with mute_replay(self._router, session.id) as mute:
            result = await request(session.id, mute.on_answer)
        if mute.dropped:
            session.keep_ids()
        return result

    def _report_reopened(self, lost: str | None, texts: tuple[str, str, str]) -> None:
        title = self._connection.title
        after_loss, after_restart, after_reconnect = texts
        if lost is not None:
            self._session.notice("warning", after_loss.format(agent=title, then=lost))
        else:
            text = after_reconnect if self._connection.spec.is_remote else after_restart
            self._session.notice("info", text.format(agent=title))

    async def _replace(self, lost: str | None, reason: str, *, hands_over: bool) -> Any:
        """Open a new session in the same chat, forget the earlier ids, and show the reason."""
        if hands_over:
            self._hand_over()
        self._session.mark_ids()
        self._session.forget_ids()
        result = await self._new()
        if lost is not None:
            text = wording.LOST_HANDED_OVER if self.handover else wording.LOST_REPLACED
            line = text.format(agent=self._connection.title, then=lost)
        else:
            rest = (
                wording.PART_CONVERSATION_INCLUDED
                if self.handover
                else wording.PART_CONVERSATION_LOST
            )
            line = wording.NEW_SESSION_BECAUSE.format(reason=reason, conversation=rest)
        self._session.notice("warning", line)
        return result

    def _hand_over(self) -> None:
        """Set `handover` to all entries except the prompt with which it is sent."""
        from acp_nvim.session.transcript.transcript_prompt import latest_prompt, transcript_prompt

        session = self._session
        announced = session.announced[1] if session.announced is not None else None
        entries = [entry for entry in session.transcript.entries if entry is not announced]
        running = latest_prompt(entries) if session.in_turn else None
        self.handover = transcript_prompt(entries, before=running)

    # -- requests ---------------------------------------------------------------------------------

    async def _new(self) -> Any:
        session = self._session
        with (
            self._if_unanswered("session/new"),
            self._router.route_when_named(session) as on_response,
        ):
            result = await self._ask(
                lambda params: self._agent.new_session(
                    session.cwd, params, self._directories, on_response
                )
            )
        self._set_id(result.session_id)
        return result

    async def _load(self, session_id: str, on_response: OnResponse | None = None) -> Any:
        def request(params: SessionParams) -> Awaitable[Any]:
            session = self._session
            return self._agent.load_session(
                session_id, session.cwd, params, self._directories, on_response
            )

        return await self._open("session/load", session_id, request, replays=True)

    async def _resume(self, session_id: str, on_response: OnResponse | None = None) -> Any:
        def request(params: SessionParams) -> Awaitable[Any]:
            session = self._session
            return self._agent.resume_session(
                session_id, session.cwd, params, self._directories, on_response
            )

        return await self._open("session/resume", session_id, request)

    async def _open(
        self,
        method: str,
        session_id: str,
        request: Callable[[SessionParams], Awaitable[Any]],
        *,
        replays: bool = False,
    ) -> Any:
        """Open an existing session. Route its id first, because a replay precedes the answer.

        Stop routing the id if the request fails.
        """
        session = self._session
        session.replaying = replays
        self._router.adopt(session_id, session)
        try:
            with self._if_unanswered(method):
                result = await self._ask(request)
        except BaseException:
            self._connection.client.forget(session)
            raise
        finally:
            session.replaying = False
        self._set_id(session_id)
        return result

    async def _ask(self, request: Callable[[SessionParams], Awaitable[Any]]) -> Any:
        """Send a request. If it fails, retry with the editor's tools renamed, then without them.

        Store the parameters that worked in `params`.
        """
        from acp_nvim.agent.opening.tool_trouble import open_session

        result, self.params = await open_session(
            self._connection, self._session, self.params, request
        )
        return result

    def _set_id(self, session_id: str) -> None:
        """Set the session's id. Refuse an empty one: such a session could not be cancelled."""
        session = self._session
        if not session_id:
            raise RemoteProtocolError("result.sessionId: empty")
        session.id = session_id
        self._router.adopt(session_id, session)
        session.change("id", "title")
        session.event("AcpSession", id=session_id)


@asynccontextmanager
async def mute_replay(router: SessionRouter, session_id: str) -> AsyncIterator[Mute]:
    """Drop the replay of a session, whether it arrives during the opening request or after it."""
    mute = router.mute(session_id)
    try:
        yield mute
        with anyio.move_on_after(REPLAY_S):
            before = -1
            while before != mute.dropped:
                before = mute.dropped
                await anyio.sleep(QUIET_S)
    finally:
        router.unmute(session_id)


def _refusal(error: RequestError | RemoteProtocolError) -> str:
    """Return why a session could not be reopened. Re-raise an error that demands a login."""
    if needs_login(error):
        raise error
    if isinstance(error, RequestError) and error.code == RESOURCE_NOT_FOUND:
        return wording.WHY_SESSION_UNKNOWN
    return wording.WHY_NOT_REOPENED.format(error=error)
