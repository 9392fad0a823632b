"""The tutor's state of a session, and its settings."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from acp_nvim.protocol import schema as s

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CONTEXT: Final = 32_000  # tokens a tutor can keep in mind

MODES: Final = (
    s.SessionMode("ask", "Ask first", "Asks before every change and every command"),
    s.SessionMode("trust", "Trust", "Changes files and runs commands without asking"),
    s.SessionMode("explain", "Explain only", "Reads and explains, changes nothing"),
)

PACES: Final = {"instant": 0.0, "brisk": 0.02, "calm": 0.08}  # seconds between two chunks

COMMANDS: Final = (
    s.AvailableCommand(
        "tour", "The tour, or on with it; 2: its second part", s.UnstructuredCommandInput("part")
    ),
    s.AvailableCommand("skip", "The next step of the tour"),
    s.AvailableCommand("keys", "The five keys to know"),
    s.AvailableCommand(
        "read", "Quote your file as the editor has it", s.UnstructuredCommandInput("path")
    ),
    s.AvailableCommand(
        "edit", "Propose a change, with a diff and a question", s.UnstructuredCommandInput("path")
    ),
    s.AvailableCommand("check", "What is left to review in the sample, and by which key"),
    s.AvailableCommand("plan", "A sample plan, carried out step by step"),
    s.AvailableCommand(
        "slow", "A long answer, slowly: try to cancel it", s.UnstructuredCommandInput("seconds")
    ),
    s.AvailableCommand(
        "shell", "Run a command in a terminal", s.UnstructuredCommandInput("command")
    ),
    s.AvailableCommand("form", "Ask you something with a form"),
    s.AvailableCommand("help", "What I know"),
)


@dataclass
class Session:
    """One conversation: its settings, and the answers that the user wants remembered."""

    id: str
    cwd: Path
    mode: str = "ask"
    pace: str = "brisk"
    always: set[str] = field(default_factory=set)  # kinds of tool that need no question
    never: set[str] = field(default_factory=set)  # kinds of tool that are refused
    tokens: int = 0
    calls: int = 0
    messages: int = 0
    turns: int = 0
    turn: asyncio.Task[s.PromptResponse] | None = None
    keys: dict[str, str] = field(default_factory=dict)
    blames: bool = False
    """Whether the client knows who wrote a line."""
    servers: Sequence[s.McpServer] = ()
    """The MCP servers that the session was opened with."""
    tour: tuple[int, int] | None = None
    """Part and step of the tour, None before it."""
    unfinished: bool = False
    """Whether that step begins again with the next prompt."""
    returned: bool = False
    """Whether the user has left the editor in the tour, and come back."""
    watch: asyncio.Task[None] | None = None
    """It looks whether the user has done what the step is about."""
    speaker: asyncio.Task[None] | None = None
    """It has seen that, and says what comes next."""
    ended: float = 0.0
    """The end of the last turn, by a clock without a date."""

    def stop_watching(self) -> None:
        """Look no more whether the step is done."""
        if self.watch is not None:
            self.watch.cancel()
            self.watch = None

    async def silence(self) -> None:
        """A prompt comes: what goes on is said in its turn, after what is being said."""
        self.stop_watching()
        if self.speaker is not None:
            await asyncio.wait([self.speaker])
            self.stop_watching()

    def modes(self) -> s.SessionModeState:
        """The modes, with the current one."""
        return s.SessionModeState(self.mode, list(MODES))

    def options(self) -> list[s.ConfigOption]:
        """The settings: the mode again, for clients that show options only, and the pace."""
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
        """Count a text into the context used; a token is about four characters."""
        self.tokens = min(CONTEXT, self.tokens + len(text) // 4 + 1)
        return s.UsageUpdate(self.tokens, CONTEXT)
