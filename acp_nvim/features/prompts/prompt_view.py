"""Prompts as Neovim shows them: running, given back to the composer, noted on disk."""

from __future__ import annotations

from msgspec import Struct

from acp_nvim.agent.prompts.comments import Comments
from acp_nvim.features.prompts.sent import SentPrompts
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class PromptView(Struct, frozen=True, eq=False):
    """Observer of all prompts for the user."""

    screen: Screen
    pace: Pace
    sent: SentPrompts
    comments: Comments

    def on_awaited(self, session: Session) -> None:
        """Draw nothing before the agent has been started."""
        self.pace.hold()

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        """Add the user's comments. Show the prompt as running, so Neovim keeps it if the host
        ends.
        """
        self.pace.release()
        self.sent.went(prompt)
        self.comments.join(prompt, session.n)
        if prompt.text or not prompt.given:
            op = ("under_way", session.n, prompt.text, prompt.files(), prompt.ranges())
            self.screen.push(*op, prompt.delivery)

    def on_prompt_requeued(self, session: Session, prompt: Prompt) -> None:
        """Note on disk that the prompt was not sent."""
        self.sent.came_back(prompt)

    def on_prompt_returned(self, session: Session, prompt: Prompt) -> None:
        """Put the prompt back into its composer, with its attachments."""
        self.sent.came_back(prompt)
        if prompt.text or prompt.attachments:
            self.screen.push("composer", session.n, prompt.text, prompt.files(), prompt.ranges())

    async def on_turn_ended(self, session: Session) -> None:
        """Stop showing a prompt as running."""
        self.screen.push("under_way", session.n)
