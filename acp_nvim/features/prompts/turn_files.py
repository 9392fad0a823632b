"""Files around a turn: scanned before the prompt is sent, and again when the turn is over."""

from __future__ import annotations

from msgspec import Struct

from acp_nvim.agent.observers import TurnStart
from acp_nvim.files.changes.turns import real_roots, roots_above
from acp_nvim.files.workspace import Workspace
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.session import Session


class TurnFiles(Struct, frozen=True, eq=False):
    """Observer of all turns for the workspace."""

    workspace: Workspace[Session]
    buffers: NvimBuffers

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Record the contents of the files, and the number of the prompt in its session."""
        session, prompt = turn.session, turn.prompt
        if not turn.is_at_agent:
            roots = real_roots(session)
            self.buffers.settle(session.n, [*roots, *roots_above(roots)])
        turn.texts = await self.workspace.turn_began(
            session, prompt, clean_text(prompt.text), turn.texts, under_way=turn.is_at_agent
        )
        prompt.count_as(self.workspace.rewind.last(session))

    async def on_turn_ended(self, session: Session) -> None:
        """Attribute the changes on disk, before the next turn."""
        await self.workspace.turn_ended(session)
