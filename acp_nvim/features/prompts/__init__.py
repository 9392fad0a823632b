"""Prompts: sending, attachments, the queue, and observers that update screen and workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from acp_nvim.agent.observers import TurnStart
from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.features.prompts.sent import SentPrompts
from acp_nvim.files.workspace import Workspace
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.app import Host


class PromptView(Struct, frozen=True, eq=False):
    """Observer of all prompts that updates screen and composer."""

    screen: Screen
    pace: Pace
    sent: SentPrompts
    comments: Comments

    def on_awaited(self, session: Session) -> None:
        """Delay the next frame until the prompt is sent."""
        self.pace.hold()

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        """Resume the frames, record the prompt on disk as sent, and add the user's comments.

        Show the prompt as running. Neovim keeps a running prompt even if the host exits.
        """
        self.pace.release()
        self.sent.on_sent(prompt)
        self.comments.join(prompt, session.n)
        if prompt.text or not prompt.given:
            op = ("under_way", session.n, prompt.text, prompt.files(), prompt.ranges())
            self.screen.push(*op, prompt.delivery)

    def on_prompt_requeued(self, session: Session, prompt: Prompt) -> None:
        """Record on disk that the prompt was not sent."""
        self.sent.on_returned(prompt)

    def on_prompt_returned(self, session: Session, prompt: Prompt) -> None:
        """Put the prompt back into its composer, with its attachments.

        The session of an inline edit has no composer.
        """
        self.sent.on_returned(prompt)
        if session.purpose is None and (prompt.text or prompt.attachments):
            self.screen.push("composer", session.n, prompt.text, prompt.files(), prompt.ranges())

    async def on_turn_ended(self, session: Session) -> None:
        """Stop showing a prompt as running."""
        self.screen.push("under_way", session.n)


class TurnFiles(Struct, frozen=True, eq=False):
    """Turn observer that tells the workspace when turns begin and end."""

    workspace: Workspace[Session]
    buffers: NvimBuffers

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Begin the turn in the workspace, which records the contents of the files.

        Send the directories of the turn to Neovim. Store the prompt's number in its session.
        """
        session, prompt = turn.session, turn.prompt
        if not session.shares_files:
            return
        if not turn.is_at_agent and await self.workspace.wait_decided():
            turn.texts = None  # a decision may have changed them
        turn.texts = await self.workspace.begin_turn(
            session, prompt, clean_text(prompt.text), turn.texts, under_way=turn.is_at_agent
        )
        self.buffers.send_session_roots(session.n, self.workspace.turn_roots(session))
        prompt.set_number(self.workspace.prompts.last(session))

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        if session.shares_files and not (session.in_turn or session.at_work):
            self.workspace.on_prompt_sent(session)

    async def on_turn_ended(self, session: Session) -> None:
        """End the turn in the workspace, which finds its last changes."""
        if session.shares_files:
            await self.workspace.end_turn(session)


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.prompts.verbs", "prompt", "send", "begin", "cancel", "queue", "prompts"
    )
    app.verbs.add("acp_nvim.features.prompts.attach", "attach")
    sent = SentPrompts(app.problem)
    app.observers.on_setup.append(sent.on_setup)
    app.observers.on_closing.append(sent.close)
    app.observers.on_closed.append(sent.tidy)
    view = PromptView(app.screen, app.nvim.pace, sent, app.comments)
    files = TurnFiles(app.workspace, app.nvim.buffers)
    observers = app.conversation_observers
    observers.on_awaited.extend((view.on_awaited, app.workspace.early_scans.start))
    observers.on_turn_starting.append(files.on_turn_starting)
    observers.on_prompt_sent.extend((view.on_prompt_sent, files.on_prompt_sent))
    observers.on_prompt_requeued.append(view.on_prompt_requeued)
    observers.on_prompt_returned.append(view.on_prompt_returned)
    observers.on_turn_answered.append(app.workspace.on_turn_answered)
    observers.on_turn_ended.extend((view.on_turn_ended, files.on_turn_ended))
