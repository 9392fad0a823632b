"""The host: builds all objects of the Python process and gives them to one another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import anyio

from acp_nvim.agent.agents import Agents
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.prompts.own_turns import OwnTurns
from acp_nvim.agent.restarts import Restarts
from acp_nvim.agent.serving.access import Access
from acp_nvim.agent.serving.consent import Consent
from acp_nvim.agent.serving.file_requests import FileRequests
from acp_nvim.agent.serving.overwrites import Overwrites
from acp_nvim.agent.serving.proposed_edits import ProposedEdits, shows_patches
from acp_nvim.agent.serving.tool_call_watch import ToolCallWatch
from acp_nvim.agent.surroundings import (
    AgentLaunch,
    AgentServices,
    ConnectionObservers,
    Surroundings,
)
from acp_nvim.agent.transport.stdio import EarlyStart, StdioTransport
from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.features.agents.agent_events import AgentEvents
from acp_nvim.features.login.logins import Logins
from acp_nvim.features.prompts.prompt_view import PromptView
from acp_nvim.features.prompts.sent import SentPrompts
from acp_nvim.features.prompts.turn_files import TurnFiles
from acp_nvim.features.terminals.live_terminals import TerminalViews
from acp_nvim.features.tools.tool_turns import ToolTurns
from acp_nvim.features.tools.user_tools import NvimUserTools
from acp_nvim.features.unsaved.unsaved_changes import UnsavedChanges
from acp_nvim.files.ports import SessionInfo
from acp_nvim.files.review.pending_edits import PendingEdits
from acp_nvim.files.workspace import Workspace
from acp_nvim.host.earlier_prompts import EarlierPrompts
from acp_nvim.host.editor_tools import EditorTools
from acp_nvim.host.foreign_sessions import ForeignSessions
from acp_nvim.host.history import History
from acp_nvim.host.limit_reports import LimitReports
from acp_nvim.host.review_view import ReviewView
from acp_nvim.host.session_observer import HostObserver
from acp_nvim.host.sessions import SessionNumbers, Sessions
from acp_nvim.host.subagent_registry import SubagentRegistry
from acp_nvim.host.unscoped_questions import UnscopedQuestions
from acp_nvim.nvim.asking import Asking
from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import Bridge
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.nvim.extending import in_lua
from acp_nvim.nvim.flow import Flow
from acp_nvim.nvim.frames import Frames
from acp_nvim.nvim.memory import Memory
from acp_nvim.nvim.notices import Notices
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.nvim.user_options import UserOptions
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server.door import Door
from acp_nvim.tools.server.over_acp import McpOverAcp
from acp_nvim.tools.server.toolbox import Toolbox
from acp_nvim.tools.server.user_tools import UserTools

if TYPE_CHECKING:
    from acp_nvim.features.permissions.proposal_check import ProposalCheck
    from acp_nvim.features.tools.tool_permissions import ToolPermissions
    from acp_nvim.tools.server.tool import Tool


class Host:
    """All parts of a host by their names, for the verbs."""

    def __init__(self, bridge: Bridge, agent: EarlyAgent | None = None) -> None:
        """Nothing is started; verbs do that. One agent may run already."""
        self.bridge = bridge
        self.options = UserOptions()
        self.settings = self.options.settings
        self.pace = Pace(bridge.loop.time)
        self.screen = Screen(self.settings, self.pace.wake, self._edits_shown)
        self.notices = Notices(self.screen, self._current)
        self.echo, self.problem = self.notices.echo, self.notices.problem
        self.limit_reports = LimitReports(self.screen)
        self.terminal_views = TerminalViews(self.screen.terminal)
        self.flow = Flow(self.screen, self.pace, self.settings, self.limit_reports.tell)
        self.frames = Frames(
            bridge, self.pace, self.collect, self.flow.drained, self._kept, self.problem
        )
        self.history = self._history()
        self.access = Access()
        self.comments = Comments(self.screen.push)
        self.reaper = Reaper(agent)
        self.early_start = EarlyStart(agent)
        self.unscoped_questions = UnscopedQuestions(self.screen.push, self.screen.state)
        self.numbers = SessionNumbers()
        self.subagents = SubagentRegistry(self.screen, self.numbers.next)
        self.reviewed: dict[str, dict[str, Any]] = {}
        """Values of forms that the user has to confirm, by id of the decision."""
        asking = self.asking = Asking(self.screen.push)
        self.choose, self.ask_text = asking.choose, asking.ask_text
        self.buffers = NvimBuffers(bridge)
        self.unsaved = UnsavedChanges(self.buffers, self.options.files, self.choose)
        self.extensions = in_lua(bridge, self.screen.push, lambda: self.settings().extensions)
        self.async_calls = AsyncCalls(bridge)
        self.tool_editor = ToolEditor(bridge, self.async_calls)
        self.sent = SentPrompts(self.problem)
        self.consent = Consent(self.problem, lambda: self.options.data_file("mcp.json"))
        self.foreign_sessions = self._foreign_sessions()
        self.connection_observers = ConnectionObservers[Connection]()
        self.conversation_observers = ConversationObservers()
        self.tasks: Tasks
        self.workspace: Workspace[Session]
        self.proposed: ProposedEdits
        self.observer: HostObserver
        self.tools: EditorTools
        self.user_tools: UserTools
        self.agents: Agents
        self.sessions: Sessions
        self.logins: Logins
        self.agent_events: AgentEvents
        self.earlier_prompts: EarlierPrompts
        self.restarts: Restarts

    # -- life -------------------------------------------------------------------------------------

    async def run(self, verbs: Any) -> None:
        """Live until cancelled; then end every agent before returning."""
        try:
            async with anyio.create_task_group() as group:
                self.tasks = Tasks(group, self.notices.failed)
                self._build()
                self.tasks.start_soon(self.frames.run)
                self.tasks.start_soon(self.early_start.end_unwanted, self.reaper)
                try:
                    await verbs(self)
                finally:
                    self.sent.close()
        finally:
            with anyio.CancelScope(shield=True):
                await self.close()

    async def close(self) -> None:
        """End all process trees."""
        self.tools.close()
        self.workspace.disk.close()
        self.history.close()
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, self.history.wait_written)
            group.start_soon(self.early_start.end, self.reaper)
            group.start_soon(self.workspace.persistence.close)
            for connection in self.agents.connections.values():
                group.start_soon(connection.end)
                group.start_soon(connection.terminals.close)
        self.sent.tidy()
        await self.reaper.aclose()

    def configure(self, table: dict[str, Any]) -> None:
        """Take over the options of verb `setup`."""
        self.numbers.reach(int(table.pop("next_session", 1)))
        options = self.options.take(table)
        self.sessions.keep_index(self.options.data_file("sessions.json"), self.problem)
        for connection in self.agents.connections.values():
            connection.configured()
        self.history.configure(options.history, self.options.data_file("history.db"))
        self.workspace.keep_in(self.options.data())
        self.screen.configured()
        self.screen.state(["host"], "running")

    async def restart(self, name: str) -> None:
        """End an agent's process tree, start it again and reopen its sessions.

        Raises `UnknownAgent`.
        """
        connection = await self.restarts.restart(name)
        if connection is not None and await connection.ready():
            self.logins.go_on(name)

    # -- what belongs to no part alone ------------------------------------------------------------

    def decision(self, decision_id: str) -> Decision | None:
        """Find a pending decision, in all sessions and beyond."""
        asked = [session.decisions for session in self.sessions.all()]
        asked.append(self.unscoped_questions.decisions)
        found = (decisions.get(decision_id) for decisions in asked)
        return next((decision for decision in found if decision is not None), None)

    def collect(self, budget: int) -> tuple[list[list[Any]], bool]:
        """Return the next frame: the screen's, then the output of terminals that are shown."""
        self.history.noticed()
        ops, more = self.screen.collect(budget)
        output, waits = self.terminal_views.collect(budget)
        return ops + output, more or waits

    async def _kept(self) -> None:
        """What is pending is in the journal before it is seen."""
        await self.workspace.persistence.kept()

    def _current(self) -> Session | None:
        conversation = self.sessions.conversation(None)
        return conversation.session if conversation is not None else None

    def _edits_shown(self, session: Session, decision: Decision) -> None:
        """A card with edits is drawn: say of them what takes time to find out."""
        if shows_patches(session, decision):
            self.tasks.start_soon(self.proposed.check, session, decision)
        self.proposal_check.shown(session, decision)

    # -- how the parts are put together -----------------------------------------------------------

    def _build(self) -> None:
        """Make all that needs the tasks."""
        self.workspace = self._workspace()
        watch = ToolCallWatch(self.workspace.tool_calls)
        own_turns = OwnTurns(self.tasks, self.workspace)
        overwrites = Overwrites(self.workspace.edits.live, self.tasks)
        self.observer = HostObserver(self.screen, self.pace, watch, own_turns, overwrites)
        self.tools = self._own_tools()
        self.agents = Agents(self._surroundings(), self.options.spec)
        self.sessions = self._sessions()
        self.logins = Logins(self.sessions, self.screen, self.tasks, self.echo)
        self.agent_events = AgentEvents(self.agents, self.sessions, self.screen)
        self.earlier_prompts = EarlierPrompts(self.workspace, self.history, self._all_sessions)
        self._observe_connections()
        self._observe_conversations()
        self.restarts = Restarts(self.agents, self.sessions.served)

    def _history(self) -> History:
        return History(
            self._own_sessions,
            lambda: self.workspace.persistence.keys.instance,
            lambda: self.agents.secrets(agent_environment()),
            partial(self.echo, "warn"),
            self.bridge.loop,
        )

    def _own_sessions(self) -> list[Session]:
        """Those of this Neovim: their talk is kept here."""
        return [it for it in self.screen.sessions.values() if it.n not in self.foreign_sessions]

    def _foreign_sessions(self) -> ForeignSessions:
        return ForeignSessions(self._foreign_session, self.screen.state, self.screen.push)

    def _foreign_session(self, info: SessionInfo, n: int) -> int:
        return self.sessions.foreign(info, n)

    def _all_sessions(self) -> list[Session]:
        return self.sessions.all()

    def _workspace(self) -> Workspace[Session]:
        return Workspace(
            self.buffers,
            ReviewView(
                self.screen.push,
                self.notices.notice,
                lambda n: self.sessions.conversations[n].session,
            ),
            self.options.files,
            self._all_sessions,
            self.tasks,
            self._amends,
            self.access,
            _worked_at,
            self.foreign_sessions,
            self.history,
        )

    def _amends(self, edits: PendingEdits) -> ProposedEdits:
        self.proposed = ProposedEdits(edits, self.comments)
        return self.proposed

    @cached_property
    def proposal_check(self) -> ProposalCheck:
        """What language servers say of edits that are asked for."""
        from acp_nvim.features.permissions.proposal_check import ProposalCheck

        return ProposalCheck(
            self.async_calls, self.proposed, self.tasks, self.settings, self.screen.push
        )

    def _own_tools(self) -> EditorTools:
        toolbox = Toolbox(self._tool_list(), self.notices.failed)
        door = Door(toolbox, self.tasks, lambda: self.settings().stdpath.get("run"))
        tools = EditorTools(toolbox, door, McpOverAcp(toolbox), self.tasks)
        runner = NvimUserTools(self.async_calls)
        self.user_tools = UserTools(toolbox, runner, lambda: self._tool_permissions, tools.refresh)
        return tools

    def _tool_list(self) -> Iterator[Tool[Any]]:
        from acp_nvim.features.tools.tool_list import own_tools

        yield from own_tools(
            self.bridge,
            self.async_calls,
            self.tool_editor,
            self.workspace,
            self.options.files,
            self._tool_permissions,
            self.unsaved.reads,
        )

    @cached_property
    def _tool_permissions(self) -> ToolPermissions:
        """Those of all tools: what the user has allowed is known there."""
        from acp_nvim.features.tools.tool_permissions import ToolPermissions

        return ToolPermissions(self.settings)

    def _surroundings(self) -> Surroundings[Connection]:
        return Surroundings(
            settings=self.settings,
            tasks=self.tasks,
            flow=self.flow,
            launch=AgentLaunch(
                transport=partial(StdioTransport, reaper=self.reaper, early=self.early_start),
                reaper=self.reaper,
                cwd=lambda: self.sessions.cwd,
                env=agent_environment,
            ),
            services=AgentServices(
                files=FileRequests(self.workspace.files, self.unsaved.reads),
                tools=self.tools,
                extensions=self.extensions,
                consent=self.consent,
                ask_unscoped=self.unscoped_questions.ask,
                new_child=self.subagents.child,
            ),
            observers=self.connection_observers,
        )

    def _observe_connections(self) -> None:
        observers = self.connection_observers
        observers.on_changed.append(self.agent_events.changed)
        observers.on_ended.append(self.agent_events.ended)
        observers.on_authenticated.append(self.logins.done)
        observers.on_limit_exceeded.append(self.limit_reports.tell)

    def _sessions(self) -> Sessions:
        return Sessions(
            self.numbers,
            self.screen,
            self.history,
            self.workspace,
            self.subagents,
            self.observer,
            self.settings,
            lambda session, origin: Conversation(
                session,
                self.agents,
                self.tasks,
                self.settings,
                self.conversation_observers,
                origin,
            ),
        )

    def _logs(self) -> list[Traffic]:
        """What was sent and received on all connections."""
        return [connection.traffic for connection in self.agents.connections.values()]

    def _observe_conversations(self) -> None:
        """Register the parts of the editor that take part in turns, in the order of their calls."""
        observers = self.conversation_observers
        prompts = PromptView(self.screen, self.pace, self.sent, self.comments)
        files = TurnFiles(self.workspace, self.buffers)
        tools = ToolTurns(self.tools, self.tool_editor)
        memory = Memory(self._logs, lambda: self.screen.turn_runs, self.tasks)
        earlier, unsaved = self.earlier_prompts, self.unsaved
        observers.on_awaited.extend((prompts.on_awaited, self.workspace.turn_comes))
        observers.on_opened.append(earlier.on_opened)
        observers.on_open_failed.append(self.sessions.on_open_failed)
        observers.on_login_needed.append(self.logins.needed)
        observers.on_turn_starting.extend(
            one.on_turn_starting for one in (tools, earlier, files, unsaved)
        )
        observers.on_prompt_sent.extend(
            one.on_prompt_sent for one in (unsaved, tools, self.history, prompts)
        )
        observers.on_prompt_requeued.append(prompts.on_prompt_requeued)
        observers.on_prompt_returned.extend(one.on_prompt_returned for one in (unsaved, prompts))
        observers.on_prompt_answered.append(self.sessions.on_prompt_answered)
        observers.on_turn_cancelled.append(tools.on_turn_cancelled)
        observers.on_turn_ended.extend(
            one.on_turn_ended for one in (prompts, tools, unsaved, memory, files)
        )
        observers.on_agent_left.append(tools.on_agent_left)


def _worked_at(session: Session, path: str, line: int | None) -> None:
    """An agent reads or writes here (follow-along)."""
    session.event("AcpLocation", path=path, line=line)
