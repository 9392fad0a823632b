"""One run of an agent: process, endpoint, handshake, end. A connection is disposable; a new one
replaces it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import msgspec
from msgspec import Struct, field

from acp_nvim import wording
from acp_nvim.agent import auth, session_params
from acp_nvim.agent.agent import Agent, OtherVersion, supported_versions
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import ProgramMissing
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.client import Client
from acp_nvim.agent.connection_options import (
    attempts_at,
    client_capabilities,
    level,
    runs_here,
    secrets,
    shown_url,
)
from acp_nvim.agent.consent import Consent
from acp_nvim.agent.elicitations import Elicitations
from acp_nvim.agent.extensions import Extensions
from acp_nvim.agent.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.servers import FileServer, NoTools, OwnTools
from acp_nvim.agent.session_params import SessionParams
from acp_nvim.agent.session_router import ReportLimit, SessionRouter
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.string_version import StringVersion
from acp_nvim.agent.terminals import AgentTerminals
from acp_nvim.agent.transport.base import (
    AgentTransport,
    OpenTransport,
    ReachAgent,
    TransportError,
)
from acp_nvim.agent.transport.reach import Reach
from acp_nvim.agent.wire.endpoint import ConnectionClosed, Endpoint
from acp_nvim.agent.wire.ports import FlowControl
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.protocol import schema
from acp_nvim.protocol.dialects import Dialect
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.protocol.jsonrpc import Peer
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

if TYPE_CHECKING:
    from acp_nvim.protocol.v2.translation import Version2

EXIT_S = 0.25
"""How long the end of the output waits for the exit that explains it, in seconds."""

Status = Literal["starting", "ready", "auth_required", "exited", "failed"]


class Surroundings(Struct):
    """The ports and options that all connections of a host share."""

    settings: Callable[[], Settings]
    files: FileServer
    reaper: Reaper
    transport: OpenTransport
    tasks: Tasks
    flow: FlowControl
    changed: Callable[[Connection], None]
    ended: Callable[[Connection], None]
    authenticated: Callable[[Connection], None]
    cwd: Callable[[], str]
    env: Callable[[], Mapping[str, str]]
    reach: ReachAgent = field(default_factory=Reach)
    extensions: Extensions = field(default_factory=Extensions)
    consent: Consent = field(default_factory=Consent)
    tools: OwnTools = field(default_factory=NoTools)
    ask_unscoped: Callable[[Decision], None] = lambda decision: None
    new_child: Callable[[Session, str], Session] | None = None
    report_limit: ReportLimit = lambda limit, text, session: None


class Connection:
    """An agent that is starting, running or gone."""

    def __init__(
        self,
        name: str,
        spec: AgentSettings,
        around: Surroundings,
        pauses: Iterator[float] | None = None,
    ) -> None:
        """Nothing is started yet. ``pauses``, in seconds, come before attempts to connect again."""
        self.name = name
        self.spec = spec
        self.status: Status = "starting"
        self.error: str | None = None
        self.exit: Exit | None = None
        self.stopping = False
        self.warnings = ProtocolWarnings()
        log = around.settings().log
        self.traffic = Traffic(log.bytes, level(log.level), secrets(around.env(), spec))
        self.auth: schema.AuthStatusResponse | None = None
        """The state of the login, from agents that tell it (rfds/get-auth-state)."""
        self.terminals = AgentTerminals(name, around.settings, around.reaper, self._terminal_env)
        self.translation: Dialect | Version2 = Dialect()
        """What the agent speaks, learned from its messages."""
        self.router = SessionRouter(
            around.settings,
            self.warnings,
            self._odd,
            around.new_child,
            self._limit_exceeded,
        )
        self.client = self._new_client(around)
        self._transport: AgentTransport | None = None
        self._around = around
        self._peer = Peer(around.settings().limits.message_bytes, reads_updates=True)
        self._ready = anyio.Event()
        self._ended = anyio.Event()
        self._endpoint: Endpoint | None = None
        self._agent: Agent | None = None
        self._authenticating = anyio.Lock()
        self._configured: bool | None = None
        self._closed_output = False
        self._version = 1
        """The version that the agent is asked for."""
        self._again: int | None = None
        """The version in which it has to be started again."""
        self._strings = StringVersion()
        self._attempts = attempts_at(spec, pauses)
        self.up_since: float | None = None
        """When the handshake was over, on the monotonic clock."""

    def _new_client(self, around: Surroundings) -> Client:
        return Client(
            self.name,
            around.settings,
            self.router,
            around.files,
            self.terminals,
            self.warnings,
            elicitations=Elicitations(
                lambda: self.title, lambda: self._endpoint, around.ask_unscoped
            ),
            extensions=around.extensions,
            report_limit=self._limit_exceeded,
            read=self._read,
            on_auth_status=self._auth_status,
            on_mcp_message=lambda request: around.tools.message(request, self._tell_mcp),
        )

    @property
    def agent(self) -> Agent:
        """Outgoing calls; there once the process runs."""
        assert self._agent is not None
        return self._agent

    @property
    def cwd(self) -> str:
        """Where the process runs, a login in a terminal too."""
        return str(Path(self.spec.cwd).expanduser()) if self.spec.cwd else self._around.cwd()

    def _terminal_env(self) -> dict[str, str]:
        """The environment of its terminals, with the agent's mark: no daemon stays when the agent
        ends.
        """
        inherited = self._transport.inherited if self._transport is not None else {}
        return {**self._around.env(), **self.spec.env, **inherited}

    def session_params(self, session: Session) -> SessionParams:
        """Return the parameters of a session that is opened; their secrets stay out of the log."""
        settings, around = self._around.settings(), self._around
        env = {**around.env(), **self.spec.env}
        wanted = settings.tools if self.spec.tools is None else self.spec.tools
        capabilities = self.agent.capabilities.mcp_capabilities or schema.McpCapabilities()
        way = session_params.own_way(capabilities, over_http=settings.tools_http)
        starts = self.agent.starts_servers and runs_here(self.spec)
        reachable = way != "relay" or starts
        found = session_params.of(
            settings,
            self.spec,
            session.cwd,
            self.agent.capabilities,
            env,
            around.consent.said,
            partial(around.tools.offer, session, wanted if reachable else False, way),
            starts_servers=self.agent.starts_servers,
        )
        self.traffic.hide(found.secrets)
        return found

    def _tell_mcp(self, note: schema.MessageMcpNotification) -> None:
        self.agent.tell_mcp(note)

    def ask(self, session: Session, found: SessionParams) -> None:
        """Ask the user about the servers of the project; nothing waits for the answer."""
        for project in found.asks:
            self._around.consent.ask(session, project)

    @property
    def alive(self) -> bool:
        """Whether calls make sense."""
        return self.status in ("starting", "ready", "auth_required") and not self.stopping

    @property
    def title(self) -> str:
        """The agent's name for people."""
        info = self._agent.info if self._agent else None
        return (info and (info.title or info.name)) or self.spec.title or self.name.capitalize()

    def configured(self) -> None:
        """The options have changed: apply those that a running agent can take."""
        settings = self._around.settings()
        self.traffic.configure(level(settings.log.level), settings.log.bytes)
        self._peer.bound(settings.limits.message_bytes)
        if self._transport is not None:
            self._transport.configure(settings.timeouts.kill_s)

    def start(self) -> None:
        """Start in the background; `ready` waits for the outcome."""
        self._around.tasks.start_soon(self._run)

    async def ready(self) -> bool:
        """Wait for the handshake; False when the agent failed to start (`error` says why)."""
        if not self._ready.is_set():  # else there is no turn of the loop to wait for
            await self._ready.wait()
        return self.status in ("ready", "auth_required")

    async def ended(self) -> None:
        """Wait until the process is gone and everybody has been told."""
        await self._ended.wait()

    async def stop(self) -> None:
        """End the process tree and wait until it is gone."""
        await self.end()
        await self._ended.wait()  # also of one that is just being started

    async def end(self) -> None:
        """End the process tree, if it runs; who waits for the connection may not have been told."""
        self.stopping = True
        if self._attempts is not None:
            self._attempts.stop()
        if self._transport is not None:
            await self._transport.stop()

    async def _run(self) -> None:
        try:
            await self._launch()
        except ProgramMissing as error:
            hint = (
                wording.PART_INSTALL.format(command=self.spec.install) if self.spec.install else ""
            )
            self._fail(f"{error}{hint}")
        except TransportError as error:
            await self._not_reached(error)
        except Exception as error:
            self._fail(str(error) or type(error).__name__)
            if self._transport is not None:
                await self._transport.stop()
        finally:
            self._ready.set()
            self._ended.set()

    async def _launch(self) -> None:
        """Serve the agent in the configured version; one that speaks the older one is started
        again: it has read no capabilities in a request of the newer one (v2/migration).
        """
        version: int | None = 2 if self.spec.protocol == 2 else 1
        if self._attempts is not None:
            await self._attempts.first()
        while version is not None:
            try:
                version = await self._serve(version)
            except TransportError as error:
                assert self._attempts is not None
                await self._attempts.another(error, partial(self._tries_again, error))

    def _tries_again(self, why: TransportError, in_s: float) -> None:
        told = wording.NOT_YET_REACHED
        self.error = told.format(agent=self.name, reason=why, seconds=round(in_s, 1))
        self._around.changed(self)

    async def _not_reached(self, error: TransportError) -> None:
        """An agent elsewhere is given up."""
        if self._transport is not None:
            await self._transport.stop()
        if self.stopping:
            self.status = "exited"
            self._gone()
            return
        self._fail(wording.NOT_REACHED.format(agent=self.name, reason=error))
        if self._attempts is not None and self._attempts.are_many:  # it was there before
            self._around.ended(self)

    async def _serve(self, version: int) -> int | None:
        """Run the agent until it ends. Returns the version in which to start it again."""
        self._version, self._again, self.exit = version, None, None
        self.warnings.unread.clear()
        newer = version == 2
        self.translation = _version_2(self.warnings.count) if newer else self._strings.dialect()
        settings = self._around.settings()
        self._peer = Peer(settings.limits.message_bytes, reads_updates=True)
        transport = self._new_transport(settings)
        await (self._attempts.start(transport) if self._attempts else transport.start())
        self._transport = transport
        self._endpoint = endpoint = self._endpoint_over(transport)
        self._agent = Agent(endpoint)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._handshake)
            if self.stopping:  # by the user, while it was being started
                tasks.start_soon(transport.stop)
            await endpoint.run()
            self._may_want_words()
            if transport.exit is None:
                self._closed_output = not self.stopping and self._again is None
                await transport.stop()
            unreached = self._unreached()
            if unreached is None and self._again is None:
                self.exit = transport.exit
                self._gone()
            tasks.cancel_scope.cancel()
        await transport.stop()
        if unreached is not None:
            raise unreached
        return None if self.stopping else self._again

    def _new_transport(self, settings: Settings) -> AgentTransport:
        around, spec = self._around, self.spec
        if self._attempts is not None:
            limit = settings.limits.message_bytes
            return self._attempts.transport_to(
                spec, around.reach, around.env(), limit, self.traffic
            )
        return around.transport(
            spec.command,
            cwd=self.cwd,
            env={**around.env(), **spec.env},
            kill_s=settings.timeouts.kill_s,
            on_stderr=lambda data: self.traffic.add("err", data),
        )

    def _unreached(self) -> TransportError | None:
        """Why there was no handshake with an agent elsewhere; it is reached again, or given up."""
        shaking = self.status == "starting" and self._again is None and not self.stopping
        return self.lost if shaking else None

    @property
    def lost(self) -> TransportError | None:
        """Why an agent elsewhere is not reached any more."""
        return self._transport.lost if self._transport is not None else None

    @property
    def unreached(self) -> str | None:
        """Why an agent elsewhere is not reached yet, and when it is tried again."""
        return self.error if self.status == "starting" else None

    @property
    def returns(self) -> bool:
        """Whether its connection, which was there, broke and is to be taken up again."""
        again = self.lost is not None and self.lost.again
        return again and self.up_since is not None and not self.stopping

    def _endpoint_over(self, transport: AgentTransport) -> Endpoint:
        return Endpoint(
            transport,
            self.client,
            peer=self._peer,
            traffic=self.traffic,
            flow=self._around.flow,
            rest=transport.rest,
            last_words=self._last_words,
            noted=lambda note: self.warnings.count("forgiven", note),
            translation=self.translation,
        )

    async def _last_words(self) -> str:
        """Return why the stream ended: mostly the process has, and its exit follows at once."""
        assert self._transport is not None
        if self._transport.lost is not None:
            return self.exit_summary()
        with anyio.move_on_after(EXIT_S):
            self.exit = await self._transport.wait()
        return (
            self.exit_summary()
            if self.exit
            else wording.AGENT_CLOSED.format(agent=self.name, pipe=self._closed())
        )

    def _closed(self) -> str:
        """The pipe whose end ended the connection, from the agent's point of view."""
        return "input" if self._transport is not None and self._transport.deaf else "output"

    async def _handshake(self) -> None:
        transport = self._transport
        try:
            await self._negotiate()
            if self._again is not None and transport is not None:
                await transport.stop()
                return
        except Exception as error:
            if self.lost is not None or self._may_want_words():
                return
            if self.exit is None and transport is not None and transport.exit is None:
                self._fail(
                    wording.HANDSHAKE_FAILED.format(
                        agent=self.name, reason=str(error) or type(error).__name__
                    )
                )
                await transport.stop()
            return
        self.agent.behaves(
            starts_servers=self.translation.starts_servers,
            takes_more=self.translation.takes_more,
            tells_by_id=self.translation.tells_by_id,
        )
        self.status, self.error = "ready", None
        self.up_since = time.monotonic()
        self.warnings.unread.clear()  # a banner tells nothing of an end
        self._ready.set()
        self._around.changed(self)
        await self.ask_auth_status()

    async def _negotiate(self) -> None:
        """Agree on a version; `_again` is the one in which the agent has to be started again."""
        try:
            starts = self.spec.url is None
            ours = client_capabilities(self._around.settings(), starts=starts)
            await self._strings.initialize(self.agent, ours, self._version, self.translation)
        except OtherVersion as error:
            if self._version == 1 and error.theirs == 2:
                reason = wording.WHY_NEWER_PROTOCOL.format(theirs=2, agent=self.name)
                raise RemoteProtocolError(reason) from error
            if self._version == 1 or error.theirs != 1:
                raise
            self._again = 1
        except RequestError as error:
            supported = supported_versions(error)
            if supported is None:
                raise
            if self._version == 1 or 1 not in supported:
                theirs = ", ".join(map(str, supported)) or "no version"
                raise OtherVersion(theirs) from error
            self._again = 1
        if not isinstance(self.translation, Dialect) and self.translation.old_shape:
            self.warnings.count("version", wording.WHY_VERSION_REPEATED)
            self._again = 1

    def _may_want_words(self) -> bool:
        """Whether the agent is started again, since it has ended at a version that is a number."""
        if self._agent is None or self._endpoint is None or self._endpoint.closed is None:
            return False
        ended = self.status == "starting" and self._agent.protocol is None and not self.stopping
        killed = self.lost is not None or (self.exit is not None and self.exit.signal is not None)
        if ended and not killed and self._version == 1 and self._again is None:
            self._again = 1 if self._strings.may_be_meant(self.last_words()) else None
        return self._again is not None

    def _read(self, method: str, params: msgspec.Raw, notes: list[str]) -> Any:
        """The params of a request, in the version that the agent speaks now."""
        return self.translation.params(method, params, notes)

    def _odd(self, params: msgspec.Raw) -> list[msgspec.Raw]:
        """The updates that an unreadable one stands for, in some dialects."""
        translation = self.translation
        return translation.odd(params) if isinstance(translation, Dialect) else []

    # -- login ------------------------------------------------------------------------------------

    def require_login(self) -> None:
        """The agent has refused something until the user logs in."""
        self.status = "auth_required"
        self._around.changed(self)

    async def logged_in(self) -> None:
        """The user has logged in."""
        self.status, self._configured = "ready", None
        self._around.changed(self)
        await self.ask_auth_status()

    async def try_configured(self) -> bool:
        """Log in by option `auth_method`, once until the next login. Returns whether it worked."""
        method = self.spec.auth_method
        if method is None:
            return False
        async with self._authenticating:
            if self._configured is None:
                self._configured = await self._authenticate(method)
        return self._configured

    async def _authenticate(self, method_id: str) -> bool:
        method = auth.find(self.agent.auth_methods, method_id)
        if method is not None and auth.terminal_login(self.spec, method) is not None:
            return False
        try:
            await self.agent.authenticate(method_id)
        except (RequestError, RemoteProtocolError) as error:
            self.warnings.count("auth_method failed", f"{method_id}: {error}")
            return False
        return True

    async def ask_auth_status(self) -> None:
        """Bring `auth` up to date, for an agent that tells it."""
        offered = self.agent.capabilities.auth
        if not offered or not offered.status:
            return
        try:
            self.auth = await self.agent.auth_status()
        except (RequestError, RemoteProtocolError, ConnectionClosed) as error:
            self.warnings.count("auth/status failed", str(error))
            return
        self._around.changed(self)

    def _auth_status(self, status: schema.AuthStatusUpdateNotification) -> None:
        self.auth = schema.AuthStatusResponse(status.state, status.accounts)
        self._around.changed(self)
        if status.state == "authenticated" and self.status == "auth_required":
            self._around.authenticated(self)

    def _limit_exceeded(self, limit: str, text: str, session: Session | None) -> None:
        """Report a limit that was exceeded, in the log as well."""
        self.traffic.add("err", f"acp.nvim: {text} (limits.{limit})\n".encode())
        self._around.report_limit(limit, text, session)

    # -- the end ----------------------------------------------------------------------------------

    def _fail(self, reason: str) -> None:
        self.status, self.error = "failed", reason
        self._around.changed(self)
        self._ready.set()

    def _gone(self) -> None:
        """The process ended: during the handshake that is a failure, later an exit."""
        failed = self.status == "starting"
        if self.status != "failed":
            self.status = "failed" if failed else "exited"
            self.error = None if self.stopping else self.exit_summary()
        self.terminals.forget()
        if self.lost is not None and self.lost.limit:
            self._limit_exceeded(self.lost.limit, str(self.lost), None)
        self._around.ended(self)
        self._ready.set()

    def exit_summary(self) -> str:
        """How the agent ended, in one line."""
        if self.stopping:
            return wording.AGENT_STOPPED.format(agent=self.name)
        if self.lost is not None:
            return wording.NOT_REACHED.format(agent=self.name, reason=self.lost)
        if self._closed_output:
            return wording.AGENT_CLOSED_AND_ENDED.format(agent=self.name, pipe=self._closed())
        return (
            wording.AGENT_EXITED.format(agent=self.name, exit=self.exit)
            if self.exit
            else wording.AGENT_ENDED.format(agent=self.name)
        )

    def last_words(self) -> list[str]:
        """The newest lines of stderr, or of what else it wrote that is no message."""
        return self.stderr(5) or list(self.warnings.unread)

    def stderr(self, lines: int) -> list[str]:
        """The newest lines of stderr."""
        return self._transport.stderr(lines) if self._transport else []

    def snapshot(self) -> dict[str, object]:
        """What `state().agents[name]` shows."""
        way = {"pid": self._pid(), "url": shown_url(self.spec)}
        return {"status": self.status, "error": self.error} | way | self._known()

    def _pid(self) -> int | None:
        return self._transport.pid if self._transport and self._transport.exit is None else None

    def _known(self) -> dict[str, object]:
        agent = self._agent
        return {
            "protocol": agent.protocol if agent else None,
            "info": agent.info if agent else None,
            "capabilities": agent.capabilities if agent else None,
            "auth_methods": auth.offered(self.spec, agent.auth_methods) if agent else [],
            "more": {"auth_methods": agent.methods_left} if agent and agent.methods_left else None,
            "auth": self.auth,
            "dialect": self.translation.name,
        }


def _version_2(count: Callable[[str, str], None]) -> Version2:
    """Loaded for the agents that it is configured for alone."""
    from acp_nvim.protocol.v2.translation import Version2

    return Version2(count)
