"""Tool calls and the cards that ask for permission."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from acp_nvim.edits import hunks
from acp_nvim.protocol import schema
from acp_nvim.render.content import describe, is_aside
from acp_nvim.render.markdown import Span
from acp_nvim.render.rows import WIDEST, Row, Target, indent, pieces, row, width
from acp_nvim.render.terminals import terminal_rows
from acp_nvim.render.text import one_line, shown_path, visible
from acp_nvim.render.titles import ABOUT_FILES, details, says_kind, short_title, shown_title
from acp_nvim.session.asking.decisions import Decision
from acp_nvim.session.asking.questions import command_of
from acp_nvim.session.entries import ToolEntry
from acp_nvim.session.tool_calls import ToolCall

ICONS = {"pending": "○", "in_progress": "◐", "completed": "✓", "failed": "✗", "cancelled": "⊘"}
GROUPS = {"completed": "AcpToolCompleted", "failed": "AcpToolFailed", "cancelled": "AcpToolFailed"}
KEYS = {"allow_once": "y", "allow_always": "Y", "reject_once": "n", "reject_always": "N"}

BETWEEN: Row = row("⋮", "AcpMuted")
"""Between two hunks of a diff."""

WHOLE = 1 << 30
"""As `tool_lines`: nothing is cut, no line either."""

SHORT = WIDEST // 8
"""No line of a text of so many characters is cut: one becomes eight at most."""

UNDER = "  "
"""Before what stands under the line of a call."""


@dataclass(frozen=True, slots=True)
class Look:
    """Options that the rows of tool calls depend on."""

    tool_lines: int = 8
    cwd: str = ""
    """The session's directory: paths below it are shown relative to it."""


def words(entry: ToolEntry, look: Look) -> tuple[Row, list[str]] | None:
    """Return the line of a tool call and the texts of the rows under it if these are nothing but
    short texts, as they mostly are; the same as `draw`, for less.
    """
    call = entry.call
    if entry.decisions or call.locations or not call.content:
        return None
    under: list[str] = []
    for item in call.content:
        if item.__class__ is not schema.Content:
            return None
        block = item.content
        if block.__class__ is not schema.TextContent or (block.annotations and is_aside(block)):
            return None
        text = block.text.rstrip("\n")
        if text:
            if len(text) > SHORT or text.count("\n") >= look.tool_lines:
                return None
            under += (UNDER + visible(text).replace("\n", "\n" + UNDER)).split("\n")
    return _line(call, None, look.cwd), under


def draw(entry: ToolEntry, look: Look) -> list[Row]:
    """Return the rows of a tool call: its line first, then what folds under it."""
    call = entry.call
    asks = entry.asks if entry.decisions else None
    limit = None if asks else look.tool_lines
    rows = [_line(call, asks, look.cwd)]
    for at, item in enumerate(call.content):
        if item.__class__ is schema.Content:
            rows += _block(at, item.content, call, limit, look.cwd, UNDER)
        else:
            rows += indent(_content(at, item, entry, limit, look.cwd), UNDER)
    if not call.content:
        rows += indent(_own_terminals(entry, limit, look.cwd) or _input(call, limit), UNDER)
    if call.locations:
        rows += indent(_locations(call, look.cwd), UNDER)
    for decision in entry.decisions:
        open_ = decision.outcome is None
        rows += indent(
            card(decision, call, look.cwd, below=True) if open_ else [_decided(decision)], UNDER
        )
    return rows


def card(
    decision: Decision, call: ToolCall | None = None, cwd: str = "", *, below: bool = False
) -> list[Row]:
    """Return the rows that ask: what, in full, the details, and every option with its keys.

    Files of its tool call are named relative to `cwd`. `below` the line of that the title is said
    again only if that line had to cut it.
    """
    mark = {"decision": decision.id}
    what = "Permission" if decision.listed == "permissions" else "Question"
    title = short_title(decision.title, call.kind, cwd) if call else decision.title
    title = " ".join(visible(title).split())
    if below and call is not None and title == shown_title(call.title, call.kind, cwd):
        rows = [row(f"{what} needed", "AcpPermission", mark)]
    else:
        rows = [pieces([(f"{what}: ", "AcpPermission"), (title, "AcpPermissionTitle")], mark)]
    places, shown = _files(call, below)
    rows += [row("  " + line, None, mark) for line in details(decision, places, shown, cwd)]
    used: set[str] = set()
    for number, option in enumerate(decision.options, 1):
        key = "" if option.kind in used else KEYS.get(option.kind, "")
        used.add(option.kind)
        digit = f"[{number}] " if number < 10 else "[ ] "
        parts: list[tuple[str, str | None]] = [
            (f"  {digit}", "AcpKey"),
            (one_line(option.name), None),
        ]
        rows.append(pieces([*parts, (f"  {key}" if key else "", "AcpKey")], mark))
    return _ends_marked(rows, mark)


def _files(call: ToolCall | None, below: bool) -> tuple[set[str], set[str]]:
    """The files of a call's locations, and those that rows above its question name."""
    if call is None:
        return set(), set()
    places = {location.path for location in call.locations}
    diffs = {item.path for item in call.content if isinstance(item, schema.Diff)}
    return places, diffs | places if below else diffs


def _ends_marked(rows: list[Row], mark: Target) -> list[Row]:
    """Where a card begins and ends is known to Neovim: it tells whether all of it is in view."""
    text, spans, _ = rows[0]
    rows[0] = (text, spans, mark | {"first": True})
    text, spans, target = rows[-1]
    rows[-1] = (text, spans, {**(target if isinstance(target, dict) else mark), "last": True})
    return rows


def float_rows(entry: ToolEntry | None, decision: Decision, cwd: str = "") -> list[Row]:
    """Return a pending decision for the float: its card, then all that the tool call shows of
    itself.
    """
    rows = card(decision, entry.call if entry else None, cwd)
    if entry is not None:
        for at, item in enumerate(entry.call.content):
            rows += indent(_content(at, item, entry, None, cwd), UNDER)
    return rows


def diff_rows(
    diff: schema.Diff, limit: int | None, above: int = 0, cwd: str = "", whole: Target | int = 0
) -> list[Row]:
    """Return a diff as rows: the path with counts, then removed and added lines, at most
    `limit`; a row between hunks says that lines are left out there.

    `above` is the number of the file's lines above those that the diff shows, `whole` what shows
    all of it.
    """
    old = _lines(diff.old_text) if isinstance(diff.old_text, str) else []
    new = _lines(diff.new_text)
    changes = hunks.diff(old, new)
    added = sum(len(hunk.lines) for hunk in changes)
    removed = sum(hunk.end - hunk.start for hunk in changes)
    where = {"kind": "file", "path": diff.path} | (
        {"line": above + changes[0].new_start + 1} if changes else {}
    )
    head = pieces(
        [
            (shown_path(diff.path, cwd), "AcpPath"),
            (f" +{added}", "AcpAdded"),
            (f" -{removed}", "AcpRemoved"),
        ],
        where,
    )
    body: list[Row] = []
    for hunk in changes:
        body += [BETWEEN] if body else []
        body += [row("- " + line, "AcpRemoved") for line in old[hunk.start : hunk.end]]
        body += [
            row(
                "+ " + line,
                "AcpAdded",
                {"kind": "file", "path": diff.path, "line": above + hunk.new_start + at + 1},
            )
            for at, line in enumerate(hunk.lines)
        ]
    return [head, *_cut(body, limit, whole)]


def _line(call: ToolCall, asks: Decision | None, cwd: str) -> Row:
    title, said = call.title or call.name or call.id, 0
    if call.kind in ABOUT_FILES:
        title = shown_title(title, call.kind, cwd)
        said = says_kind(title, call.kind)
    else:
        title = one_line(title)
    long = len(title) if title.isascii() else width(title)
    name = _name(call.name, title) if call.name else ""
    before, after, spans = _around(
        "" if said else call.kind, call.status, asks is not None, said, long, width(name)
    )
    leads_to = _leads_to(call, asks) if asks is not None or call.locations else call.index
    return f"{before}{title}{name}{after}", spans, leads_to


@lru_cache(maxsize=1024)
def _around(
    kind: str, status: str, asks: bool, said: int, title: int, name: int
) -> tuple[str, str, tuple[Span, ...]]:
    """What stands before a title and behind it, and the spans of the row; of the title and the
    tool's name the widths, `said` is that of the kind in the title. The signs between the parts
    have no highlight of their own.
    """
    group = "AcpPermission" if asks else GROUPS.get(status, "AcpToolRunning")
    icon = ICONS.get(status, "◐") + " "
    parts: list[tuple[str, str | None]] = [(icon, group)]
    parts += [(kind, "AcpToolKind"), (" · ", None)] if kind else []
    before, spans, _ = pieces(parts)
    words = "permission needed" if asks else status.replace("_", " ")
    after = f" · {words}"
    start = width(before)
    end = start + title
    spans += ((start, start + said, "AcpToolKind"),) if said else ()
    spans += ((start + said, end, "AcpToolTitle"),)
    spans += ((end, end + name, "AcpMuted"),) if name else ()
    return before, after, (*spans, (end + name, end + name + width(after), group))


def _leads_to(call: ToolCall, asks: Decision | None) -> Target | int:
    """Return what the line of a call opens: the file that it is about, else all of itself."""
    at = None
    if call.locations and call.kind != "execute":
        shows = any(isinstance(item, schema.Diff | schema.Terminal) for item in call.content)
        at = None if shows else _place(call.locations[0])
    if at is None and asks is None:
        return call.index
    target: Target = {"kind": "tool", "call": call.index} | (at or {})
    return target | ({"decision": asks.id} if asks else {})


def _place(location: schema.ToolCallLocation) -> Target:
    line = location.line if location.line is not UNSET else None
    return {"kind": "file", "path": location.path} | ({"line": line} if line else {})


def _lines(text: str) -> list[str]:
    """The lines of a file's text; the newline at its end begins none."""
    return visible(text).removesuffix("\n").split("\n") if text else []


def _name(name: str, title: str) -> str:
    """The name of the tool itself, where the title does not say it (v1/tool-calls)."""
    name = one_line(name, 60)
    return f" ({name})" if name and name.lower() not in title.lower() else ""


def _above(diff: schema.Diff, call: ToolCall) -> int:
    """Some agents show only the lines that they replace: where these stand is a location then."""
    lines = diff.old_text.count("\n") + 1 if isinstance(diff.old_text, str) else 0
    for location in call.locations:
        if location.path == diff.path and location.line and location.line > lines:
            return int(location.line) - 1
    return 0


def _content(at: int, item: Any, entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    match item:
        case schema.Content():
            return _block(at, item.content, entry.call, limit, cwd)
        case schema.Diff():
            return diff_rows(item, limit, _above(item, entry.call), cwd, entry.call.index)
        case schema.Terminal():
            return _terminal(item.terminal_id, entry, limit, cwd)
        case schema.SessionLink():
            target = {"kind": "session", "id": item.session_id}
            return [row(f"→ subagent {one_line(item.session_id, 60)}", "AcpLink", target)]
        case _:
            tag = one_line(str(getattr(item, "type", type(item).__name__)), 40)
            return [row(f"[{tag}]", "AcpMuted", entry.call.index)]


def _block(
    at: int, block: Any, call: ToolCall, limit: int | None, cwd: str, prefix: str = ""
) -> list[Row]:
    """The rows of a content block, each with `prefix` before it."""
    if block.__class__ is not schema.TextContent or is_aside(block):
        return indent(describe(block, {"call": call.index, "item": at}, cwd), prefix)
    text = block.text.rstrip("\n")
    if len(text) <= SHORT or limit == WHOLE:
        lines = visible(text).split("\n") if text else []
        if limit is None or len(lines) <= limit:
            return [(prefix + line, (), None) for line in lines]
    count = text.count("\n") + 1
    if limit == 0:
        return indent([_more(count, call.index)], prefix)
    if limit is not None and count > limit:
        text = _head(text, limit)
    rows = indent([_wide(line, call) for line in visible(text).split("\n")], prefix)
    if limit is not None and count > limit:
        rows += indent([_more(count - limit, call.index)], prefix)
    return rows


def _wide(line: str, call: ToolCall) -> Row:
    """A line that is cut opens in full."""
    return row(line, None, call.index if len(line) > WIDEST else None)


def _head(text: str, lines: int) -> str:
    """Return the first lines of a text without splitting all of it."""
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
    return text[:at]


def _cut(rows: list[Row], limit: int | None, whole: Target | int) -> list[Row]:
    if limit is None or len(rows) <= limit:
        return rows
    left = sum(row is not BETWEEN for row in rows[limit:])
    return [*rows[:limit], _more(left, whole)]


def _more(count: int, whole: Target | int) -> Row:
    return row(f"… +{count} line{'s' if count > 1 else ''}", "AcpMuted", whole)


def _terminal(id: str, entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    """An id that nobody has told more about is shown as such."""
    terminal = entry.terminals.get(id)
    if terminal is None:
        return [
            row(f"[terminal {one_line(id, 60)}]", "AcpAttachment", {"kind": "terminal", "id": id})
        ]
    return terminal_rows(terminal, limit, cwd)


def _own_terminals(entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    """Output that an agent tells in `_meta` without embedding a terminal."""
    told = [terminal for terminal in entry.terminals.values() if not terminal.ours]
    return [row for terminal in told for row in terminal_rows(terminal, limit, cwd)]


def _input(call: ToolCall, limit: int | None) -> list[Row]:
    command = command_of(call.raw_input)
    if command is None:
        return []
    return _cut(
        [row("$ " + line, "AcpCommand") for line in visible(command).split("\n")],
        limit,
        call.index,
    )


def _locations(call: ToolCall, cwd: str) -> list[Row]:
    shown = {item.path for item in call.content if isinstance(item, schema.Diff)}
    rows: list[Row] = []
    for location in call.locations:
        if location.path in shown:
            continue
        target = _place(location)
        line = f":{target['line']}" if "line" in target else ""
        rows.append(row(shown_path(location.path, cwd) + line, "AcpPath", target))
    return rows


def _decided(decision: Decision) -> Row:
    return row(f"↳ {one_line(decision.answer)}", "AcpMuted")
