"""Session of the tutor: its settings, and its step of the tour."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from acp_nvim.protocol import schema as s

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT_TOKENS: Final = 32_000

MODES: Final = (
    s.SessionMode("ask", "Ask first", "Asks before every change and every command"),
    s.SessionMode("trust", "Trust", "Changes files and runs commands without asking"),
    s.SessionMode("explain", "Explain only", "Reads and explains, changes nothing"),
)

PACES: Final = {"instant": 0.0, "brisk": 0.02, "calm": 0.08}  # seconds between two chunks


def _command(name: str, description: str, argument: str = "") -> s.AvailableCommand:
    if not argument:
        return s.AvailableCommand(name, description)
    return s.AvailableCommand(name, description, s.UnstructuredCommandInput(argument))


COMMANDS: Final = (
    _command("tour", "Start or resume the tour"),
    _command("skip", "The next step of the tour"),
    _command("read", "Quote your file as the editor has it", "path"),
    _command("edit", "Propose a change, with a diff and a question", "path"),
    _command("plan", "A sample plan, carried out step by step"),
    _command("slow", "A long answer, slowly: try to cancel it", "seconds"),
    _command("help", "What I know, and five keys"),
)


@dataclass
class Cursor:
    """State of a session at the end of a turn."""

    anchor: s.CursorAnchor
    session: Session


@dataclass
class Session:
    """State of one session."""

    id: str
    cwd: Path
    keys: dict[str, str] = field(default_factory=dict)
    mode: str = "ask"
    pace: str = "brisk"
    always_answer: str = ""
    """Answer to all further questions: `allow_always`, `reject_always`, or empty."""
    tokens: int = 0
    calls: int = 0
    messages: int = 0
    turns: int = 0
    turn: asyncio.Task[s.PromptResponse] | None = None
    turn_ended_at: float = 0.0
    """Monotonic time in seconds, or 0 before the first turn has ended."""
    step: int | None = None
    """Step of the tour, or None before the tour."""
    is_step_unfinished: bool = False
    """Whether the step begins again with the next prompt."""
    cursors: dict[str, Cursor] = field(default_factory=dict)
    """Ends of turns by the ids of their cursors."""

    def keep(self, anchor: s.CursorAnchor) -> str:
        """Save the state under a new cursor at an entry. Return the id of the cursor."""
        cursor_id, cursors = f"turn-{self.turns}", dict(self.cursors)
        cursors[cursor_id] = Cursor(anchor, replace(self, turn=None, cursors=cursors))
        self.cursors = dict(cursors)
        return cursor_id

    def modes(self) -> s.SessionModeState:
        return s.SessionModeState(self.mode, list(MODES))

    def options(self) -> list[s.ConfigOption]:
        """Return the settings, including the mode for clients that show only options."""
        modes: list[s.SessionConfigSelectItem] = [
            s.SessionConfigSelectOption(mode.id, mode.name, mode.description) for mode in MODES
        ]
        paces: list[s.SessionConfigSelectItem] = [
            s.SessionConfigSelectOption(name, name.capitalize()) for name in PACES
        ]
        return [
            s.SessionConfigSelect(
                id="mode", name="Mode", category="mode", current_value=self.mode, options=modes
            ),
            s.SessionConfigSelect(
                id="pace",
                name="Pace",
                description="How fast the tutor speaks",
                current_value=self.pace,
                options=paces,
            ),
        ]

    def count(self, text: str) -> s.UsageUpdate:
        """Add text to the used context, at four characters per token. Return the update."""
        self.tokens = min(CONTEXT_TOKENS, self.tokens + len(text) // 4 + 1)
        return s.UsageUpdate(self.tokens, CONTEXT_TOKENS)
