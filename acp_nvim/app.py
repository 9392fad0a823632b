"""Host: build its parts in order, and end everything on exit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from acp_nvim.agent.agents import Agents
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify, notify_in_turn
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.restarts import Restarts
from acp_nvim.agent.serving.consent import Consent
from acp_nvim.agent.serving.file_requests import Access, FileRequests
from acp_nvim.agent.serving.proposed_edits import ProposedEdits
from acp_nvim.agent.surroundings import (
    AgentLaunch,
    AgentServices,
    ConnectionObservers,
    Surroundings,
)
from acp_nvim.agent.transport.stdio import EarlyStart, StdioTransport
from acp_nvim.files.files import Files
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.workspace import Workspace
from acp_nvim.host.editor_tools import EditorTools
from acp_nvim.host.observers import HostObservers, SessionEvents
from acp_nvim.host.review_view import ReviewView
from acp_nvim.host.session_list import ForeignSessions, SessionList, SubagentRegistry
from acp_nvim.host.sessions import Sessions
from acp_nvim.host.transcripts import Transcripts
from acp_nvim.host.unscoped_questions import UnscopedQuestions
from acp_nvim.nvim.asking import Asking
from acp_nvim.nvim.async_calls import AsyncCalls
from acp_nvim.nvim.bridge import Bridge
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.nvim.extending import lua_extensions
from acp_nvim.nvim.flow import Flow
from acp_nvim.nvim.frames import Frames
from acp_nvim.nvim.memory import Memory
from acp_nvim.nvim.notices import LimitReports, Notices
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.nvim.user_options import UserOptions, via_words
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server.toolbox import Toolbox
from acp_nvim.verbs import Args, Verbs

P = TypeVar("P")
"""Type of a part that a feature adds."""


class Host:
    """Parts of a host by name, for the features."""

    def __init__(self, bridge: Bridge, group: TaskGroup, agent: EarlyAgent | None = None) -> None:
        """Build the parts, each from earlier ones. `agent` is an agent that is already starting."""
        self.bridge = bridge
        self.observers = HostObservers()
        self.connection_observers = ConnectionObservers[Connection]()
        self.conversation_observers = ConversationObservers()
        self.options = UserOptions()
        self.settings = self.options.settings
        self.pace = Pace(bridge.loop.time)
        self.screen = Screen(self.settings, self.pace.wake)
        self.session_list = SessionList()
        self.notices = Notices(self.screen, self.session_list.current_session)
        self.echo, self.problem = self.notices.echo, self.notices.problem
        self.limit_reports = LimitReports(self.screen)
        self.tasks = Tasks(group, self.notices.on_error)
        self.verbs = Verbs(self.notices, self.tasks)
        self.asking = Asking(self.screen.push)
        self.choose, self.ask_text = self.asking.choose, self.asking.ask_text
        self.buffers = NvimBuffers(bridge)
        self.async_calls = AsyncCalls(bridge)
        self.extensions = lua_extensions(bridge, self.screen.push, self.options.extensions)
        self.flow = Flow(self.screen, self.pace, self.settings, self.limit_reports.report)
        self.unscoped_questions = UnscopedQuestions(self.screen.push, self.screen.state)
        self.subagents = SubagentRegistry(self.screen, self.session_list)
        self.foreign_sessions = ForeignSessions(self.screen, self.session_list)
        self.comments = Comments(self.screen.push)
        self.files = self._files()
        live = LiveTexts(self.files)
        self.proposed = ProposedEdits(self.files, live, self.comments)
        self.workspace = self._workspace(live)
        self.observer = SessionEvents(self.screen, self.pace, self.workspace, self.tasks)
        self.toolbox = Toolbox((), self.notices.on_error, late=self.observers.tool_lists)
        self.tools = EditorTools(self.toolbox, self.options.runtime_directory, self.tasks)
        self.reaper = Reaper(agent)
        self.early_start = EarlyStart(agent)
        self.agents = Agents(self._surroundings(), self.options.spec)
        self.sessions = self._sessions()
        self.restarts = Restarts(
            self.agents, self.sessions.open_with, self.observers.agent_restarted
        )
        self.frames = self._frames()
        self._observe()
        self._parts: dict[type, Any] = {}

    # -- construction -----------------------------------------------------------------------------

    def _files(self) -> Files:
        view = ReviewView(
            self.screen.push,
            self.notices.notice,
            self.session_list.get,
            self.observers.titles,
        )
        return Files(self.buffers, view, self.options.files, self.session_list.all)

    def _workspace(self, live: LiveTexts) -> Workspace[Session]:
        return Workspace(
            self.files,
            live,
            self.tasks,
            self.proposed,
            Access(),
            _follow,
            self.foreign_sessions,
        )

    def _surroundings(self) -> Surroundings[Connection]:
        return Surroundings(
            settings=self.settings,
            tasks=self.tasks,
            flow=self.flow,
            launch=AgentLaunch(
                transport=partial(StdioTransport, reaper=self.reaper, early=self.early_start),
                reaper=self.reaper,
                cwd=lambda: self.session_list.cwd,
                env=agent_environment,
                via=partial(via_words, self.bridge),
            ),
            services=AgentServices(
                files=FileRequests(self.workspace.agent_files, self.observers.file_read),
                tools=self.tools,
                extensions=self.extensions,
                consent=Consent(self.problem, partial(self.options.data_file, "mcp.json")),
                ask_unscoped=self.unscoped_questions.ask,
                new_child=self.subagents.child,
            ),
            observers=self.connection_observers,
        )

    def _sessions(self) -> Sessions:
        return Sessions(
            self.session_list,
            self.screen,
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
            self.observers.session_added,
        )

    def _frames(self) -> Frames:
        return Frames(
            self.bridge,
            self.pace,
            self.observers.next_frame,
            self.flow.on_frame,
            self.workspace.persistence.wait_written,
            self.problem,
        )

    def _observe(self) -> None:
        """Add the host's own observers, which are called before the observers of features."""
        memory = Memory(self.agents.logs, lambda: self.screen.turn_runs, self.tasks)
        self.foreign_sessions.on_found.append(self.sessions.add_foreign)
        self.observers.frame_producers.append(self.screen.collect)
        self.connection_observers.on_limit_exceeded.append(self.limit_reports.report)
        conversations = self.conversation_observers
        conversations.on_open_failed.append(self.sessions.on_open_failed)
        conversations.on_worth_storing.append(self.sessions.on_worth_storing)
        conversations.on_turn_ended.append(memory.on_turn_ended)
        self.verbs.add("acp_nvim.host.verbs", "setup", "ping", "picked", "typed", "async_reply")

    # -- for features -----------------------------------------------------------------------------

    @property
    def transcripts(self) -> Transcripts:
        """Return the stored transcripts, of which there are none without the feature `history`."""
        return self.part(Transcripts, lambda: Transcripts(self.echo))

    def add(self, part: object, kind: type | None = None) -> None:
        """Add a part of a feature under its type, or under `kind`, a base class of it."""
        self._parts[kind or type(part)] = part

    def part(self, kind: type[P], make: Callable[[], P] | None = None) -> P:
        """Return the part of this type, made by `make` if no feature has added it."""
        if kind not in self._parts and make is not None:
            self._parts[kind] = make()
        return cast("P", self._parts[kind])

    def run(self, verb: str, args: Args) -> None:
        """Run a verb, which may belong to another feature."""
        self.verbs.run(self, verb, args)

    async def close(self) -> None:
        """End all agents with their process trees, then save and close the rest."""
        self.tools.close()
        self.workspace.disk.close()
        async with anyio.create_task_group() as group:
            for save in self.observers.on_exit:
                group.start_soon(save)
            group.start_soon(self.early_start.end, self.reaper)
            group.start_soon(self.workspace.persistence.close)
            for connection in self.agents.connections.values():
                group.start_soon(connection.end)
                group.start_soon(connection.terminals.close)
        notify(self.observers.on_closed)
        await self.reaper.aclose()
        await notify_in_turn(self.observers.on_processes_ended)


def _follow(session: Session, path: str, line: int | None) -> None:
    """Announce the place where an agent reads or writes."""
    session.event("AcpLocation", path=path, line=line)
