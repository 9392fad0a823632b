"""A connection to an agent, from its start to its end; a new one replaces it then."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio

from acp_nvim import wording
from acp_nvim.agent.agent import Agent
from acp_nvim.agent.agent_run import AgentRun
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import ProgramMissing
from acp_nvim.agent.connection_options import (
    attempts_at,
    client_capabilities,
    level,
    runs_here,
    secrets,
)
from acp_nvim.agent.negotiation import Negotiation
from acp_nvim.agent.opening import session_params
from acp_nvim.agent.opening.agent_login import AgentLogin
from acp_nvim.agent.opening.session_params import SessionParams, ToolsNames
from acp_nvim.agent.serving.client import Client
from acp_nvim.agent.serving.elicitations import Elicitations
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.session_router import SessionRouter
from acp_nvim.agent.serving.terminals import AgentTerminals
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.surroundings import Surroundings
from acp_nvim.agent.transport.base import (
    AgentTransport,
    TransportError,
)
from acp_nvim.agent.wire.endpoint import Endpoint
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.protocol import schema
from acp_nvim.session.session import Session

_KILLS = frozenset(("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"))
"""Signals that others send; a crash ends with another one."""

Status = Literal["starting", "ready", "auth_required", "exited", "failed"]


class Connection:
    """An agent that is starting, running or gone."""

    def __init__(
        self,
        name: str,
        spec: AgentSettings,
        around: Surroundings[Connection],
        pauses: Iterator[float] | None = None,
    ) -> None:
        """Nothing is started yet. ``pauses``, in seconds, come before attempts to connect again."""
        self.name = name
        self.spec = spec
        self.status: Status = "starting"
        self.error: str | None = None
        self.stopping = False
        self.up_since: float | None = None
        """When the handshake was over, on the monotonic clock."""
        self.warnings = ProtocolWarnings()
        log = around.settings().log
        self.traffic = Traffic(log.bytes, level(log.level), secrets(around.env(), spec))
        self.tools_names = ToolsNames()
        self.login = AgentLogin(spec, lambda: self.agent, self.warnings, self._changed)
        self.terminals = AgentTerminals(name, around.settings, around.reaper, self._terminal_env)
        self._around = around
        self._negotiation = Negotiation(self.warnings)
        self.router = SessionRouter(
            around.settings,
            self.warnings,
            self._negotiation.odd,
            around.new_child,
            self._limit_exceeded,
        )
        self.client = self._new_client(around)
        self._ready = anyio.Event()
        self._ended = anyio.Event()
        self._run: AgentRun | None = None
        self._stderr_lines = self._stderr_before = 0
        """Lines of stderr, and how many of them there were when the turn began."""
        """The last one; there may be several, see `Negotiation`."""
        self._attempts = attempts_at(spec, pauses)

    def _new_client(self, around: Surroundings[Connection]) -> Client:
        return Client(
            self.name,
            around.settings,
            self.router,
            around.files,
            self.terminals,
            self.warnings,
            elicitations=Elicitations(lambda: self.title, self._endpoint, around.ask_unscoped),
            extensions=around.extensions,
            report_limit=self._limit_exceeded,
            read=self._negotiation.read,
            on_auth_status=self._auth_status,
            on_mcp_message=lambda request: around.tools.message(request, self._tell_mcp),
        )

    def _endpoint(self) -> Endpoint | None:
        return self._run.endpoint if self._run is not None else None

    @property
    def agent(self) -> Agent:
        """Outgoing calls; there once the process runs."""
        assert self._run is not None
        return self._run.agent

    @property
    def started(self) -> bool:
        """Whether the process runs, or did: `agent` is there."""
        return self._run is not None

    @property
    def cwd(self) -> str:
        """Where the process runs, a login in a terminal too."""
        return str(Path(self.spec.cwd).expanduser()) if self.spec.cwd else self._around.cwd()

    def _terminal_env(self) -> dict[str, str]:
        """The environment of its terminals, with the agent's mark: no daemon stays when the agent
        ends.
        """
        inherited = self._run.transport.inherited if self._run is not None else {}
        return {**self._around.env(), **self.spec.env, **inherited}

    def session_params(self, session: Session) -> SessionParams:
        """Return the parameters of a session that is opened; their secrets stay out of the log."""
        settings, around = self._around.settings(), self._around
        env = {**around.env(), **self.spec.env}
        wanted = settings.tools if self.spec.tools is None else self.spec.tools
        capabilities = self.agent.capabilities.mcp_capabilities or schema.McpCapabilities()
        way = session_params.own_way(capabilities)
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
        return found.with_tools_named(self.tools_names.next()) if found.tools else found

    def withdraw_tools(self, session: Session) -> None:
        """The agent opens the session only without the editor's tools."""
        self._around.tools.withdraw(session)
        session.withdraw_tools()

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
        info = self._run.agent.info if self._run else None
        return (info and (info.title or info.name)) or self.spec.title or self.name.capitalize()

    def configured(self) -> None:
        """The options have changed: apply those that a running agent can take."""
        settings = self._around.settings()
        self.traffic.configure(level(settings.log.level), settings.log.bytes)
        if self._run is not None:
            self._run.configure(settings.limits.message_bytes, settings.timeouts.kill_s)

    def start(self) -> None:
        """Start in the background; `ready` waits for the outcome."""
        self._around.tasks.start_soon(self._live)

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
        if self._run is not None:
            await self._run.transport.stop()

    async def _live(self) -> None:
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
            if self._run is not None:
                await self._run.transport.stop()
        finally:
            self._ready.set()
            self._ended.set()

    async def _launch(self) -> None:
        """Serve the agent in the configured version, and in another one where it has to be started
        again.
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
        self._changed()

    async def _not_reached(self, error: TransportError) -> None:
        """An agent elsewhere is given up."""
        if self._run is not None:
            await self._run.transport.stop()
        if self.stopping:
            self.status = "exited"
            self._gone()
            return
        self._fail(wording.NOT_REACHED.format(agent=self.name, reason=error))
        if self._attempts is not None and not self._attempts.is_first:
            self._around.ended(self)

    async def _serve(self, version: int) -> int | None:
        """Run the agent until it ends. Returns the version in which to start it again."""
        self._negotiation.begin(version)
        self.warnings.unread.clear()
        transport = self._new_transport(self._around.settings())
        await (self._attempts.start(transport) if self._attempts else transport.start())
        self._run = run = self._run_over(transport)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._handshake, run)
            if self.stopping:  # by the user, while it was being started
                tasks.start_soon(transport.stop)
            await run.endpoint.run()
            again = self._is_started_again()
            await run.close(by_itself=not (self.stopping or again))
            unreached = self._unreached()
            if unreached is None and self._negotiation.again is None:
                run.over()
                self._gone()
            tasks.cancel_scope.cancel()
        await transport.stop()
        if unreached is not None:
            raise unreached
        return None if self.stopping else self._negotiation.again

    def _run_over(self, transport: AgentTransport) -> AgentRun:
        return AgentRun(
            self.name,
            transport,
            self.client,
            self._negotiation.translation,
            self.traffic,
            self.warnings,
            self._around.flow,
            self._around.settings().limits.message_bytes,
            stopping=lambda: self.stopping,
        )

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
            on_stderr=self._hear_stderr,
        )

    def _unreached(self) -> TransportError | None:
        """Why there was no handshake with an agent elsewhere; it is reached again, or given up."""
        again = self._negotiation.again is not None
        shaking = self.status == "starting" and not again and not self.stopping
        return self.lost if shaking else None

    @property
    def lost(self) -> TransportError | None:
        """Why an agent elsewhere is not reached any more."""
        return self._run.lost if self._run is not None else None

    @property
    def unreached(self) -> str | None:
        """Why an agent elsewhere is not reached yet, and when it is tried again."""
        return self.error if self.status == "starting" else None

    @property
    def is_first(self) -> bool:
        """Whether it takes the place of none that broke."""
        return self._attempts is None or self._attempts.is_first

    @property
    def returns(self) -> bool:
        """Whether its connection, which was there, broke and is to be taken up again."""
        again = self.lost is not None and self.lost.again
        return again and self.up_since is not None and not self.stopping

    async def _handshake(self, run: AgentRun) -> None:
        transport = run.transport
        capabilities = client_capabilities(self._around.settings(), starts=self.spec.url is None)
        try:
            await self._negotiation.agree(run.agent, capabilities)
            if self._negotiation.again is not None:
                await transport.stop()
                return
        except Exception as error:
            if self.lost is not None or self._is_started_again():
                return
            if run.exit is None and transport.exit is None:
                reason = str(error) or type(error).__name__
                told = wording.HANDSHAKE_FAILED.format(agent=self.name, reason=reason)
                self._fail(self._negotiation.failed(told))
                await transport.stop()
            return
        speaks = self._negotiation.translation
        run.agent.behaves(starts_servers=speaks.starts_servers, takes_more=speaks.takes_more)
        self.status, self.error = "ready", None
        self.begin_turn()
        self.up_since = time.monotonic()
        self.warnings.unread.clear()  # a banner tells nothing of an end
        self._ready.set()
        self._changed()
        await self.login.ask_state()

    def _is_started_again(self) -> bool:
        """Whether the agent, which may have ended at our question, is asked in another version."""
        run = self._run
        if run is None or run.endpoint.closed is None:
            return False
        ended = self.status == "starting" and run.agent.protocol is None and not self.stopping
        killed = run.lost is not None or (run.exit is not None and run.exit.signal is not None)
        if ended and not killed:
            self._negotiation.ended_unanswered(run.last_words())
        return self._negotiation.again is not None

    # -- login ------------------------------------------------------------------------------------

    def require_login(self) -> None:
        """The agent has refused something until the user logs in."""
        self.status = "auth_required"
        self._changed()

    async def logged_in(self) -> None:
        """The user has logged in."""
        self.status = "ready"
        self._changed()
        await self.login.renewed()

    def _auth_status(self, status: schema.AuthStatusUpdateNotification) -> None:
        self.login.told(status)
        if status.state == "authenticated" and self.status == "auth_required":
            self._around.authenticated(self)

    # -- what is told of it -----------------------------------------------------------------------

    def _changed(self) -> None:
        self._around.changed(self)

    def _limit_exceeded(self, limit: str, text: str, session: Session | None) -> None:
        """Report a limit that was exceeded, in the log as well."""
        self.traffic.add("err", f"acp.nvim: {text} (limits.{limit})\n".encode())
        self._around.report_limit(limit, text, session)

    def _fail(self, reason: str) -> None:
        self.status, self.error = "failed", reason
        self._changed()
        self._ready.set()

    def _gone(self) -> None:
        """The process ended: during the handshake that is a failure, later an exit."""
        failed = self.status == "starting"
        if self.status != "failed":
            self.status = "failed" if failed else "exited"
            self.error = None if self.stopping else self.exit_summary()
        self.terminals.forget()
        self._around.ended(self)
        self._ready.set()

    def exit_summary(self) -> str:
        """How the agent ended, in one line."""
        if self._run is not None:
            summary = self._run.summary()
            return summary if self.stopping else self._negotiation.failed(summary)
        ended = wording.AGENT_STOPPED if self.stopping else wording.AGENT_ENDED
        return ended.format(agent=self.name)

    def last_words(self) -> list[str]:
        """Return the newest lines of stderr, or of what else it wrote that is no message. If others
        killed it, lines from before the turn do not say why.
        """
        newest = list(self._run.last_words() if self._run is not None else self.warnings.unread)
        if self.status == "exited" and self.exit is not None and self.exit.signal in _KILLS:
            fresh = self._stderr_lines - self._stderr_before
            newest = newest[-fresh:] if fresh else []
        return self._negotiation.last_words(newest)

    def begin_turn(self) -> None:
        """Tell lines of stderr that come from now on from earlier ones."""
        self._stderr_before = self._stderr_lines

    def _hear_stderr(self, data: bytes) -> None:
        self._stderr_lines += data.count(b"\n")
        self.traffic.add("err", data)

    @property
    def exit(self) -> Exit | None:
        """How its process ended, as far as that is known."""
        return self._run.exit if self._run is not None else None

    def stderr(self, lines: int) -> list[str]:
        """The newest lines of stderr."""
        return self._run.transport.stderr(lines) if self._run else []

    @property
    def pid(self) -> int | None:
        """The process id of an agent that runs here."""
        return self._run.pid if self._run is not None else None

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The agent's capabilities as it named them, unknown ones too."""
        return self._negotiation.translation.capabilities

    @property
    def dialect(self) -> str:
        """What the agent speaks, for people."""
        return self._negotiation.translation.name
