"""The host: builds all objects of the Python process and gives them to one another."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import anyio
import msgspec

from acp_nvim import wording
from acp_nvim.agent import auth
from acp_nvim.agent.agents import Agents, spec_of
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.agent.child.reaper import Reaper
from acp_nvim.agent.connection import Connection, Surroundings
from acp_nvim.agent.consent import Consent
from acp_nvim.agent.conversation import Conversation
from acp_nvim.agent.file_requests import FileRequests
from acp_nvim.agent.restarts import Reconnects, Restarts
from acp_nvim.agent.session_setup import NEW, Origin
from acp_nvim.agent.settings import AgentSettings, Settings, decode, file_options
from acp_nvim.agent.stored import IndexFile
from acp_nvim.agent.transport.stdio import EarlyStart, StdioTransport
from acp_nvim.editor import garbage
from acp_nvim.editor.access import Access
from acp_nvim.editor.asking import Asking
from acp_nvim.editor.async_calls import AsyncCalls
from acp_nvim.editor.bridge import Bridge
from acp_nvim.editor.buffers import NvimBuffers
from acp_nvim.editor.comments import Comments
from acp_nvim.editor.documents import NvimDocuments
from acp_nvim.editor.environment import agent_environment
from acp_nvim.editor.extending import in_lua
from acp_nvim.editor.flow import Flow
from acp_nvim.editor.foreign_sessions import ForeignSessions
from acp_nvim.editor.frames import Frames
from acp_nvim.editor.history import History
from acp_nvim.editor.language_servers import NvimLanguageServers
from acp_nvim.editor.limit_reports import LimitReports
from acp_nvim.editor.live_terminals import TerminalViews
from acp_nvim.editor.overwrites import Overwrites
from acp_nvim.editor.own_turns import OwnTurns
from acp_nvim.editor.pace import Pace
from acp_nvim.editor.proposal_check import ProposalCheck
from acp_nvim.editor.proposed_edits import ProposedEdits, shows_patches
from acp_nvim.editor.review_view import ReviewView
from acp_nvim.editor.screen import Screen
from acp_nvim.editor.sent import SentPrompts
from acp_nvim.editor.session_observer import HostObserver
from acp_nvim.editor.subagent_registry import SubagentRegistry
from acp_nvim.editor.tool_call_watch import ToolCallWatch
from acp_nvim.editor.tool_editor import ToolEditor
from acp_nvim.editor.tool_permissions import ToolPermissions
from acp_nvim.editor.tools import EditorTools, http_door, own_tools
from acp_nvim.editor.unsaved_changes import UnsavedChanges
from acp_nvim.editor.unscoped_questions import UnscopedQuestions
from acp_nvim.editor.user_tools import NvimUserTools
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.entries import Past
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.session import Session
from acp_nvim.session.terminal import Terminal
from acp_nvim.tasks import Tasks
from acp_nvim.tools.changes import Changes
from acp_nvim.tools.door import Door
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.over_acp import McpOverAcp
from acp_nvim.tools.reading import reading_tools
from acp_nvim.tools.searcher import ProgramSearcher
from acp_nvim.tools.toolbox import Toolbox
from acp_nvim.tools.user_tools import UserTools
from acp_nvim.tools.writing import writing_tools
from acp_nvim.workspace import private_files
from acp_nvim.workspace.pending_edits import PendingEdits
from acp_nvim.workspace.ports import FileOptions, SessionInfo
from acp_nvim.workspace.turns import real_roots
from acp_nvim.workspace.workspace import Workspace


class Host:
    """Sessions by our number, agents by name, and the way to the screen."""

    _next = 1
    current: int | None = None
    index: IndexFile | None = None

    def __init__(self, bridge: Bridge, agent: EarlyAgent | None = None) -> None:
        """Nothing is started; verbs do that. One agent may run already."""
        self.bridge = bridge
        self.options = Settings()
        self.pace = Pace(bridge.loop.time)
        self.screen = Screen(self.settings, self.pace.wake, self._edits_shown)
        self.limit_reports = LimitReports(self.screen)
        self.terminal_views = TerminalViews(self.terminal)
        self.flow = Flow(self.screen, self.pace, self.settings, self.limit_reports.tell)
        self.frames = Frames(bridge, self.pace, self.collect, self.flow.drained, self.problem)
        self.history = self._history()
        self.conversations: dict[int, Conversation] = {}
        self.problems: list[str] = []
        self.access = Access()
        self.file_options = FileOptions()
        self.comments = Comments(self.screen.push)
        self.reaper = Reaper(agent)
        self.early_start = EarlyStart(agent)
        self.unscoped_questions = UnscopedQuestions(self.screen.push, self.screen.state)
        self.subagents = SubagentRegistry(self.screen, self.number)
        self.reviewed: dict[str, dict[str, Any]] = {}
        """Values of forms that the user has to confirm, by id of the decision."""
        asking = self.asking = Asking(self.screen.push)
        self.choose, self.ask_text = asking.choose, asking.ask_text
        self.buffers = NvimBuffers(bridge)
        self.unsaved = UnsavedChanges(self.buffers, lambda: self.file_options, self.choose)
        self.extensions = in_lua(bridge, self.screen.push, lambda: self.options.extensions)
        self.async_calls = AsyncCalls(bridge)
        self.tool_editor = ToolEditor(bridge, self.async_calls)
        self.sent = SentPrompts(self.problem)
        self.consent = Consent(self.problem, lambda: self._data_file("mcp.json"))
        self.cwd = str(Path.home())  # where the user worked last: agents are started there
        self.logins: set[str] = set()
        """Agents whose login runs in a terminal."""
        self.after_login: list[tuple[str, Callable[[], None]]] = []
        """Actions that wait for a login, with the name of the agent."""
        self.foreign_sessions = self._foreign_sessions()
        self.workspace: Workspace[Session]
        self.proposed: ProposedEdits
        self.proposal_check: ProposalCheck
        self.observer: HostObserver
        self.tools: EditorTools
        self.user_tools: UserTools
        self.tasks: Tasks
        self.agents: Agents
        self.restarts: Restarts
        self.reconnects: Reconnects
        self._greeted: WeakSet[Connection] = WeakSet()

    def _edits_shown(self, session: Session, decision: Decision) -> None:
        """A card with edits is drawn: say of them what takes time to find out."""
        if shows_patches(session, decision):
            self.tasks.start_soon(self.proposed.check, session, decision)
        self.proposal_check.shown(session, decision)

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

    def settings(self) -> Settings:
        """The user's options, as Lua sent them last."""
        return self.options

    async def run(self, verbs: Any) -> None:
        """Live until cancelled; then end every agent before returning."""
        try:
            async with anyio.create_task_group() as group:
                self.tasks = Tasks(group, self.failed)
                self.workspace = self._workspace()
                watch = ToolCallWatch(self.workspace.tool_calls)
                own_turns = OwnTurns(self.tasks, self.workspace)
                overwrites = Overwrites(self.workspace.edits.live, self.tasks)
                self.observer = HostObserver(self.screen, self.pace, watch, own_turns, overwrites)
                self.tools = self._own_tools()
                self.agents = Agents(self._surroundings(), self.spec)
                self.restarts = Restarts(self.agents, self.served)
                self.reconnects = Reconnects(self.agents, self.served)
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

    def _workspace(self) -> Workspace[Session]:
        return Workspace(
            self.buffers,
            ReviewView(self.screen.push, self.notice, lambda n: self.conversations[n].session),
            lambda: self.file_options,
            self.sessions,
            self.tasks,
            self._amends,
            self.access,
            self.worked_at,
            self.foreign_sessions,
            self.history,
        )

    def _amends(self, edits: PendingEdits) -> ProposedEdits:
        self.proposed = ProposedEdits(edits, self.comments)
        self.proposal_check = ProposalCheck(
            self.async_calls, self.proposed, self.tasks, self.settings, self.screen.push
        )
        return self.proposed

    def _own_tools(self) -> EditorTools:
        files = self.workspace.files
        seen = ToolFiles(files, self.workspace.edits.buffers, lambda: self.file_options)
        servers = NvimLanguageServers(self.async_calls)
        reading = reading_tools(servers, self.tool_editor, seen, ProgramSearcher())
        permissions = ToolPermissions(self.settings)
        writing = writing_tools(
            servers,
            NvimDocuments(self.bridge, self.async_calls),
            Changes(files, self.workspace.change_sets, permissions),
        )
        toolbox = Toolbox(own_tools(files, [*reading, *writing], self.unsaved.reads), self.failed)
        door = Door(toolbox, self.tasks, lambda: self.options.stdpath.get("run"))
        new_http_door = partial(http_door, toolbox, self.tasks)
        tools = EditorTools(toolbox, door, McpOverAcp(toolbox), self.tasks, new_http_door)
        runner = NvimUserTools(self.async_calls)
        self.user_tools = UserTools(toolbox, runner, permissions, tools.refresh)
        return tools

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            settings=self.settings,
            files=FileRequests(self.workspace.files, self.unsaved.reads),
            reaper=self.reaper,
            transport=partial(StdioTransport, reaper=self.reaper, early=self.early_start),
            tasks=self.tasks,
            flow=self.flow,
            report_limit=self.limit_reports.tell,
            changed=self.agent_changed,
            ended=self.agent_ended,
            authenticated=self.logged_in,
            cwd=lambda: self.cwd,
            env=agent_environment,
            extensions=self.extensions,
            consent=self.consent,
            tools=self.tools,
            ask_unscoped=self.unscoped_questions.ask,
            new_child=self.subagents.child,
        )

    # -- options ----------------------------------------------------------------------------------

    def configure(self, table: dict[str, Any]) -> None:
        """Take over the options of verb `setup`."""
        self._next = max(self._next, int(table.pop("next_session", 1)))
        self.options = options = decode(table)
        data = options.stdpath.get("data")
        index = self._data_file("sessions.json")
        if index is not None and self.index is None:
            self.index = IndexFile(index, self.problem)
        for connection in self.agents.connections.values():
            connection.configured()
        self.file_options = file_options(options)
        self.history.configure(options.history, self._data_file("history.db"))
        self.workspace.keep_in(Path(data) / "acp" if data else None)
        self.screen.configured()
        self.screen.state(["host"], "running")

    def choose_agent(self, name: str) -> None:
        """Use this agent for new sessions."""
        self.options = msgspec.structs.replace(self.options, agent=name)

    def extend(self, names: list[str]) -> None:
        """The user handles these methods of agents' own now."""
        self.options = msgspec.structs.replace(self.options, extensions=names)

    def work_in(self, cwd: str) -> None:
        """The user works there."""
        self.cwd = cwd

    def spec(self, name: str) -> AgentSettings | None:
        """Return how an agent is started. Raises `UnknownAgent` like `agents.spec_of`."""
        return spec_of(self.options, name)

    def _data_file(self, name: str) -> Path | None:
        """A file of ours in `stdpath('data')`, None before Lua has told where that is."""
        data = self.options.stdpath.get("data")
        return Path(data) / "acp" / name if data else None

    def cache(self, name: str) -> Path:
        """A directory of ours for files that may go at any time; only the user may look into
        it.
        """
        root = self.options.stdpath.get("cache") or str(Path(tempfile.gettempdir()))
        return private_files.directory(Path(root) / "acp" / name)

    # -- sessions ---------------------------------------------------------------------------------

    def new_session(
        self,
        cwd: str,
        agent: str | None = None,
        origin: Origin = NEW,
        title: str | None = None,
        n: int = 0,
    ) -> Conversation:
        """Make a session with the next number, `n` or a later one, and make it current; nothing is
        sent yet.

        `origin` says how `Conversation.open` opens it at the agent.
        """
        self.cwd = cwd
        self._next = max(self._next, n)
        agent = agent or self.options.agent
        session = Session(self.number(), agent, cwd, self.directories(cwd), self.observer)
        session.title = title
        conversation = self._converse(session, origin)
        self.screen.add(session)
        self.workspace.prepare(session)
        self.make_current(session.n)
        return conversation

    def take_up(self, session: Session, origin: Origin, past: Past | None) -> None:
        """Go on with a session that was open here before this process; its chat shows `past`."""
        self._next = max(self._next, session.n + 1)
        self._converse(session, origin)
        if past is not None:
            self.history.follow(session, None, 1)
        self.screen.add(session, past)

    def _foreign_sessions(self) -> ForeignSessions:
        return ForeignSessions(self._foreign_session, self.screen.state, self.screen.push)

    def _foreign_session(self, info: SessionInfo, n: int) -> int:
        """Make a closed session for what another Neovim has there; returns its number."""
        n = n or self.number()
        session = Session(n, info.agent, info.cwd, info.directories, self.observer)
        session.title, session.status = info.title or None, "closed"
        self.take_up(session, NEW, None)
        session.notice("info", wording.OTHER_SESSION)
        return n

    def _converse(self, session: Session, origin: Origin) -> Conversation:
        conversation = Conversation(session, self.agents, self.tasks, self, origin)
        self.conversations[session.n] = conversation
        return conversation

    def directories(self, cwd: str) -> list[str]:
        """Option `files.directories` for a session there: absolute, each once."""
        paths = self.options.files.directories
        return list(dict.fromkeys(str(Path(cwd, Path(path).expanduser())) for path in paths))

    def number(self) -> int:
        """The next number of a session."""
        self._next += 1
        return self._next - 1

    def make_current(self, n: int) -> None:
        """The session that commands without a number mean."""
        self.current = n
        if n in self.conversations:
            self.conversations[n].mark_used()
        self.screen.state(["current"], n)

    def leave(self, n: int) -> None:
        """A session is to be closed, or could not be opened: the one used before it is current,
        where one is open.
        """
        garbage.look_again()
        self.workspace.files.forget(str(n))
        others = (c for key, c in self.conversations.items() if key != n)
        rest = [c for c in others if c.session.status != "closed"]
        if self.current == n and rest:
            self.make_current(max(rest, key=lambda c: c.used).session.n)

    def served(self, agent: str) -> list[Conversation]:
        """The sessions of an agent that are not closed."""
        ours = (c for c in self.conversations.values() if c.session.agent == agent)
        return [c for c in ours if c.session.status != "closed"]

    def sessions(self) -> list[Session]:
        """All sessions of this host, ended ones included."""
        return [conversation.session for conversation in self.conversations.values()]

    def conversation(self, n: int | None) -> Conversation | None:
        """Return a session's conversation (a child's is its parent's); without a number the
        current one's.
        """
        key = self.current if n is None else n
        return None if key is None else self.conversations.get(self.subagents.root(key))

    def terminal(self, n: int, id: str) -> Terminal | None:
        """Return a terminal of a session, of a child's as well."""
        session = self.screen.sessions.get(n)
        return None if session is None else session.terminals.get(id)

    def collect(self, budget: int) -> tuple[list[list[Any]], bool]:
        """Return the next frame: the screen's, then the output of terminals that are shown."""
        self.history.noticed()
        ops, more = self.screen.collect(budget)
        output, waits = self.terminal_views.collect(budget)
        return ops + output, more or waits

    def decision(self, decision_id: str) -> Decision | None:
        """Find a pending decision, in all sessions and beyond."""
        asked = [session.decisions for session in self.sessions()]
        asked.append(self.unscoped_questions.decisions)
        found = (decisions.get(decision_id) for decisions in asked)
        return next((decision for decision in found if decision is not None), None)

    # -- what agents do ---------------------------------------------------------------------------

    def agent_changed(self, connection: Connection) -> None:
        """Show an agent's state, unless another process of it has taken its place."""
        if self.agents.connections.get(connection.name) is connection:
            self.screen.state(["agents", connection.name], connection.snapshot())
        if connection.status == "ready" and connection not in self._greeted:
            self._greeted.add(connection)
            self.screen.event("AcpAgentReady", agent=connection.name)

    def agent_ended(self, connection: Connection) -> None:
        """An agent's process is gone, or the connection to one elsewhere; its sessions say so."""
        for conversation in self.conversations.values():
            conversation.agent_ended(connection)
        self.agent_changed(connection)
        if connection.returns:
            self.reconnects.take_up(connection)
            return
        end = connection.exit
        self.screen.event(
            "AcpAgentExit",
            agent=connection.name,
            code=end.code if end else None,
            signal=end.signal if end else None,
            stderr="\n".join(connection.stderr(20)),
        )

    def worked_at(self, session: Session, path: str, line: int | None) -> None:
        """An agent reads or writes here (follow-along)."""
        session.event("AcpLocation", path=path, line=line)

    # -- ConversationDelegate ----------------------------------------------------------------------

    def give_back(self, session: Session, prompt: Prompt) -> None:
        """A prompt that was not sent goes back to its composer, with its attachments."""
        self.sent.came_back(prompt)
        self.unsaved.forget(session)
        if prompt.text or prompt.attachments:
            self.screen.push("composer", session.n, prompt.text, prompt.files(), prompt.ranges())

    def waits_again(self, prompt: Prompt) -> None:
        """A prompt that was under way is in the queue again."""
        self.sent.came_back(prompt)

    def turn_comes(self, session: Session) -> None:
        """A prompt waits until the session is open: the files are looked at meanwhile."""
        self.pace.hold()
        self.workspace.turn_comes(session)

    async def turn_began(self, session: Session, prompt: Prompt) -> None:
        """A prompt is about to be sent: the files' state is kept."""
        if session.tools is not None:
            self.tool_editor.turn_began(session)
        self.buffers.settle(session.n, real_roots(session))
        unsaved = prompt.fresh_unsaved(time.monotonic())
        texts = await self.workspace.turn_began(session, prompt, clean_text(prompt.text), unsaved)
        prompt.count_as(self.workspace.rewind.last(session))
        await self.unsaved.join(session, prompt, texts, embeds=self._embeds(session))

    def _embeds(self, session: Session) -> bool:
        """Whether the session's agent takes resources in prompts."""
        connection = self.conversations[session.n].connection
        if connection is None:
            return False
        return connection.agent.prompt_capabilities.embedded_context is True

    def under_way(self, session: Session, prompt: Prompt) -> None:
        """A prompt has left the queue: remarks go with it, and it comes back from here when the
        host ends.
        """
        self.pace.release()
        self.sent.went(prompt)
        self.unsaved.went(session)
        self.tools.prompted(session)
        self.history.prompted(prompt.text, session.cwd)
        self.comments.join(prompt, session.n)
        if prompt.text or not prompt.given:
            op = ("under_way", session.n, prompt.text, prompt.files(), prompt.ranges())
            self.screen.push(*op)

    async def turn_follows(self, session: Session, prompt: Prompt) -> None:
        """A prompt that the agent has already begins a turn: the files' state is kept."""
        label = clean_text(prompt.text)
        await self.workspace.turn_began(session, prompt, label, under_way=True)
        prompt.count_as(self.workspace.rewind.last(session))

    def turn_cancelled(self, session: Session) -> None:
        """The user has cancelled a turn: calls of the editor's own tools end with it."""
        self.tools.cancel(session)

    def left_agent(self, session: Session) -> None:
        """A session is closed, or its agent gone: its tools go with it."""
        if session.tools is not None:
            self.tool_editor.closed(session)
        self.tools.withdraw(session)

    async def turn_ended(self, session: Session) -> None:
        """A turn is over: its changes on disk are taken up before the next one."""
        self.screen.push("under_way", session.n)
        if session.tools is not None:
            self.tool_editor.turn_ended(session)
        self.unsaved.turn_ended(session)
        await self.workspace.turn_ended(session)

    def login_needed(self, connection: Connection, session: Session | None) -> None:
        """Say that the agent wants a login; what waits goes on afterwards."""
        connection.require_login()
        methods = auth.offered(connection.spec, connection.agent.auth_methods)
        data = {"agent": connection.name, "methods": methods}
        if session is not None:
            session.event("AcpAuthRequired", **data)
        else:
            self.screen.event("AcpAuthRequired", **data)
        self.echo("warn", wording.LOGIN_NEEDED.format(agent=connection.title, waiting=""))

    async def restart(self, name: str) -> None:
        """End an agent's process tree, start it again and reopen its sessions.

        Raises `UnknownAgent`.
        """
        connection = await self.restarts.restart(name)
        if connection is not None and await connection.ready():
            self._go_on(name)

    def logged_in(self, connection: Connection) -> None:
        """The user has logged in: whatever waited for that goes on."""
        self.tasks.start_soon(connection.logged_in)
        for conversation in self.conversations.values():
            if conversation.session.agent == connection.name:
                conversation.logged_in()
        self._go_on(connection.name)

    def _go_on(self, name: str) -> None:
        wanted = [go_on for agent, go_on in self.after_login if agent == name]
        self.after_login = [one for one in self.after_login if one[0] != name]
        for go_on in wanted:
            go_on()

    def remember(self, session: Session, connection: Connection, topic: str) -> None:
        """Keep a session for the list, where its agent can open it again."""
        capable = connection.agent.capabilities.load_session is True
        capable = capable or bool(connection.agent.session_capabilities.resume)
        if self.index is not None and capable:
            self.index.remember(session.agent, session.id, session.cwd, session.title or topic)

    # -- words to the user ------------------------------------------------------------------------

    def notice(self, text: str) -> None:
        """Something is not kept or not seen, by a limit or because it cannot be."""
        conversation = self.conversation(None)
        if conversation is None:
            self.screen.event("AcpNotice", severity="warning", title=text)
            self.echo("warn", text)
            return
        conversation.session.notice("warning", text)
        conversation.session.event("AcpNotice", severity="warning", title=text)

    def echo(self, level: str, message: str) -> None:
        """One line to the user."""
        self.screen.push("echo", level, message)

    def failed(self, what: str, error: Exception) -> None:
        """A task of ours broke; the rest goes on."""
        self.problem(f"{what}: {type(error).__name__}: {error}")
        self.echo("error", wording.FAULT.format(where=what, reason=error))

    def problem(self, text: str) -> None:
        """Something of ours went wrong; it is kept for `:Acp info`, and stderr goes to the health
        check.
        """
        self.problems.append(text)
        del self.problems[:-50]
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
