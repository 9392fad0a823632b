"""Sessions of a host by number: new ones, restored ones, the current one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from acp_nvim import memory, wording
from acp_nvim.agent.agents import Agents, is_agent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.opening.origin import NEW, Origin
from acp_nvim.agent.opening.stored import IndexFile
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.settings import Settings
from acp_nvim.files.bytes.paths import pin
from acp_nvim.files.ports import SessionInfo
from acp_nvim.files.workspace import Workspace
from acp_nvim.host.session_list import SessionList, SubagentRegistry
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.session import Session, SessionObserver
from acp_nvim.session.transcript.entries import Past
from acp_nvim.tasks import Tasks

Waiting = Callable[[int | None], None]
"""Function called with the number of a prepared session, or None if none was made."""


class Preparation:
    """Session that is being prepared, with its waiting prompts and composers."""

    def __init__(self) -> None:
        self.is_over = False
        self._composers: list[Waiting] = []
        self._prompts: list[Waiting] = []

    def add_composer(self, waiting: Waiting) -> None:
        """Call a function when the preparation is over."""
        self._composers.append(waiting)

    def add_prompt(self, waiting: Waiting) -> None:
        """Call a function when the preparation is over, or when its prompt is withdrawn."""
        self._prompts.append(waiting)

    def withdraw_prompts(self) -> bool:
        """Withdraw the waiting prompts. Return whether there were any.

        Each prompt is put in front of the composer's text, so the last one is withdrawn first.
        """
        prompts, self._prompts = self._prompts, []
        for waiting in reversed(prompts):
            waiting(None)
        return bool(prompts)

    def finish(self, n: int | None) -> None:
        """End the preparation. Session `n` is now current, or None if no session was made."""
        self.is_over = True
        for waiting in self._composers:
            waiting(n)
        if n is None:
            self.withdraw_prompts()
        for waiting in self._prompts:
            waiting(n)


class Sessions:
    """Sessions of a host, including closed ones."""

    def __init__(
        self,
        session_list: SessionList,
        screen: Screen,
        workspace: Workspace[Session],
        subagents: SubagentRegistry,
        observer: SessionObserver,
        settings: Callable[[], Settings],
        agents: Agents,
        tasks: Tasks,
        observers: ConversationObservers,
        on_added: Callable[[Session], None],
    ) -> None:
        """`observers` observe all conversations.

        `on_added` is called with each new or restored session.
        """
        self.conversations: dict[int, Conversation] = {}
        self.index: IndexFile | None = None
        """Index of the sessions that can be reopened, None before `open_index`."""
        self._list = session_list
        self._screen = screen
        self._workspace = workspace
        self._subagents = subagents
        self._observer = observer
        self._settings = settings
        self._agents = agents
        self._tasks = tasks
        self._observers = observers
        self._on_added = on_added
        self._preparations: list[Preparation] = []
        observers.on_open_failed.append(self._on_open_failed)
        observers.on_worth_storing.append(self._on_worth_storing)

    @property
    def current(self) -> int | None:
        """Return the number of the session for commands without a number."""
        return self._list.current

    def prepare(self) -> Preparation:
        """Begin the preparation of a session that will become current, and return it.

        New prompts wait until it is over.
        """
        self._preparations = [
            preparation for preparation in self._preparations if not preparation.is_over
        ]
        self._preparations.append(Preparation())
        return self._preparations[-1]

    @property
    def preparation(self) -> Preparation | None:
        """Return the newest preparation that is not over, or None."""
        latest = reversed(self._preparations)
        return next((preparation for preparation in latest if not preparation.is_over), None)

    def new(
        self,
        cwd: str,
        agent: str | None = None,
        origin: Origin = NEW,
        title: str | None = None,
        n: int = 0,
        preset: str | None = None,
        purpose: Literal["edit"] | None = None,
    ) -> Conversation:
        """Create a session without contacting its agent, and return its conversation.

        Add it to the screen and the workspace. Without a `purpose`, make it current. Its
        number is the next one, and at least `n`. `origin` determines how `Conversation.open` opens
        it at the agent. A `preset` that is no longer configured is ignored.
        """
        self._list.work_in(cwd)
        self._list.skip_to(n)
        settings = self._settings()
        configured = settings.presets.get(preset or "")
        agent = agent or (configured.agent if configured else None) or settings.agent
        number = self._list.next_number()
        session = Session(number, agent, cwd, self.directories(cwd), self._observer)
        session.title, session.preset = title, preset if configured else None
        session.purpose = purpose
        conversation = self._begin(session, origin)
        self._screen.add(session)
        self._on_added(session)
        if session.shares_files:
            pin(session.roots)
            self._workspace.prepare(session)
        if purpose is None:
            self.make_current(session.n)
        return conversation

    def new_named(self, cwd: str, name: str | None) -> Conversation:
        """Create a session with the agent `name` or, if there is none, the preset of that name."""
        if self._is_preset(name):
            return self.new(cwd, preset=name)
        return self.new(cwd, name)

    def agent_of(self, name: str | None) -> str:
        """Return the agent of a session that `new_named` would create."""
        settings = self._settings()
        agent = settings.preset(name).agent if self._is_preset(name) else name
        return agent or settings.agent

    def _is_preset(self, name: str | None) -> bool:
        settings = self._settings()
        return name is not None and name in settings.presets and not is_agent(settings, name)

    def preset_of(self, agent: str, session_id: str) -> str | None:
        """Return the preset of a session in the index, or None."""
        entry = self.index.read().get(agent, session_id) if self.index is not None else None
        return entry.preset if entry is not None else None

    def add(self, session: Session, origin: Origin, past: Past | None) -> None:
        """Add a session of an earlier host. `past` is the text of its chat."""
        self._list.skip_to(session.n + 1)
        self._begin(session, origin)
        self._screen.add(session, past)
        self._on_added(session)

    def new_closed(
        self, agent: str, cwd: str, title: str, directories: Sequence[str] = (), n: int = 0
    ) -> Session:
        """Return a new closed session, to be added by `add`."""
        session = Session(n or self._list.next_number(), agent, cwd, directories, self._observer)
        session.title, session.status = title or None, "closed"
        return session

    def add_foreign(self, info: SessionInfo, n: int) -> None:
        """Add another Neovim's session as a closed one with number `n`."""
        session = self.new_closed(info.agent, info.cwd, info.title, info.directories, n)
        self.add(session, NEW, None)
        session.notice("info", wording.OTHER_SESSION)

    def _begin(self, session: Session, origin: Origin) -> Conversation:
        spec = self._settings().agents.get(session.agent)
        session.shares_files = spec is None or spec.shares_files
        conversation = self.conversations[session.n] = Conversation(
            session, self._agents, self._tasks, self._settings, self._observers, origin
        )
        self._list.add(session)
        return conversation

    def directories(self, cwd: str) -> list[str]:
        """Return option `files.directories`: absolute paths, based on `cwd`, without duplicates."""
        paths = self._settings().files.directories
        return list(dict.fromkeys(str(Path(cwd, Path(path).expanduser())) for path in paths))

    def make_current(self, n: int) -> None:
        """Make this the session for commands without a number."""
        self._list.make_current(n)
        if n in self.conversations:
            self.conversations[n].mark_used()
        self._screen.state(["current"], n)

    def leave(self, n: int) -> None:
        """Release the data of session `n`, which is about to be closed or could not be opened.

        If it is current, make the most recently used open session current, if there is one.
        """
        memory.unfreeze_objects()
        self._workspace.files.bases.forget_session(str(n))
        others = (c for key, c in self.conversations.items() if key != n)
        rest = [c for c in others if c.session.status != "closed" and c.session.purpose is None]
        if self.current == n and rest:
            self.make_current(max(rest, key=lambda c: c.used).session.n)

    def open_with(self, agent: str) -> list[Conversation]:
        """Return the sessions of an agent that are not closed."""
        matches = (c for c in self.conversations.values() if c.session.agent == agent)
        return [c for c in matches if c.session.status != "closed"]

    def conversation(self, n: int | None) -> Conversation | None:
        """Return the conversation of a session, or of the current one if `n` is None.

        For a subagent, return the conversation of its root session.
        """
        key = self.current if n is None else n
        return None if key is None else self.conversations.get(self._subagents.root(key))

    def agent_name(self, named: object) -> str:
        """Return the named agent, else the agent of the current session, else the default agent."""
        conversation = self.conversation(None)
        current = conversation.session.agent if conversation else self._settings().agent
        return str(named or current)

    def show(self, conversation: Conversation) -> None:
        """Make a session current and show its chat, in place of the chat that the user is in."""
        self.make_current(conversation.session.n)
        self._screen.push("choose_chat", conversation.session.n)

    # -- index ------------------------------------------------------------------------------------

    def open_index(self, path: Path | None, problem: Callable[[str], None]) -> None:
        """Set the index file, unless it is already set. `problem` is called with errors."""
        if path is not None and self.index is None:
            self.index = IndexFile(path, problem)

    def _on_open_failed(self, session: Session) -> None:
        self.leave(session.n)

    def _on_worth_storing(self, session: Session, connection: Connection) -> None:
        """Store a session in the index if its agent can reopen it and the user started it.

        An inline edit's session is not stored.
        """
        can_reopen = connection.agent.capabilities.load_session is True
        can_reopen = can_reopen or bool(connection.agent.session_capabilities.resume)
        if self.index is not None and can_reopen and session.purpose is None:
            title = session.title or session.topic
            self.index.remember(session.agent, session.id, session.cwd, title, session.preset)
