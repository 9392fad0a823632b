"""Host: builds its parts in order, and ends them on exit."""

from __future__ import annotations

from functools import partial

import anyio
from anyio.abc import TaskGroup

from acp_nvim.agent.agents import Agents
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify, notify_in_turn
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.agent.restarts import Restarts
from acp_nvim.agent.serving.consent import Consent
from acp_nvim.agent.serving.file_requests import Access, FileRequests, announce_location
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
from acp_nvim.host.observers import HostObservers, Parts
from acp_nvim.host.review_view import ReviewView
from acp_nvim.host.session_events import SessionEvents
from acp_nvim.host.session_list import ForeignSessions, SessionList, SubagentRegistry
from acp_nvim.host.sessions import Sessions
from acp_nvim.host.transcripts import Transcripts
from acp_nvim.host.unscoped_questions import UnscopedQuestions
from acp_nvim.memory import Memory
from acp_nvim.nvim.bridge import Bridge
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.nvim.neovim import Neovim
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server.toolbox import Toolbox
from acp_nvim.verbs import Args, Verbs


class Host:
    """Parts of a host by name, for the features."""

    def __init__(self, bridge: Bridge, group: TaskGroup, agent: EarlyAgent | None = None) -> None:
        """Build the parts, each from earlier ones. `agent` is an agent that is already starting."""
        self.observers = observers = HostObservers()
        self.connection_observers = ConnectionObservers[Connection]()
        self.conversation_observers = ConversationObservers()
        self.session_list = session_list = SessionList()
        self.nvim = nvim = Neovim(bridge, observers.next_frame, session_list.current_session)
        self.screen, self.options, self.settings = nvim.screen, nvim.options, nvim.options.settings
        self.echo, self.problem = nvim.notices.echo, nvim.notices.problem
        self.choose, self.ask_text = nvim.asking.choose, nvim.asking.ask_text
        self.tasks = Tasks(group, nvim.notices.on_error)
        self.verbs = Verbs(nvim.notices, self.tasks)
        self.parts = Parts()
        self.parts.add(Transcripts(self.echo))
        self.subagents = SubagentRegistry(self.screen, session_list)
        self.foreign_sessions = others = ForeignSessions(self.screen, session_list)
        self.unscoped_questions = UnscopedQuestions(self.screen.push, self.screen.state)
        view = ReviewView(self.screen.push, nvim.notices.notice, session_list.get, observers.titles)
        self.files = Files(nvim.buffers, view, self.options.files, session_list.all)
        live = LiveTexts(self.files)
        self.comments = Comments(self.screen.push)
        self.proposed = ProposedEdits(self.files, live, self.comments)
        self.workspace = Workspace(
            self.files, live, self.tasks, self.proposed, Access(), announce_location, others
        )
        self.observer = SessionEvents(self.screen, nvim.pace, self.workspace, self.tasks)
        self.toolbox = Toolbox((), nvim.notices.on_error, late=observers.tool_lists)
        self.tools = EditorTools(self.toolbox, self.options.runtime_directory, self.tasks)
        self.reaper = Reaper(agent)
        self.early_start = EarlyStart(self.reaper, agent)
        self.agents = Agents(self._surroundings(), self.options.spec)
        self.sessions = self._sessions()
        self.restarts = Restarts(self.agents, self.sessions.open_with, observers.agent_restarted)
        self._observe()

    def _surroundings(self) -> Surroundings[Connection]:
        return Surroundings(
            settings=self.settings,
            tasks=self.tasks,
            flow=self.nvim.flow,
            launch=AgentLaunch(
                transport=partial(StdioTransport, reaper=self.reaper, early=self.early_start),
                reaper=self.reaper,
                cwd=lambda: self.session_list.cwd,
                env=agent_environment,
                via=self.nvim.via_words,
            ),
            services=AgentServices(
                files=FileRequests(self.workspace.agent_files, self.observers.file_read),
                tools=self.tools,
                extensions=self.nvim.extensions,
                consent=Consent(self.problem, partial(self.options.data_file, "mcp.json")),
                ask_unscoped=self.unscoped_questions.ask,
                new_child=self.subagents.child,
                wait_for_cancels=self.nvim.buffers.wait_for_cancels,
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
            self.agents,
            self.tasks,
            self.conversation_observers,
            self.observers.session_added,
        )

    def _observe(self) -> None:
        """Add the host's own observers, which are called before the observers of features."""
        memory = Memory(self.agents.logs, lambda: self.screen.turn_runs, self.tasks)
        self.foreign_sessions.on_found.append(self.sessions.add_foreign)
        self.observers.frame_producers.append(self.screen.collect)
        self.connection_observers.on_limit_exceeded.append(self.nvim.limit_reports.report)
        self.conversation_observers.on_turn_ended.append(memory.on_turn_ended)
        self.verbs.add("acp_nvim.host.verbs", "setup", "ping", "picked", "typed", "async_reply")

    @property
    def transcripts(self) -> Transcripts:
        """Return the stored transcripts, which are empty without the feature `history`."""
        return self.parts.get(Transcripts)

    def run(self, verb: str, args: Args) -> None:
        """Run a verb, which may belong to another feature."""
        self.verbs.run(self, verb, args)

    async def close(self) -> None:
        """End all agents with their process trees, then save and close the rest."""
        self.tools.close()
        async with anyio.create_task_group() as group:
            parts = self.early_start.end, self.workspace.close, self.agents.end
            for end in (*self.observers.on_exit, *parts):
                group.start_soon(end)
        notify(self.observers.on_closed)
        await self.reaper.aclose()
        await notify_in_turn(self.observers.on_processes_ended)
