"""What the editor does around each prompt: before it is sent, while it is answered, afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from msgspec import Struct

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.agent.settings import Settings
from acp_nvim.features.history.history import History
from acp_nvim.features.login.logins import Logins
from acp_nvim.features.prompts.earlier_prompts import EarlierPrompts
from acp_nvim.features.prompts.sent import SentPrompts
from acp_nvim.features.sessions.sessions import Sessions
from acp_nvim.features.tools.tools import EditorTools
from acp_nvim.features.unsaved.unsaved_changes import UnsavedChanges
from acp_nvim.files.changes.turns import real_roots, roots_above
from acp_nvim.files.workspace import Workspace
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.nvim.memory import Memory
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.nvim.tool_editor import ToolEditor
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class HostDelegate(Struct, frozen=True, eq=False):
    """The `ConversationDelegate` of all sessions of a host."""

    screen: Screen
    pace: Pace
    sessions: Sessions
    logins: Logins
    workspace: Workspace[Session]
    buffers: NvimBuffers
    unsaved: UnsavedChanges
    comments: Comments
    sent: SentPrompts
    history: History
    earlier_prompts: EarlierPrompts
    tools: EditorTools
    tool_editor: ToolEditor
    memory: Memory
    options: Callable[[], Settings]

    def settings(self) -> Settings:
        """The user's options."""
        return self.options()

    def give_back(self, session: Session, prompt: Prompt) -> None:
        """A prompt that was not sent goes back to its composer, with its attachments."""
        self.sent.came_back(prompt)
        self.unsaved.forget(session)
        if prompt.text or prompt.attachments:
            self.screen.push("composer", session.n, prompt.text, prompt.files(), prompt.ranges())

    def waits_again(self, prompt: Prompt) -> None:
        """A prompt that was under way is in the queue again."""
        self.sent.came_back(prompt)

    def opened(self, session: Session) -> None:
        """The session is open at its agent: the prompts of before are known now, unless the agent
        replays them later.
        """
        origin = self.sessions.conversations[session.n].origin
        if origin.id:
            self.earlier_prompts.take_up(session, origin.id)

    def turn_comes(self, session: Session) -> None:
        """A prompt waits until the session is open: the files are looked at meanwhile."""
        self.pace.hold()
        self.workspace.turn_comes(session)

    async def turn_began(self, session: Session, prompt: Prompt) -> None:
        """A prompt is about to be sent: the files' state is kept."""
        if session.tools is not None:  # Neovim has time until the agent calls one
            asyncio.get_running_loop().call_soon(self.tool_editor.turn_began, session)
        roots = real_roots(session)
        self.buffers.settle(session.n, [*roots, *roots_above(roots)])
        unsaved = prompt.fresh_unsaved(time.monotonic())
        self.opened(session)
        texts = await self.workspace.turn_began(session, prompt, clean_text(prompt.text), unsaved)
        prompt.count_as(self.workspace.rewind.last(session))
        await self.unsaved.join(session, prompt, texts, embeds=self._embeds(session))

    def _embeds(self, session: Session) -> bool:
        """Whether the session's agent takes resources in prompts."""
        connection = self.sessions.conversations[session.n].connection
        if connection is None:
            return False
        return connection.agent.prompt_capabilities.embedded_context is True

    async def turn_follows(self, session: Session, prompt: Prompt) -> None:
        """A prompt that the agent has already begins a turn: the files' state is kept."""
        self.opened(session)
        label = clean_text(prompt.text)
        await self.workspace.turn_began(session, prompt, label, under_way=True)
        prompt.count_as(self.workspace.rewind.last(session))

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
            self.screen.push(*op, prompt.delivery)

    async def turn_ended(self, session: Session) -> None:
        """A turn is over: its changes on disk are taken up before the next one."""
        self.screen.push("under_way", session.n)
        if session.tools is not None:
            self.tool_editor.turn_ended(session)
        self.unsaved.turn_ended(session)
        self.memory.turn_ended()
        await self.workspace.turn_ended(session)

    def turn_cancelled(self, session: Session) -> None:
        """The user has cancelled a turn: calls of the editor's own tools end with it."""
        self.tools.cancel(session)

    def left_agent(self, session: Session) -> None:
        """A session is closed, or its agent gone: its tools go with it."""
        if session.tools is not None:
            self.tool_editor.closed(session)
        self.tools.withdraw(session)

    def login_needed(self, connection: Connection, session: Session) -> None:
        """The agent refuses until the user logs in."""
        self.logins.needed(connection, session)

    def leave(self, n: int) -> None:
        """A session could not be opened: another one is the current one."""
        self.sessions.leave(n)

    def remember(self, session: Session, connection: Connection, topic: str) -> None:
        """Keep the session for the list of sessions."""
        self.sessions.remember(session, connection, topic)
