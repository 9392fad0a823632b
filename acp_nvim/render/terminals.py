"""Terminals as rows of the chat: command, directory, environment, last lines."""

from __future__ import annotations

from acp_nvim.render.rows import Row, row, row_of_pieces
from acp_nvim.render.text import display_path, one_line, visible
from acp_nvim.session.output.terminal import Terminal


def terminal_rows(terminal: Terminal, limit: int | None, cwd: str) -> list[Row]:
    """Return the rows of a terminal. `<CR>` on each opens the terminal's buffer.

    If `limit` is None, all stored lines are shown. The directory is shown unless it is the
    session's (`cwd`).
    """
    target = {"kind": "terminal", "id": terminal.id}
    launch = terminal.launch
    first, *more = visible(launch.command).split("\n")
    rows = [row("$ " + first, "AcpCommand", target)]
    rows += [row("  " + line, "AcpCommand", target) for line in more]
    if launch.cwd is not None and launch.cwd != cwd:
        rows.append(row("in " + display_path(launch.cwd, cwd), "AcpMuted", target))
    for name, value in launch.env:
        rows.append(row(f"with {one_line(name, 60)}={one_line(value, 120)}", "AcpMuted", target))
    lines = terminal.lines()
    shown = lines if limit is None else lines[max(len(lines) - limit, 0) :]
    hidden = max(terminal.line_count, len(lines)) - len(shown)
    if hidden > 0:
        rows.append(row(f"… {hidden} earlier line{'s' if hidden > 1 else ''}", "AcpMuted", target))
    rows += [row(visible(line), None, target) for line in shown]
    if terminal.signal is not None or terminal.exit_code:
        rows.append(row_of_pieces([("✗ " + terminal.ended, "AcpToolFailed")], target))
    return rows
