"""Terminals of a session.

Some are started by the host (v1/terminals). Others are run by the agent, which reports them in
`_meta` of its tool calls: `terminal_info`, `terminal_output`, `terminal_output_delta` (both append)
and `terminal_exit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from acp_nvim.protocol import schema
from acp_nvim.session.output.terminal import Launch, Terminal
from acp_nvim.session.questions.questions import command_of, output_of
from acp_nvim.session.transcript.entries import TerminalEntry, ToolEntry
from acp_nvim.session.transcript.transcript import Transcript

MAX_FULL_REPLAYS: Final = 50
OLD_REPLAY: Final = 16 << 10
"""Bytes stored for the buffer of a terminal after `MAX_FULL_REPLAYS` others have ended."""


class Terminals:
    """Terminals by id in order of their start, with the chat entries that show them.

    A tool call may embed the id of a terminal that becomes known later or never.
    """

    def __init__(
        self,
        cwd: str,
        transcript: Transcript,
        on_output: Callable[[], None],
        on_status: Callable[[], None],
    ) -> None:
        """`on_status` is called when a terminal is added, ends or restarts."""
        self.cwd = cwd
        self._on_output, self._on_status = on_output, on_status
        self._all: dict[str, Terminal] = {}
        self._shown: dict[str, list[ToolEntry | TerminalEntry]] = {}
        """Chat entries that show each terminal, by its id."""
        self._transcript = transcript
        self._ended: dict[Terminal, None] = {}
        """The terminals that ended last, at most `MAX_FULL_REPLAYS`."""

    def __iter__(self) -> Iterator[Terminal]:
        """Iterate in order, over a copy."""
        return iter(list(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def newest(self, count: int) -> list[Terminal]:
        """Return the `count` newest, in order."""
        return list(islice(reversed(self._all.values()), count))[::-1]

    def get(self, id: str) -> Terminal | None:
        """Return a terminal, even a released one."""
        return self._all.get(id)

    def new(
        self, id: str, launch: Launch, limit: int, *, is_hosted: bool, outlives_call: bool = False
    ) -> Terminal:
        """Return a new terminal, which is not shown before `add`."""
        return Terminal(
            id, launch, limit, is_hosted=is_hosted, outlives_call=outlives_call, observer=self
        )

    def add(self, terminal: Terminal) -> None:
        """Show a terminal in the tool calls that embed it, or else on its own."""
        self._all[terminal.id] = terminal
        entries = self._shown.setdefault(terminal.id, [])
        if not entries and (terminal.is_hosted or terminal.outlives_call):
            entry = TerminalEntry(terminal)
            entries.append(entry)
            self._transcript.add(entry)
        self.on_output(terminal)
        self._on_status()

    def clear(self) -> None:
        """Forget all terminals."""
        self._all.clear()
        self._shown.clear()
        self._ended.clear()

    def restore(self, terminal: Terminal, entry: ToolEntry | TerminalEntry) -> None:
        """Add a terminal that an entry showed before."""
        self._all[terminal.id] = terminal
        self._shown.setdefault(terminal.id, []).append(entry)

    def agent_terminal(self, id: str) -> Terminal:
        """Return the agent's own terminal with this id (v2/tool-calls). If it is new, show it."""
        terminal = self._all.get(id)
        if terminal is None:
            terminal = self.new(id, Launch(id), 0, is_hosted=False, outlives_call=True)
            self.add(terminal)
        return terminal

    def abandon(self) -> None:
        """End the agent's terminals together with the agent."""
        for terminal in self._all.values():
            if not terminal.is_hosted:
                terminal.end(None, None)

    def apply(self, entry: ToolEntry, update: schema.ToolCall | schema.ToolCallUpdate) -> None:
        """Apply the terminals in a tool call's message."""
        for item in entry.call.content:
            if item.__class__ is schema.Terminal:
                self._embed(entry, item.terminal_id)
        if update.meta:
            self._apply_reports(entry, update.meta)
        if entry.terminals and (update.title or update.raw_input):
            self._rename(entry)

    def close(self, entry: ToolEntry) -> None:
        """End the agent's terminals in a finished tool call, even without a reported exit."""
        for terminal in entry.terminals.values():
            if not terminal.is_hosted and not terminal.outlives_call:
                terminal.end(None, None)

    def _embed(self, entry: ToolEntry, id: str) -> None:
        """Show a terminal in a tool call, and no longer on its own."""
        entries = self._shown.setdefault(id, [])
        if entry in entries:
            return
        for own in entries:
            if isinstance(own, TerminalEntry):
                own.is_embedded = True
                self._transcript.touch(own)
        entries.append(entry)
        terminal = self._all.get(id)
        if terminal is not None:
            entry.terminals[id] = terminal

    def _rename(self, entry: ToolEntry) -> None:
        """Set the command of the terminals that a call reports to the call's current command."""
        for terminal in entry.terminals.values():
            command = _command(entry)
            if terminal.is_hosted or terminal.outlives_call or terminal.launch.command == command:
                continue
            terminal.set_command(command, terminal.launch.cwd)
            self.on_output(terminal)
            self._on_status()

    def _apply_reports(self, entry: ToolEntry, meta: Mapping[str, Any]) -> None:
        """Show a reported terminal in its tool call, and apply the reports in `meta`.

        An unknown terminal is added. Reports about a terminal that the host started are ignored.
        """
        reports = {key: value for key in _REPORTS if isinstance(value := meta.get(key), dict)}
        if not reports:
            return
        ids = [value.get("terminal_id") for value in reports.values()]
        id = next((id for id in ids if isinstance(id, str) and id), entry.call.id)
        self._embed(entry, id)
        terminal = self._all.get(id)
        if terminal is None:
            terminal = self.new(id, Launch(_command(entry)), 0, is_hosted=False)
            self.add(terminal)
        if terminal.is_hosted:
            return
        has_output = terminal.line_count or reports.keys() & _OUTPUT_KEYS
        if "terminal_exit" in reports and not has_output:
            terminal.feed_reported(output_of(entry.call.raw_output))
        for key, value in reports.items():
            _REPORTS[key](self, terminal, value)

    def apply_info(self, terminal: Terminal, value: Mapping[str, Any]) -> None:
        """Apply `terminal_info`: the directory, and a restart if the terminal has ended."""
        terminal.restart()
        cwd = value.get("cwd")
        if isinstance(cwd, str) and cwd != self.cwd:
            terminal.set_cwd(cwd)

    def on_output(self, terminal: Terminal) -> None:
        """Mark the entries that show the terminal for redraw."""
        for entry in self._shown.get(terminal.id, ()):
            if isinstance(entry, ToolEntry):
                entry.terminals[terminal.id] = terminal
            elif entry.is_embedded:
                continue
            self._transcript.touch(entry)
        self._on_output()

    def on_status_changed(self, terminal: Terminal) -> None:
        """Redraw a terminal that has ended or restarted.

        If more than `MAX_FULL_REPLAYS` have ended, shrink the output of the one that ended first.
        """
        if terminal.running:
            self._ended.pop(terminal, None)
        else:
            self._ended[terminal] = None
        if len(self._ended) > MAX_FULL_REPLAYS:
            old = next(iter(self._ended))
            del self._ended[old]
            old.shrink(OLD_REPLAY)
        self.on_output(terminal)
        self._on_status()


def _command(entry: ToolEntry) -> str:
    """Return the command of a call that reports a terminal, or else its title."""
    call = entry.call
    return command_of(call.raw_input) or call.title or call.id


def _apply_output(_: Terminals, terminal: Terminal, value: Mapping[str, Any]) -> None:
    data = value.get("data")
    if isinstance(data, str):
        terminal.feed_reported(data)


def _apply_exit(_: Terminals, terminal: Terminal, value: Mapping[str, Any]) -> None:
    code, signal = value.get("exit_code"), value.get("signal")
    terminal.end(
        code if isinstance(code, int) else None,
        signal if isinstance(signal, str) and signal else None,
    )


_REPORTS: Final[dict[str, Callable[[Terminals, Terminal, Mapping[str, Any]], None]]] = {
    "terminal_info": Terminals.apply_info,
    "terminal_output": _apply_output,
    "terminal_output_delta": _apply_output,
    "terminal_exit": _apply_exit,
}
"""Keys of `_meta`, in the order in which they are applied."""

_OUTPUT_KEYS: Final = {"terminal_output", "terminal_output_delta"}
"""Keys of `_meta` with output. Without them, the output of a quick command is in `rawOutput`."""
