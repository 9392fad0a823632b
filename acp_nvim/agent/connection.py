"""Connection to an agent, from start to end. Afterwards a new one replaces it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
from msgspec import Struct

from acp_nvim import wording
from acp_nvim.agent.agent import Agent
from acp_nvim.agent.agent_run import AgentRun
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.launch import ProgramMissing
from acp_nvim.agent.connection_options import (
    attempts_at,
    client_capabilities,
    is_local,
    level,
    secrets,
)
from acp_nvim.agent.negotiation import Negotiation
from acp_nvim.agent.notify import notify
from acp_nvim.agent.opening import session_params
from acp_nvim.agent.opening.agent_login import AgentLogin
from acp_nvim.agent.opening.session_params import SessionParams, ToolsNames
from acp_nvim.agent.serving.client import Client
from acp_nvim.agent.serving.elicitations import Elicitations
from acp_nvim.agent.serving.mcp_messages import McpMessages
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.servers import OwnServer, Route
from acp_nvim.agent.serving.session_router import SessionRouter
from acp_nvim.agent.serving.terminals import AgentTerminals
from acp_nvim.agent.settings import AgentSettings, PresetSettings, Settings, with_preset
from acp_nvim.agent.surroundings import Surroundings
from acp_nvim.agent.transport.base import AgentTransport, TransportError
from acp_nvim.agent.wire.endpoint import Endpoint
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import INVALID_PARAMS, RequestError
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.agent.remote_agents import ViaAgent
    from acp_nvim.agent.via_place import ViaPlace
    from acp_nvim.agent.wire.path_fields import PathFields

_KILLS = frozenset(("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"))
"""Signals sent by other programs. A crash ends a process with a different signal."""

Status = Literal["starting", "ready", "auth_required", "exited", "failed"]


class Connection:
    """Agent that is starting or running, or has ended."""

    def __init__(
        self,
        name: str,
        spec: AgentSettings,
        around: Surroundings[Connection],
        pauses: Iterator[float] | None = None,
    ) -> None:
        """`pauses` are the seconds to wait before each attempt to reconnect."""
        self.name = name
        self.spec = spec
        self.status: Status = "starting"
        self.error: str | None = None
        self.stopping = False
        self.up_since: float | None = None
        """End of the handshake, on the monotonic clock."""
        self.warnings = ProtocolWarnings()
        log = around.settings().log
        self.traffic = Traffic(log.bytes, level(log.level), secrets(around.launch.env(), spec))
        self.tools_names = ToolsNames()
        self.login = AgentLogin(spec, lambda: self.agent, self.warnings, self._notify_changed)
        self._via_agent: ViaAgent | None = None
        """Program of an agent with the option `via`, once it is started."""
        self.terminals = AgentTerminals(
            name,
            around.settings,
            around.launch.reaper,
            self._terminal_env,
            lambda: self.place,
            around.services.wait_for_cancels,
        )
        self._around = around
        self._negotiation = Negotiation(self.warnings)
        self.router = SessionRouter(
            around.settings,
            self.warnings,
            self._negotiation.translate_unreadable,
            around.services.new_child,
            self._limit_exceeded,
        )
        self.client = self._new_client(around)
        self._ready = anyio.Event()
        self._ended = anyio.Event()
        self._run: AgentRun | None = None
        """The latest run. `Negotiation` may need several."""
        self._stderr_lines = self._stderr_before = 0
        """Number of stderr lines so far, and the number when the turn began."""
        self._attempts = attempts_at(spec, pauses)

    def _new_client(self, around: Surroundings[Connection]) -> Client:
        return Client(
            self.name,
            around.settings,
            self.router,
            around.services.files,
            self.terminals,
            self.warnings,
            elicitations=Elicitations(
                lambda: self.title, self._endpoint, around.services.ask_unscoped
            ),
            extensions=around.services.extensions,
            report_limit=self._limit_exceeded,
            read=self._negotiation.read,
            on_auth_status=self._auth_status,
            mcp=McpMessages(around.services.tools.message, self._notify_mcp),
        )

    def _notify_mcp(self, note: Struct) -> None:
        self.agent.notify_mcp(note)

    def _endpoint(self) -> Endpoint | None:
        return self._run.endpoint if self._run is not None else None

    @property
    def agent(self) -> Agent:
        """Return the agent for outgoing calls. The process must have been started."""
        assert self._run is not None
        return self._run.agent

    @property
    def is_started(self) -> bool:
        """Return whether the process was started, which makes `agent` available."""
        return self._run is not None

    @property
    def cwd(self) -> str:
        """Return the working directory of the process, and of a login in a terminal."""
        return str(Path(self.spec.cwd).expanduser()) if self.spec.cwd else self._around.launch.cwd()

    def _terminal_env(self) -> dict[str, str]:
        """Return the environment of the agent's terminals.

        It has the agent's mark, so that daemons end with the agent.
        """
        inherited = self._run.transport.inherited_variables if self._run is not None else {}
        own = {} if self.spec.via else self.spec.env
        return {**self._around.launch.env(), **own, **inherited}

    @property
    def place(self) -> ViaPlace | None:
        """Return the place of an agent with the option `via`, once it is started there."""
        return self._via_agent.place if self._via_agent is not None else None

    def preset(self, session: Session) -> PresetSettings:
        """Return the preset of a session, or an empty one."""
        return self._around.settings().preset(session.preset)

    def covers(self, directory: str) -> bool:
        """Return whether a directory exists where the agent runs."""
        if self.place is not None:
            return self.place.covers(directory)
        if not self.spec.paths:
            return True
        from acp_nvim.agent.remote_agents import covers

        return covers(self.name, self.spec, directory)

    def session_params(self, session: Session) -> SessionParams:
        """Return the parameters for opening a session. Their secrets are kept out of the log.

        Raise RequestError if the session's directory does not exist where the agent runs.
        """
        if not self.covers(session.cwd):
            text = wording.WHY_NOT_COVERED.format(agent=self.name, folder=session.cwd)
            raise RequestError(INVALID_PARAMS, text)
        settings = self._around.settings()
        spec = with_preset(self.spec, self.preset(session))
        tools = settings.tools if spec.tools is None else spec.tools
        params = session_params.of(
            settings,
            spec,
            session.cwd,
            self.agent.capabilities,
            {**self._around.launch.env(), **self.spec.env},
            self._around.services.consent.answer,
            partial(self._offer_tools, session, tools),
            starts_servers=self.agent.starts_servers,
        )
        self.traffic.add_secrets(params.secrets)
        return params.with_tools_named(self.tools_names.next()) if params.tools else params

    def _offer_tools(self, session: Session, wanted: bool | Sequence[str]) -> OwnServer | None:
        """Return the server of the editor's tools, or None if the agent cannot reach it."""
        capabilities = self.agent.capabilities.mcp_capabilities or schema.McpCapabilities()
        route = session_params.tools_route(capabilities)
        if not self._can_reach_tools(route):
            wanted = False
        own = self._around.services.tools.offer(session, wanted, route)
        if own is None or self._via_agent is None or route != "relay":
            return own
        report = partial(self._report_no_tools, session)
        if self._via_agent.tools.directory:
            return self._via_agent.tools.server(own, self._around.tasks, report)
        self.withdraw_tools(session)
        report(wording.WHY_NO_REMOTE_PIPES)
        return None

    def _can_reach_tools(self, route: Route) -> bool:
        """Return whether the agent works on the user's files, and can start the relay if needed."""
        has_program = is_local(self.spec) or self._via_agent is not None
        can_start_relay = self.agent.starts_servers and has_program
        return self.spec.shares_files and (route != "relay" or can_start_relay)

    def _report_no_tools(self, session: Session, reason: str) -> None:
        session.notice("warning", wording.TOOLS_NOT_OFFERED.format(reason=reason))

    def withdraw_tools(self, session: Session) -> None:
        """Withdraw the editor's tools from a session that the agent opens only without them."""
        self._around.services.tools.withdraw(session)
        session.withdraw_tools()

    def ask(self, session: Session, params: SessionParams) -> None:
        """Ask the user about the servers of the project, without waiting for the answer."""
        for project in params.asks:
            self._around.services.consent.ask(session, project)

    @property
    def is_alive(self) -> bool:
        """Return whether the agent can be called."""
        return self.status in ("starting", "ready", "auth_required") and not self.stopping

    @property
    def title(self) -> str:
        """Return the agent's display name."""
        info = self._run.agent.info if self._run else None
        return (info and (info.title or info.name)) or self.spec.title or self.name.capitalize()

    def apply_options(self) -> None:
        """Apply changed options that a running agent supports."""
        settings = self._around.settings()
        self.traffic.configure(level(settings.log.level), settings.log.bytes)
        if self._run is not None:
            self._run.configure(settings.limits.message_bytes, settings.timeouts.kill_s)

    def start(self) -> None:
        """Start in the background. `ready` waits for the outcome."""
        self._around.tasks.start_soon(self._launch_and_report)

    async def ready(self) -> bool:
        """Wait for the handshake. Return False if it failed, with the reason in `error`."""
        if not self._ready.is_set():  # avoid an extra loop iteration
            await self._ready.wait()
        return self.status in ("ready", "auth_required")

    async def wait_ended(self) -> None:
        """Wait until the process and its cleanup have ended."""
        await self._ended.wait()

    async def stop(self) -> None:
        """End the process tree and wait for it."""
        await self.end()
        await self._ended.wait()  # even if the process is just starting

    async def end(self) -> None:
        """End the process tree if it is running. Unlike `stop`, do not wait for the cleanup."""
        self.stopping = True
        if self._attempts is not None:
            self._attempts.stop()
        if self._run is not None:
            await self._run.transport.stop()

    async def _launch_and_report(self) -> None:
        try:
            await self._launch()
        except ProgramMissing as error:
            hint = (
                wording.PART_INSTALL.format(command=self.spec.install) if self.spec.install else ""
            )
            self._fail(f"{error}{hint}")
        except TransportError as error:
            await self._give_up_connecting(error)
        except Exception as error:
            self._fail(str(error) or type(error).__name__)
            if self._run is not None:
                await self._run.transport.stop()
        finally:
            self._ready.set()
            self._ended.set()

    async def _launch(self) -> None:
        """Serve the agent in the configured version, and again in another version if necessary."""
        version: int | None = 2 if self.spec.protocol == 2 else 1
        if self._attempts is not None:
            await self._attempts.first()
        while version is not None:
            try:
                version = await self._serve(version)
            except TransportError as error:
                assert self._attempts is not None
                await self._attempts.wait_before_next(error, partial(self._on_retry, error))

    def _on_retry(self, why: TransportError, in_s: float) -> None:
        seconds = round(in_s, 1)
        self.error = wording.NOT_YET_REACHED.format(agent=self.name, reason=why, seconds=seconds)
        self._notify_changed()

    async def _give_up_connecting(self, error: TransportError) -> None:
        if self._run is not None:
            await self._run.transport.stop()
        if self.stopping:
            self.status = "exited"
            self._on_end()
            return
        self._fail(wording.NOT_REACHED.format(agent=self.name, reason=error))
        if self._attempts is not None and not self._attempts.is_first:
            notify(self._around.observers.on_ended, self)

    async def _serve(self, version: int) -> int | None:
        """Run the agent until it ends. Return the version for another start, or None."""
        self._negotiation.begin(version)
        self.warnings.unread.clear()
        transport = await self._new_transport(self._around.settings())
        await (self._attempts.start(transport) if self._attempts else transport.start())
        self._run = run = self._run_over(transport)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._handshake, run)
            if self.stopping:  # the user ended it while it was starting
                tasks.start_soon(transport.stop)
            await run.endpoint.run()
            starts_again = self._is_started_again()
            await run.close(by_itself=not (self.stopping or starts_again))
            unreached = self._handshake_error()
            if unreached is None and self._negotiation.again is None:
                run.store_exit()
                self._on_end()
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
            paths=self._path_fields(),
        )

    def _path_fields(self) -> PathFields | None:
        if self._via_agent is not None:
            return self._via_agent.fields
        if not self.spec.paths:
            return None
        from acp_nvim.agent.remote_agents import path_fields

        return path_fields(self.name, self.spec)

    async def _new_transport(self, settings: Settings) -> AgentTransport:
        around, spec = self._around, self.spec
        if spec.via:
            return await self._via_transport(settings)
        if self._attempts is not None:
            limit = settings.limits.message_bytes
            return self._attempts.transport_to(
                spec, around.launch.cookies, around.launch.env(), limit, self.traffic
            )
        return around.launch.transport(
            spec.command,
            cwd=self.cwd,
            env={**around.launch.env(), **spec.env},
            kill_s=settings.timeouts.kill_s,
            on_stderr=self._on_stderr,
        )

    async def _via_transport(self, settings: Settings) -> AgentTransport:
        from acp_nvim.agent.remote_agents import via_agent

        self._via_agent = await via_agent(self.name, self.spec, self._around.launch)
        return self._via_agent.transport(settings.timeouts.kill_s, self._on_stderr)

    def _handshake_error(self) -> TransportError | None:
        """Return the error of a failed handshake, unless the agent starts again or stops."""
        is_repeated = self._negotiation.again is not None
        is_shaking_hands = self.status == "starting" and not is_repeated and not self.stopping
        return self.lost if is_shaking_hands else None

    @property
    def lost(self) -> TransportError | None:
        """Return why the connection to a remote agent was lost, or None."""
        return self._run.lost if self._run is not None else None

    @property
    def unreached_reason(self) -> str | None:
        """Return why a remote agent is not connected yet, with the time of the next attempt."""
        return self.error if self.status == "starting" else None

    @property
    def is_first(self) -> bool:
        """Return whether this is a first connection, not one that replaces a broken one."""
        return self._attempts is None or self._attempts.is_first

    @property
    def will_reconnect(self) -> bool:
        """Return whether the connection broke after its handshake and will be restored."""
        again = self.lost is not None and self.lost.again
        return again and self.up_since is not None and not self.stopping

    async def _handshake(self, run: AgentRun) -> None:
        """Agree on a version with a started agent, and mark the connection as ready.

        Stop the agent if they cannot agree, or if it must be started again in another version.
        """
        transport = run.transport
        capabilities = client_capabilities(
            self._around.settings(),
            starts=self.spec.url is None,
            shares_files=self.spec.shares_files,
        )
        try:
            await self._negotiation.agree(run.agent, capabilities)
            if self._negotiation.again is not None:
                await transport.stop()
                return
        except Exception as error:
            if self.lost is not None or self.stopping or self._is_started_again():
                return
            if run.exit is None and transport.exit is None:
                reason = str(error) or type(error).__name__
                message = wording.HANDSHAKE_FAILED.format(agent=self.name, reason=reason)
                self._fail(self._negotiation.failure_reason(message))
                await transport.stop()
            return
        translation = self._negotiation.translation
        run.agent.set_behaviour(
            starts_servers=translation.starts_servers, can_add_prompts=translation.can_add_prompts
        )
        self.status, self.error = "ready", None
        self.begin_turn()
        self.up_since = time.monotonic()
        self.warnings.unread.clear()  # this output does not explain a later exit
        self._ready.set()
        self._notify_changed()
        await self.login.ask_state()

    def _is_started_again(self) -> bool:
        """Return whether the agent must be started again, in another version.

        This also handles an agent that ended before it answered.
        """
        run = self._run
        if run is None or run.endpoint.closed is None:
            return False
        is_unanswered = (
            self.status == "starting" and run.agent.protocol is None and not self.stopping
        )
        is_killed = run.lost is not None or (run.exit is not None and run.exit.signal is not None)
        if is_unanswered and not is_killed:
            self._negotiation.on_end_without_answer(run.last_words())
        return self._negotiation.again is not None

    # -- login ------------------------------------------------------------------------------------

    def require_login(self) -> None:
        """Mark the connection as waiting for a login, which the agent requires for a request."""
        self.status = "auth_required"
        self._notify_changed()

    async def on_login(self) -> None:
        """Mark the connection as ready after the user has logged in."""
        self.status = "ready"
        self._notify_changed()
        await self.login.allow_retry()

    def _auth_status(self, status: schema.AuthStatusUpdateNotification) -> None:
        self.login.on_status(status)
        if status.state == "authenticated" and self.status == "auth_required":
            notify(self._around.observers.on_authenticated, self)

    # -- reports ----------------------------------------------------------------------------------

    def _notify_changed(self) -> None:
        notify(self._around.observers.on_changed, self)

    def _limit_exceeded(self, limit: str, text: str, session: Session | None) -> None:
        """Report an exceeded limit to the user and in the log."""
        self.traffic.add("err", f"acp.nvim: {text} (limits.{limit})\n".encode())
        notify(self._around.observers.on_limit_exceeded, limit, text, session)

    def _fail(self, reason: str) -> None:
        self.status, self.error = "failed", reason
        self._notify_changed()
        self._ready.set()

    def _on_end(self) -> None:
        """Set the status, end the terminals and notify the observers when the process has ended.

        An end before the handshake is complete is a failure, unless the user has stopped the agent.
        """
        is_failed = self.status == "starting" and not self.stopping
        if self.status != "failed":
            self.status = "failed" if is_failed else "exited"
            self.error = None if self.stopping else self.exit_summary()
        self.terminals.forget()
        notify(self._around.observers.on_ended, self)
        self._ready.set()

    def exit_summary(self) -> str:
        """Return how the agent ended, in one line."""
        if self._run is not None:
            summary = self._run.summary()
            return summary if self.stopping else self._negotiation.failure_reason(summary)
        ended = wording.AGENT_STOPPED if self.stopping else wording.AGENT_ENDED
        return ended.format(agent=self.name)

    def last_words(self) -> list[str]:
        """Return the newest lines of stderr, or else of stdout, except for protocol messages.

        After a kill by another program, lines from before the turn are left out, because they do
        not explain the kill.
        """
        newest = list(self._run.last_words() if self._run is not None else self.warnings.unread)
        if self.status == "exited" and self.exit is not None and self.exit.signal in _KILLS:
            fresh = self._stderr_lines - self._stderr_before
            newest = newest[-fresh:] if fresh else []
        return self._negotiation.last_words(newest)

    def begin_turn(self) -> None:
        """Mark the current end of stderr as the start of the turn."""
        self._stderr_before = self._stderr_lines

    def _on_stderr(self, data: bytes) -> None:
        self._stderr_lines += data.count(b"\n")
        self.traffic.add("err", data)

    @property
    def exit(self) -> Exit | None:
        """Return the exit of the process, if it is known."""
        return self._run.exit if self._run is not None else None

    def stderr(self, lines: int) -> list[str]:
        """Return the newest lines of stderr."""
        return self._run.transport.stderr(lines) if self._run else []

    @property
    def pid(self) -> int | None:
        """Return the process id of a local agent, else None."""
        return self._run.pid if self._run is not None else None

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Return the agent's capabilities as it sent them, including unknown ones."""
        return self._negotiation.translation.capabilities

    @property
    def dialect(self) -> str:
        """Return the name of the agent's protocol dialect for display."""
        return self._negotiation.translation.name
