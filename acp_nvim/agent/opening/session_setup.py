"""Opening a session at an agent: a new one, a stored one, or again after the agent's process was
replaced (v1/session-setup).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import anyio
from msgspec import Struct, field, structs

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening import initial_options
from acp_nvim.agent.opening.initial_options import InitialOptions
from acp_nvim.agent.opening.mcp import Fate
from acp_nvim.agent.opening.session_params import SessionParams
from acp_nvim.agent.wire.calls import OnResponse
from acp_nvim.protocol.errors import RESOURCE_NOT_FOUND, RemoteProtocolError, RequestError
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.session import agent_work, options
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry, Heading, Line

Way = Literal["new", "load", "resume", "fork", "retold", "again"]


class Branch(Struct, frozen=True):
    """Rewind of session `n`, by the host's number. `files` is true if files were restored with
    it.
    """

    n: int
    files: bool


class Origin(Struct, frozen=True):
    """Origin of a session.

    `id` is the agent's id of the existing session. `again` means that it was open in an earlier
    process of the host, with the options `chosen`. `retold` is a new session that receives the
    earlier conversation.
    """

    way: Way = "new"
    id: str = ""
    chosen: InitialOptions = field(default_factory=InitialOptions)
    before: Callable[[], Sequence[Entry]] = tuple
    """Return the known entries of the session."""
    point: str | None = None
    """For a fork, the last agent message in it."""
    branch: Branch | None = None
    tells: bool = False
    """For `again`, whether a new session in its place receives the earlier conversation."""


NEW = Origin()


Watched = Callable[[str], AbstractContextManager[None]]
"""Context manager around a request, by its name. It warns the user if the answer does not come."""


_RESUMED = (wording.LOST_RESUMED, wording.RESTARTED_RESUMED, wording.RECONNECTED_RESUMED)
_LOADED = (wording.LOST_LOADED, wording.RESTARTED_LOADED, wording.RECONNECTED_LOADED)
"""Texts for a session that the agent had lost, whose agent was restarted, or was reconnected."""


class SessionSetup:
    """Opening of one session: first as its origin demands, later by the best method that the
    agent supports.
    """

    def __init__(self, session: Session, origin: Origin, watched: Watched) -> None:
        self.session = session
        self._watched = watched
        self.opened = origin.way == "again"
        """Whether the session has been open, in this process of the host or an earlier one."""
        self._ran = False
        """Whether it has been open in this process, which then knows its options."""
        self.handover = ""
        """Conversation so far, for an agent that lacks it.

        It is sent with the next prompt that accepts more text.
        """
        self._origin = origin
        self._params = SessionParams()
        self._first_choice = options.in_force(session)
        """The options that the agent's process gave the session at first."""
        self.lost = False
        """Whether the agent has lost the session, which must be opened again."""
        self._again_words = ""
        self._connection: Connection | None = None
        """The connection at which it was last opened."""

    @property
    def replays(self) -> bool:
        """Return whether a replay of the session is still to come."""
        return not self.opened and self._origin.way == "load"

    @property
    def origin_id(self) -> str:
        """Return the agent's id of the session that this one continues, or an empty text."""
        return self._origin.id

    @property
    def servers(self) -> Sequence[Fate]:
        """Return the outcome for each MCP server at the last opening."""
        return self._params.fates

    @property
    def is_others(self) -> bool:
        """Return whether it is opened from an agent's session that is not open here yet."""
        return not self.opened and self._origin is not NEW

    def lose(self, then: str = "") -> None:
        """Mark the session as lost by a running agent. ``then`` ends the line that reports it."""
        self.lost, self._again_words = True, then

    async def run(self, connection: Connection) -> None:
        """Open the session. Raise `RequestError` if the agent refuses, including -32000.

        If a session that was open before is refused, a new one replaces it, with the reason in the
        chat.
        """
        session = self.session
        self.lost = (
            self.lost and connection is self._connection
        )  # if the connection is new, the process has ended
        self._connection = connection
        session.status = "starting"
        session.change("status")
        session.transcript.speaker = connection.title
        initial = self._initial_options(connection)
        self._params = _starting(connection, connection.session_params(session), initial)
        for note in self._params.notes if not self.opened else ():
            session.notice("info", note)
        for remark in self._params.remarks if not self.lost else ():
            session.notice("warning", remark)
        before = options.in_force(session)
        result = await (self._again(connection) if self.opened else self._first(connection))
        connection.ask(session, self._params)
        if self._ran:
            options.begin_again(session, result, before, self._first_choice)
        options.take(session, result)
        self.opened, self._ran, self.lost = True, True, False
        self._first_choice = options.in_force(session)
        with self._watched("session/set_mode or session/set_config_option"):
            problems = await initial_options.apply(connection.agent, session, initial)
        for problem in problems:
            session.notice("warning", problem)
        agent_work.opened(session)

    def _initial_options(self, connection: Connection) -> InitialOptions:
        """Return the choices made in the session, or else the configured defaults."""
        spec, session = connection.spec, self.session
        if not self.opened:
            return InitialOptions(spec.mode, dict(spec.options), named=True)
        return initial_options.chosen(session) if self._ran else self._origin.chosen

    async def _asked(
        self, connection: Connection, ask: Callable[[SessionParams], Awaitable[Any]]
    ) -> Any:
        """Send a request that opens the session. Retry without the editor's tools if it fails."""
        from acp_nvim.agent.opening.tool_trouble import open_session

        result, self._params = await open_session(connection, self.session, self._params, ask)
        return result

    # -- the first time ---------------------------------------------------------------------------

    async def _first(self, connection: Connection) -> Any:
        match self._origin.way:
            case "load":
                result = await self._load(connection, self._origin.id)
                await self._recall()
                return result
            case "resume":
                result = await self._resume_first(connection)
                self.session.notice("info", wording.SESSION_RESUMED)
                return result
            case "fork":
                return await self._fork(connection)
            case "retold":
                return await self._retold(connection)
            case _:
                return await self._new(connection)

    async def _new(self, connection: Connection) -> Any:
        session = self.session
        agent, directories = connection.agent, session.directories
        with self._watched("session/new"), connection.router.naming(session) as named:
            result = await self._asked(
                connection, lambda it: agent.new_session(session.cwd, it, directories, named)
            )
        self._named(connection, result.session_id)
        return result

    async def _retold(self, connection: Connection) -> Any:
        """Open a new session that shows the earlier conversation. The first prompt carries it."""
        self.session.transcript.inherit(self._origin.before())
        self._hand_over()
        result = await self._new(connection)
        if self.handover:
            self.session.notice("info", wording.SESSION_RETOLD.format(agent=connection.title))
        return result

    def _hand_over(self) -> None:
        """Set `handover` to all entries but the prompt that it is sent with."""
        from acp_nvim.session.transcript.transcript_prompt import latest_prompt, transcript_prompt

        session = self.session
        coming = session.announced[1] if session.announced is not None else None
        entries = [entry for entry in session.transcript.entries if entry is not coming]
        running = latest_prompt(entries) if session.in_turn else None
        self.handover = transcript_prompt(entries, before=running)

    def handed_over(self) -> None:
        """Note that the agent has received the earlier conversation."""
        self.handover = ""

    async def _fork(self, connection: Connection) -> Any:
        """Fork the session, at a message if there is one.

        If the agent cannot fork there or refuses, a new session receives the earlier conversation.
        """
        from acp_nvim.agent.opening import fork_points

        if self._origin.point is not None and not fork_points.offered(connection.agent):
            return await self._retold(connection)
        try:
            return await self._forked(connection)
        except RequestError as error:
            if self._origin.point is None or needs_login(error):
                raise
            connection.warnings.count("session/fork refused", str(error))
            return await self._retold(connection)

    async def _forked(self, connection: Connection) -> Any:
        from acp_nvim.agent.opening import fork_points, replays

        session, origin = self.session, self._origin
        at = fork_points.meta(connection.agent, origin.point) if origin.point else {}
        with self._watched("session/fork"):
            result = await self._asked(
                connection,
                lambda it: connection.agent.fork_session(
                    origin.id, session.cwd, it, session.directories, at
                ),
            )
        session_id, router = result.session_id, connection.router
        told = session.replaying = router.tells_the_past(session_id)
        router.adopt(session_id, session)
        session.replaying = False
        before = () if told else origin.before()
        session.transcript.inherit(before)
        async with replays.muted(router, session_id) if before else nullcontext():
            self._named(connection, session_id)
        where = "" if told or before else wording.PART_NOT_SHOWN
        session.notice("info", wording.SESSION_FORKED.format(hidden=where))
        return result

    async def _load(
        self, connection: Connection, session_id: str, on_response: OnResponse | None = None
    ) -> Any:
        """Load a session.

        Its replay comes before the answer, so its id is routed before the request.
        """
        session = self.session
        session.replaying = True
        connection.router.adopt(session_id, session)
        try:
            with self._watched("session/load"):
                result = await self._asked(
                    connection,
                    lambda it: connection.agent.load_session(
                        session_id, session.cwd, it, session.directories, on_response
                    ),
                )
        except BaseException:
            connection.client.forget(session)
            raise
        finally:
            session.replaying = False
        self._named(connection, session_id)
        return result

    async def _resume(
        self, connection: Connection, session_id: str, on_response: OnResponse | None = None
    ) -> Any:
        session = self.session
        connection.router.adopt(session_id, session)
        try:
            with self._watched("session/resume"):
                result = await self._asked(
                    connection,
                    lambda it: connection.agent.resume_session(
                        session_id, session.cwd, it, session.directories, on_response
                    ),
                )
        except BaseException:
            connection.client.forget(session)
            raise
        self._named(connection, session_id)
        return result

    async def _resume_first(self, connection: Connection) -> Any:
        """Resume a session that was not open here.

        If its entries are known they are shown, and a replay, which some agents still send, is
        dropped.
        """
        from acp_nvim.agent.opening import replays

        session, before = self.session, self._origin.before()
        if not before:
            return await self._resume(connection, self._origin.id)
        async with replays.muted(connection.router, self._origin.id) as mute:
            result = await self._resume(connection, self._origin.id, mute.answered)
            session.transcript.inherit(before)
            session.observer.changed(session)
        return result

    async def _recall(self) -> None:
        """Show the known entries of a loaded session if its agent replayed nothing."""
        before = () if self._is_told() else self._origin.before()
        if not before:
            return
        from acp_nvim.agent.opening.replays import QUIET_S

        await anyio.sleep(QUIET_S)
        if not self._is_told():
            self.session.transcript.inherit(before)
            self.session.observer.changed(self.session)

    def _is_told(self) -> bool:
        entries = self.session.transcript.entries
        return not all(isinstance(entry, Line | Heading) for entry in entries)

    def _named(self, connection: Connection, session_id: str) -> None:
        """Set the session's id. Refuse an empty one: such a session could not be cancelled."""
        session = self.session
        if not session_id:
            raise RemoteProtocolError("result.sessionId: empty")
        session.id = session_id
        connection.router.adopt(session_id, session)
        session.change("id", "title")
        session.event("AcpSession", id=session_id)

    # -- again, at another process of the agent ---------------------------------------------------

    async def _again(self, connection: Connection) -> Any:
        """Resume the session, else load it, else open a new one."""
        agent = connection.agent
        reason = wording.WHY_NO_REOPENING
        try:
            if agent.session_capabilities.resume and self.session.id:
                result = await self._resume_again(connection)
                self._say_reopened(connection, _RESUMED)
                return result
        except (RequestError, RemoteProtocolError) as error:
            reason = _refusal(error)
        try:
            if agent.capabilities.load_session and self.session.id:
                result = await self._reload(connection)
                self._say_reopened(connection, _LOADED)
                return result
        except (RequestError, RemoteProtocolError) as error:
            reason = _refusal(error)
        return await self._fresh(connection, reason)

    def _say_reopened(self, connection: Connection, texts: tuple[str, str, str]) -> None:
        lost, started, connected = texts
        if self.lost:
            said = lost.format(agent=connection.title, then=self._again_words)
            self.session.notice("warning", said)
        else:
            words = connected if connection.spec.url else started
            self.session.notice("info", words.format(agent=connection.title))

    async def _resume_again(self, connection: Connection) -> Any:
        return await self._reopen(connection, self._resume)

    async def _reload(self, connection: Connection) -> Any:
        return await self._reopen(connection, self._load)

    async def _reopen(
        self,
        connection: Connection,
        request: Callable[[Connection, str, OnResponse], Awaitable[Any]],
    ) -> Any:
        """Open a session whose chat is shown. Drop a replay; an agent that sends one keeps its
        ids.
        """
        from acp_nvim.agent.opening import replays

        session, router = self.session, connection.router
        session.mark_ids()
        async with replays.muted(router, session.id) as mute:
            result = await request(connection, session.id, mute.answered)
        if mute.dropped:
            session.keep_ids()
        return result

    async def _fresh(self, connection: Connection, reason: str) -> Any:
        """Open a new session in the same chat.

        It receives the conversation if the agent lost the session, or if the user continues an old
        one. After the end of a process they may not want to send all of it again.
        """
        if self.lost or (self._origin.tells and not self._ran):
            self._hand_over()
        self.session.mark_ids()
        self.session.forget_ids()
        result = await self._new(connection)
        if self.lost:
            said = wording.LOST_TOLD if self.handover else wording.LOST_ANEW
            words = said.format(agent=connection.title, then=self._again_words)
        else:
            told = wording.PART_RETOLD if self.handover else wording.PART_FORGOTTEN
            words = wording.SESSION_ANEW.format(reason=reason, told=told)
        self.session.notice("warning", words)
        return result


def _starting(
    connection: Connection, params: SessionParams, initial: InitialOptions
) -> SessionParams:
    """Add the initial option values for an agent that supports them."""
    if not connection.agent.session_capabilities.options:
        return params
    return structs.replace(params, options=initial.options)


def _refusal(error: RequestError | RemoteProtocolError) -> str:
    """Return why the session could not be opened again. Raise the error if it asks for a login."""
    code = error.code if isinstance(error, RequestError) else None
    if needs_login(error):
        raise error
    if code == RESOURCE_NOT_FOUND:
        return wording.WHY_SESSION_UNKNOWN
    return wording.WHY_NOT_REOPENED.format(error=error)
