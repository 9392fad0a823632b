"""Tool calls and the cards that ask for permission."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.render.content import describe, is_aside
from acp_nvim.render.cutting import between, both_ends, folded, head, more
from acp_nvim.render.diffs import cut, diff_rows, patch_rows, text_rows
from acp_nvim.render.markdown import Span
from acp_nvim.render.rows import WIDEST, Row, Target, ends, indent, pieces, row, width
from acp_nvim.render.terminals import terminal_rows
from acp_nvim.render.text import one_line, path_line, shown_path, visible
from acp_nvim.render.titles import ABOUT_FILES, says_kind, short_title, shown_title
from acp_nvim.render.tool_input import change_rows, input_rows, is_named
from acp_nvim.session import lists
from acp_nvim.session.entries import ToolEntry
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.patches import fenced, may_hold_diff, may_hold_patch
from acp_nvim.session.questions.tool_input import Patch, commands_of
from acp_nvim.session.tool_calls import ToolCall

ICONS = {"pending": "○", "in_progress": "◐", "completed": "✓", "failed": "✗", "cancelled": "⊘"}
GROUPS = {"completed": "AcpToolCompleted", "failed": "AcpToolFailed", "cancelled": "AcpToolFailed"}
KEYS = {"allow_once": "y", "allow_always": "Y", "reject_once": "n", "reject_always": "N"}

WHOLE = 1 << 30
"""As `tool_lines`: nothing is cut, no line either."""

ASKED = 400
"""How many first rows of its content a call shows while it asks; of the last ones half as many."""

SHORT = WIDEST // 8
"""A text of at most so many characters has no line to cut: a character becomes eight at most."""

UNDER = "  "
"""The indent of rows under the line of a call."""


@dataclass(frozen=True, slots=True)
class Look:
    """Options that the rows of tool calls depend on."""

    tool_lines: int = 8
    cwd: str = ""
    """The session's directory: paths below it are shown relative to it."""


def words(entry: ToolEntry, look: Look) -> tuple[Row, list[str]] | None:
    """Return the line of a tool call and the texts of the rows under it, where these are only short
    texts, as they mostly are; the same as `draw`, but faster.
    """
    call = entry.call
    if entry.decisions or call.locations or not 0 < len(call.content) <= lists.ITEMS:
        return None
    if call.raw_input and may_hold_patch(call.raw_input):
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
            if may_hold_diff(text):
                return None
            under += (UNDER + visible(text).replace("\n", "\n" + UNDER)).split("\n")
    return _line(call, None, look.cwd), under


def draw(entry: ToolEntry, look: Look) -> list[Row]:
    """Return the rows of a tool call: its line, then the rows that fold under it. While it asks all
    that is known of it is shown.
    """
    call = entry.call
    asks = entry.asks if entry.decisions else None
    limit = None if asks and look.tool_lines != WHOLE else look.tool_lines
    rows = [_line(call, asks, look.cwd)]
    inside = [] if asks else indent(change_rows(call, look.cwd, limit, _whole(call, None)), UNDER)
    items, left = _drawn(call, whole=bool(asks), uncut=look.tool_lines == WHOLE)
    for at, item in items:
        if item.__class__ is schema.Content:
            inside += _block(at, item.content, call, limit, look.cwd, UNDER)
        else:
            inside += indent(_content(at, item, entry, limit, look.cwd), UNDER)
    if left and not asks:
        inside.append(row(UNDER + lists.more(left), "AcpMuted", call.index))
    if not call.content:
        told = _own_terminals(entry, limit, look.cwd)
        inside += indent(told or ([] if asks else _commands(call, limit)), UNDER)
    if asks and limit is None:
        inside = folded(inside, _whole(call, asks), ASKED, left)
    rows += inside
    if call.locations:
        rows += indent(_locations(call, look), UNDER)
    for decision in entry.decisions:
        if decision.behind:
            continue  # its card comes when it is its turn
        open_ = decision.outcome is None
        rows += indent(
            card(decision, entry, look.cwd, below=True) if open_ else [_decided(decision)], UNDER
        )
    return rows


def _drawn(
    call: ToolCall, *, whole: bool, uncut: bool = False
) -> tuple[list[tuple[int, Any]], int]:
    """Return the parts of a call's content to draw, with their positions, and how many are left
    out: of very many the first are drawn, and while it asks (`whole`) the last ones too.
    """
    content = list(enumerate(call.content))
    first, last = (ASKED, ASKED // 2) if whole else (lists.ITEMS, 0)
    left = 0 if uncut else max(len(content) - first - last, 0)
    return (content[:first] + content[first + left :], left) if left else (content, 0)


def option_rows(decision: Decision) -> int:
    """Return how many rows of a card are options."""
    return min(len(decision.options), lists.OPTIONS + 1)


def card(
    decision: Decision, entry: ToolEntry | None = None, cwd: str = "", *, below: bool = False
) -> list[Row]:
    """Return the rows of a question: title, details, and every option with its keys.

    Files of its tool call are named relative to `cwd`. `below` the call's line the title is
    repeated only if that line does not show all of it, and the card begins with that line.
    """
    call = entry.call if entry else None
    mark: Target = {"decision": decision.id}
    rows = [*_asked(decision, call, cwd, mark, below), *_told(decision, entry, cwd, mark, below)]
    used: set[str] = set()
    for number, option in enumerate(decision.options[: lists.OPTIONS], 1):
        key = "" if option.kind in used else KEYS.get(option.kind, "")
        used.add(option.kind)
        digit = f"[{number}] " if number < 10 else "[ ] "
        name = ends(" ".join(visible(option.name).split()))
        parts: list[tuple[str, str | None]] = [(f"  {digit}", "AcpKey"), (name, None)]
        rows.append(pieces([*parts, (f"  {key}" if key else "", "AcpKey")], mark))
    left = len(decision.options) - lists.OPTIONS
    if left > 0:
        text = f"  {lists.more(left)}: :Acp allow takes any by its id"
        rows.append(row(text, "AcpMuted", mark))
    return _ends_marked(rows, mark, begins=not (below and entry and entry.asks is decision))


def _asked(
    decision: Decision, call: ToolCall | None, cwd: str, mark: Target, below: bool
) -> list[Row]:
    """The title, with its line breaks: it may be a command."""
    what = "Permission" if decision.listed == "permissions" else "Question"
    title = short_title(decision.title, call.kind, cwd) if call else decision.title
    first, count, last = both_ends(title.strip())
    if below and call is not None and [shown_title(call.title, call.kind, cwd)] == first:
        return [row(f"{what} needed", "AcpPermission", mark)]
    rows = [pieces([(f"{what}: ", "AcpPermission"), (first[0], "AcpPermissionTitle")], mark)]
    rows += [row("    " + line, "AcpPermissionTitle", mark) for line in first[1:]]
    rows += indent([between(count, _whole(call, decision))], "    ") if count else []
    return rows + [row("    " + line, "AcpPermissionTitle", mark) for line in last]


def _told(
    decision: Decision, entry: ToolEntry | None, cwd: str, mark: Target, below: bool
) -> list[Row]:
    """What would happen: the details of the question, and the raw input of its call."""
    call = entry.call if entry else None
    whole = _whole(call, decision)
    rows: list[Row] = []
    for detail in decision.details:
        if detail != f"in {cwd}":
            rows += text_rows(detail, whole, after="    ")
    rows += [row(path_line(problem), "AcpError") for problem in decision.problems]
    if entry is not None and call is not None and decision.subject == "permission":
        rows += _of_input(entry, cwd, whole, below)
    return indent([_marked(each, mark) for each in folded(rows, whole)], UNDER)


def _of_input(entry: ToolEntry, cwd: str, whole: Target, below: bool) -> list[Row]:
    """Rows of the call's raw input and of its files. They are cached, since raw inputs may be large
    and cards are drawn often.
    """
    call = entry.call
    key = (call.raw_input, call.content, call.locations, call.title, cwd)
    kept = entry.told_rows.get(below)
    if kept is None or any(a is not b for a, b in zip(kept[0], key, strict=True)):
        kept = entry.told_rows[below] = (key, _input(call, cwd, whole, below))
    return kept[1]


def _input(call: ToolCall, cwd: str, whole: Target, below: bool) -> list[Row]:
    places = dict.fromkeys(location.path for location in call.locations)
    diffs = {item.path for item in call.content if isinstance(item, schema.Diff)}
    named = [] if below else [path for path in places if path not in diffs]
    rows = [
        row(shown_path(path, cwd), "AcpPath", {"kind": "file", "path": path})
        for path in named
        if not is_named(path, call.title)
    ]
    return rows + input_rows(call, cwd, diffs | places.keys(), whole)


def _whole(call: ToolCall | None, asks: Decision | None) -> Target:
    """Return the target that shows all of a call, or of a question."""
    mark = {} if asks is None else {"decision": asks.id}
    return mark if call is None else {"kind": "tool", "call": call.index, **mark}


def _marked(each: Row, mark: Target) -> Row:
    """Add the decision to a row's target: keys answer from there, wherever it leads."""
    text, spans, target = each
    return text, spans, {**target, **mark} if isinstance(target, dict) else mark


def _ends_marked(rows: list[Row], mark: Target, begins: bool) -> list[Row]:
    """Mark the first and the last row of a card, so that Neovim knows whether all of it is in
    view.
    """
    if begins:
        rows[0] = _marked(rows[0], {**mark, "first": True})
    rows[-1] = _marked(rows[-1], {**mark, "last": True})
    return rows


def entry_of(decision: Decision, session: Any) -> ToolEntry | None:
    """Return the tool call that a question of a session, or of a child of it, is about."""
    asker = decision.asker or session
    call = asker.tool_calls.get(decision.tool_call_id) if decision.tool_call_id else None
    return asker.entries.get(call) if call else None


def float_rows(entry: ToolEntry | None, decision: Decision, cwd: str = "") -> list[Row]:
    """Return a pending decision for the float: its card, then all that the tool call shows of
    itself.
    """
    return card(decision, entry, cwd) + content_rows(entry, decision, cwd)


def content_rows(entry: ToolEntry | None, decision: Decision, cwd: str) -> list[Row]:
    """Return what a tool call shows of itself, below its card."""
    if entry is None:
        return []
    inside: list[Row] = []
    items, left = _drawn(entry.call, whole=True)
    for at, item in items:
        inside += indent(_content(at, item, entry, None, cwd), UNDER)
    return folded(inside, _whole(entry.call, decision), ASKED, left)


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
    """Return the texts before and behind a title, and the spans of the row; given are the widths of
    the title, of the kind's word in it (`said`) and of the tool's name. The signs between have no
    highlight of their own.
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
    """Return the target of a call's line: its file, else all of the call."""
    at = None
    if call.locations and call.kind != "execute":
        shows = any(isinstance(item, schema.Diff | schema.Terminal) for item in call.content)
        at = None if shows else _place(call.locations[0])
    if at is None and asks is None:
        return call.index
    target: Target = {"kind": "tool", "call": call.index} | (at or {})
    return target | ({"decision": asks.id, "first": True} if asks else {})


def _place(location: schema.ToolCallLocation) -> Target:
    line = location.line if location.line is not UNSET else None
    return {"kind": "file", "path": location.path} | ({"line": line} if line else {})


def _name(name: str, title: str) -> str:
    """The tool's name, where the title does not contain it (v1/tool-calls)."""
    name = one_line(name, 60)
    return f" ({name})" if name and name.lower() not in title.lower() else ""


def _above(diff: schema.Diff, call: ToolCall) -> int:
    """Return how many lines are above a diff's: some agents show only the replaced lines, and a
    location for their place.
    """
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
    if may_hold_diff(text) and (rows := _diffs(text, call, limit, cwd)):
        return indent(rows, prefix)
    if len(text) <= SHORT or limit == WHOLE:
        lines = visible(text).split("\n") if text else []
        if limit is None or len(lines) <= limit:
            return [(prefix + line, (), None) for line in lines]
    count = text.count("\n") + 1
    if limit == 0:
        return indent([more(count, call.index)], prefix)
    if limit is not None and count > limit:
        text = head(text, limit)
    rows = indent([_wide(line, call) for line in visible(text).split("\n")], prefix)
    if limit is not None and count > limit:
        rows += indent([more(count - limit, call.index)], prefix)
    return rows


def _diffs(text: str, call: ToolCall, limit: int | None, cwd: str) -> list[Row]:
    """A text with its diffs drawn as such; none where it has no diff that can be read."""
    path = call.locations[0].path if len(call.locations) == 1 else None
    parts = fenced(text, path)
    if not any(isinstance(part, Patch) for part in parts):
        return []
    rows: list[Row] = []
    for part in parts:
        if isinstance(part, Patch):
            rows += patch_rows(part.files or (), None, cwd, _whole(call, None))
        else:
            rows += [_wide(line, call) for line in visible(part).split("\n")]
    return cut(rows, limit, call.index)


def _wide(line: str, call: ToolCall) -> Row:
    """A line that is cut opens in full."""
    return row(line, None, call.index if len(line) > WIDEST else None)


def _terminal(id: str, entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    """Rows of a terminal; an unknown id is shown as such."""
    terminal = entry.terminals.get(id)
    if terminal is None:
        return [
            row(f"[terminal {one_line(id, 60)}]", "AcpAttachment", {"kind": "terminal", "id": id})
        ]
    return terminal_rows(terminal, limit, cwd)


def _own_terminals(entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    """Rows of terminals that an agent reports in `_meta` without embedding them."""
    told = [terminal for terminal in entry.terminals.values() if not terminal.ours]
    return [row for terminal in told for row in terminal_rows(terminal, limit, cwd)]


def _commands(call: ToolCall, limit: int | None) -> list[Row]:
    """Rows of the commands of a call without content."""
    rows: list[Row] = []
    for command in commands_of(call.raw_input):
        if limit == WHOLE:
            rows += [(f"$ {line}", (), None) for line in visible(command).split("\n")]
        else:
            rows += text_rows(command, _whole(call, None), "$ ", "AcpCommand", "  ")
    return cut(rows, limit, call.index)


def _locations(call: ToolCall, look: Look) -> list[Row]:
    shown = {item.path for item in call.content if isinstance(item, schema.Diff)}
    rows: list[Row] = []
    most = None if look.tool_lines == WHOLE else lists.ITEMS
    for location in call.locations[:most]:
        if location.path in shown:
            continue
        target = _place(location)
        line = f":{target['line']}" if "line" in target else ""
        rows.append(row(shown_path(location.path, look.cwd) + line, "AcpPath", target))
    left = 0 if most is None else len(call.locations) - most
    return [*rows, row(lists.more(left), "AcpMuted", call.index)] if left > 0 else rows


def _decided(decision: Decision) -> Row:
    return row(f"↳ {one_line(decision.answer)}", "AcpMuted")
