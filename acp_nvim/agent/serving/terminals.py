"""Terminals of one agent: `terminal/*` (v1/terminals).

Ids are unique in the host and valid only in the session that created them. Output and exit status
are in `session.terminals`; this module has the processes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio.lowlevel
from msgspec import UNSET, Struct, UnsetType

from acp_nvim import wording
from acp_nvim.agent.child.exit import Exit
from acp_nvim.agent.child.guard import CHILD
from acp_nvim.agent.child.launch import AgentStartError
from acp_nvim.agent.child.pty import PtyProcess
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.child.tree import end_marked
from acp_nvim.agent.serving.answering import cancel_with, decision_id, wait
from acp_nvim.agent.serving.commands import Command, command_of
from acp_nvim.agent.serving.judging import judge
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    RequestError,
)
from acp_nvim.render.text import one_line
from acp_nvim.session import ids
from acp_nvim.session.output.terminal import Terminal
from acp_nvim.session.questions import variables
from acp_nvim.session.questions.decisions import Decision, Option, Outcome
from acp_nvim.session.questions.requests import Command as RequestedCommand
from acp_nvim.session.questions.requests import commands
from acp_nvim.session.questions.rules import Case
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.agent.via_place import ViaPlace

OPTIONS: Final = (
    Option("allow_once", wording.OPTION_RUN, "allow_once"),
    Option("allow_always", wording.OPTION_RUN_ALWAYS, "allow_always"),
    Option("reject_once", "Refuse", "reject_once"),
)
MAX_NAMED: Final = 3
"""Maximum number of commands named in the chat when a cancelled turn ends them."""

Handler = Callable[[Session, Any, IncomingCall], Awaitable[Any]]


class _Live(Struct, eq=False):
    """Terminal that has or had a process, until the agent releases it."""

    session: Session
    terminal: Terminal
    process: PtyProcess
    turn: int | None
    """Number of the root session's turn in which the terminal was created, if any."""


class AgentTerminals:
    """Terminals of one connection."""

    def __init__(
        self,
        agent: str,
        settings: Callable[[], Settings],
        reaper: Reaper,
        env: Callable[[], Mapping[str, str]],
        place: Callable[[], ViaPlace | None] = lambda: None,
        wait_for_cancels: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> None:
        """`env` returns the agent's environment, and `place` the place of a remote agent.

        `wait_for_cancels` returns when the cancels that the user has sent are handled.
        """
        self.handlers: Mapping[str, Handler] = {
            "terminal/create": self.create,
            "terminal/output": self.output,
            "terminal/wait_for_exit": self.wait_for_exit,
            "terminal/kill": self.kill,
            "terminal/release": self.release,
        }
        self._agent = agent
        self._settings = settings
        self._reaper = reaper
        self._env = env
        self._place = place
        self._wait_for_cancels = wait_for_cancels
        self._live: dict[str, _Live] = {}
        self._allowed: set[tuple[int, RequestedCommand]] = set()
        """Commands that are allowed for a whole session, with its number."""
        self._used: set[str] = set()
        """Ids of permissions that have already allowed a command."""
        self._marks: dict[tuple[int, int], str] = {}
        """Marks of commands in the last two turns of each root session, by its number and turn."""
        self._closed = False

    # -- the agent's requests ---------------------------------------------------------------------

    def create(
        self, session: Session, params: schema.CreateTerminalRequest, call: IncomingCall
    ) -> Awaitable[schema.CreateTerminalResponse]:
        """Answer `terminal/create`. Start the command at once, unless a rule requires a question.

        Raise RequestError: -32602 `denied` or `relative`, -32002 `missing`, -32603 `failed`. Start
        nothing in a turn that is being cancelled.
        """
        settings = self._settings()
        if not settings.terminal.enabled:
            reason = {"command": params.command, "reason": "denied"}
            raise RequestError(INVALID_PARAMS, "terminals are turned off", reason)
        place = self._place()
        env = self._env() if place is None else place.env
        command = command_of(params, env, session.cwd, is_here=place is None)
        limit = settings.terminal.output_limit
        if isinstance(params.output_byte_limit, int):
            limit = min(limit, params.output_byte_limit)
        _check_cancelled(session, command, session.cancels)
        decision = self._question(session, command)
        if decision is not None:
            cancel_with(call, decision)
        turn = session.root.turn if session.root.status == "running" else None
        return self._create(session, command, limit, decision, turn)

    def output(
        self, session: Session, params: schema.TerminalOutputRequest, _: IncomingCall
    ) -> Awaitable[schema.TerminalOutputResponse]:
        """Answer `terminal/output` with the newest output and, after the end, the exit status."""
        terminal = self._find(session, params.terminal_id).terminal
        status: schema.TerminalExitStatus | UnsetType = UNSET
        if not terminal.running:
            status = schema.TerminalExitStatus(terminal.exit_code, terminal.signal)
        output = terminal.output
        return _answer(schema.TerminalOutputResponse(output.text(), output.is_truncated, status))

    def wait_for_exit(
        self, session: Session, params: schema.WaitForTerminalExitRequest, _: IncomingCall
    ) -> Awaitable[schema.WaitForTerminalExitResponse]:
        """Answer `terminal/wait_for_exit`, even if the terminal is released before the exit."""
        return self._wait(self._find(session, params.terminal_id))

    def kill(
        self, session: Session, params: schema.KillTerminalRequest, _: IncomingCall
    ) -> Awaitable[schema.KillTerminalResponse]:
        """Answer `terminal/kill` once the command has exited. The id stays valid."""
        return self._kill(self._find(session, params.terminal_id))

    def release(
        self, session: Session, params: schema.ReleaseTerminalRequest, _: IncomingCall
    ) -> Awaitable[schema.ReleaseTerminalResponse]:
        """Answer `terminal/release`: invalidate the id at once, and end the command."""
        live = self._find(session, params.terminal_id)
        live.terminal.release()
        return self._release(live)

    # -- the user ---------------------------------------------------------------------------------

    async def stop(self, id: str) -> bool:
        """End the command in a terminal for the user. Return False if none is running."""
        live = self._live.get(id)
        if live is None or live.process.exit is not None:
            return False
        await live.process.stop()
        return True

    def write(self, id: str, data: bytes) -> None:
        """Send keys that the user typed in a terminal's buffer."""
        live = self._live.get(id)
        if live is not None:
            live.process.write(data)

    # -- the end ----------------------------------------------------------------------------------

    async def end_turn(self, session: Session, turn: int) -> None:
        """End the commands that a cancelled turn of a session has left running, and their daemons.

        This includes commands of subagents. Keep their output, and name them in the chat.
        """
        left = [
            live
            for live in self._live.values()
            if live.session.root is session and live.turn == turn and live.process.is_running
        ]
        _report_ended(session, [live.terminal.launch.command for live in left])
        await asyncio.gather(*(live.process.stop() for live in left))
        mark = self._marks.get((session.n, turn))
        if mark is not None:
            _report_ended(session, await end_marked(mark, self._settings().timeouts.kill_s))

    def forget(self, session: Session | None = None) -> None:
        """Start ending the terminals of a session or, without an argument, of all sessions."""
        if session is None:
            self._closed = True
        for live in list(self._live.values()):
            if session is None or live.session is session:
                live.terminal.release()
                live.process.begin_stop().add_done_callback(partial(self._on_gone, live))

    async def close(self) -> None:
        """End all terminals and wait for their processes."""
        self.forget()
        await asyncio.gather(*(live.process.stop() for live in list(self._live.values())))

    def _on_gone(self, live: _Live, _: object) -> None:
        self._live.pop(live.terminal.id, None)

    # -- permission -------------------------------------------------------------------------------

    def _question(self, session: Session, command: Command) -> Decision | None:
        """Apply the rules to a command. Return the decision to await before it starts, if any."""
        case = Case(kind="execute", commands=[command.judged], agent=self._agent)
        action = judge(case, session, self._settings())
        if action not in ("ask", "deny") or (
            action == "ask" and self._use_permission(session, command)
        ):
            return None
        decision = Decision(
            decision_id(),
            "command",
            f"run {command.line}",
            kind="execute",
            options=OPTIONS,
            details=_details(command),
        )
        if action == "deny":
            decision.resolve(Outcome("selected", OPTIONS[-1]), "rule")
        session.ask(decision)
        return decision

    def _use_permission(self, session: Session, command: Command) -> bool:
        """Return whether the user has allowed this command for the session, or just now.

        Many agents send a permission request first. Each answer counts for one command only.
        """
        if (session.n, command.judged) in self._allowed:
            return True
        for call in session.tool_calls.open_calls():
            for decision in session.entries[call].decisions:
                if decision.id not in self._used and _has_allowed(decision, command, session):
                    self._used.add(decision.id)
                    return True
        return False

    async def _create(
        self,
        session: Session,
        command: Command,
        limit: int,
        decision: Decision | None,
        turn: int | None,
    ) -> schema.CreateTerminalResponse:
        """Start a command once it is permitted, and add its terminal to the session."""
        cancels = session.cancels
        if decision is not None:
            await self._require_permission(session, command, decision)
        await self._wait_for_cancels()
        _check_cancelled(session, command, cancels)
        terminal = session.terminals.new(ids.new("term-"), command.shown, limit, is_hosted=True)
        try:
            process = await self._start(terminal, command, self._mark(session, turn))
        except AgentStartError as error:
            data = {"command": command.argv[0], "reason": "failed"}
            raise RequestError(INTERNAL_ERROR, str(error), data) from error
        self._live[terminal.id] = _Live(session, terminal, process, turn)
        session.terminals.add(terminal)
        session.observer.on_command(session, command.line, command.cwd)
        if self._closed or session.status == "closed":
            self.forget(session)
        return schema.CreateTerminalResponse(terminal.id)

    def _mark(self, session: Session, turn: int | None) -> str:
        """Return the mark of a command: the agent's mark, extended by the turn.

        Daemons inherit it, so they end with the agent or with the cancelled turn.
        """
        mark = self._env().get(CHILD) or self._reaper.mark()
        if turn is None:
            return mark
        n = session.root.n
        for key in [key for key in self._marks if key[0] == n and key[1] < turn - 1]:
            del self._marks[key]
        return self._marks.setdefault((n, turn), f"{mark}/{n}.{turn}")

    async def _start(self, terminal: Terminal, command: Command, mark: str) -> PtyProcess:
        """Start a command here, or in the agent's place."""
        place, on_end = self._place(), partial(_end, terminal)
        kill_s = self._settings().timeouts.kill_s
        if place is None:
            return await PtyProcess.start(
                command.argv,
                cwd=command.cwd,
                env={**command.env, CHILD: mark},
                reaper=self._reaper,
                feed=terminal.feed,
                on_end=on_end,
                kill_s=kill_s,
            )
        there = place.terminal(command, self._reaper.mark(), terminal.feed, on_end)
        return await PtyProcess.start(
            there.words,
            cwd="/",
            env=self._env(),
            reaper=self._reaper,
            feed=there.feed,
            on_end=there.on_end,
            kill_s=kill_s,
            piped=there.stdin,
        )

    async def _require_permission(
        self, session: Session, command: Command, decision: Decision
    ) -> None:
        outcome = await wait(decision)
        option = outcome.option
        if option is not None and option.id == "allow_always":
            self._allowed.add((session.n, command.judged))
        if option is None or not option.kind.startswith("allow"):
            who = "a rule of the user refuses" if decision.by == "rule" else "the user refused"
            raise RequestError(
                INVALID_PARAMS,
                f"{who} to run {command.line}",
                {"command": command.line, "reason": "denied"},
            )

    async def _wait(self, live: _Live) -> schema.WaitForTerminalExitResponse:
        end = await live.process.wait()
        return schema.WaitForTerminalExitResponse(end.code, end.signal)

    async def _kill(self, live: _Live) -> schema.KillTerminalResponse:
        await live.process.stop()
        return schema.KillTerminalResponse()

    async def _release(self, live: _Live) -> schema.ReleaseTerminalResponse:
        await live.process.stop()
        self._on_gone(live, None)
        return schema.ReleaseTerminalResponse()

    def _find(self, session: Session, id: str) -> _Live:
        live = self._live.get(id)
        if live is None or live.session is not session or live.terminal.released:
            raise RequestError(
                RESOURCE_NOT_FOUND, f"no terminal {id}", {"terminalId": id, "reason": "missing"}
            )
        return live


async def _answer(response: schema.TerminalOutputResponse) -> schema.TerminalOutputResponse:
    return response


def _report_ended(session: Session, commands: Sequence[str]) -> None:
    if not commands:
        return
    names = [one_line(command, 60) for command in commands[:MAX_NAMED]]
    more = [f"{len(commands) - MAX_NAMED} more"] if len(commands) > MAX_NAMED else []
    session.notice("info", wording.ENDED_WITH_TURN.format(commands=", ".join([*names, *more])))


def _check_cancelled(session: Session, command: Command, cancels: int) -> None:
    """Raise RequestError during a cancel, or if `session.cancels` has changed from `cancels`."""
    if session.is_cancelling or session.cancels != cancels:
        reason = {"command": command.line, "reason": "denied"}
        raise RequestError(INVALID_PARAMS, "the turn was cancelled", reason)


def _has_allowed(decision: Decision, command: Command, session: Session) -> bool:
    """Return whether the user, or a rule, has allowed a permission that showed this command."""
    option = decision.outcome and decision.outcome.option
    if option is None or decision.record is None or not option.kind.startswith("allow"):
        return False
    return any(_is_shown_by(other, command.judged, session) for other in commands(decision.record))


def _is_shown_by(shown: RequestedCommand, requested: RequestedCommand, session: Session) -> bool:
    """Return whether a permission has shown this command to the user.

    `shown` is the command of the permission. `requested` may only add variables without effect.
    """
    here = shown.cwd or session.cwd
    return (
        shown.line == requested.line
        and requested.cwd == os.path.normpath(os.path.join(session.cwd, here))  # noqa: PTH118
        and (shown.env == requested.env or variables.are_harmless(requested.env))
    )


def _end(terminal: Terminal, end: Exit) -> None:
    terminal.end(end.code, end.signal)


def _details(command: Command) -> list[str]:
    """Return lines about the directory and the added environment, which the title does not show."""
    return [f"in {command.cwd}", *(f"with {name}={value}" for name, value in command.shown.env)]
