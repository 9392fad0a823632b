"""Questions as cards: agent and action, effects, answers."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.render.calls.call_line import location_target
from acp_nvim.render.calls.tool_input import input_rows, is_named
from acp_nvim.render.cutting import both_ends, fold_rows, gap_row
from acp_nvim.render.diffs import text_rows
from acp_nvim.render.question_title import REASONS, Title, covered_title, title
from acp_nvim.render.rows import Row, Target, cut_middle, indent, row, row_of_pieces
from acp_nvim.render.text import display_path, one_line, path_line, visible
from acp_nvim.session import lists
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.prompts import text_for_chat
from acp_nvim.session.questions import effects, form_page, forms
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.requests import is_without_content
from acp_nvim.session.transcript.entries import ToolEntry

UNDER = "  "
"""Indent of rows below the title of a question, or below the line of a call."""

SEVERITY_GROUPS = {0: "AcpMuted", 1: "AcpError", 2: "AcpWarning"}
"""Highlight groups by severity. 0 means no problem."""

MAX_DIAGNOSTICS = 3
"""Maximum number of new diagnostics of an edit that a card shows."""

ANSWER = "↳ "
"""Prefix of the answer to a question."""

ICON = "○ "
"""Prefix of the title of a question in a chat."""


def count_option_rows(decision: Decision) -> int:
    """Return the number of rows with options in a card."""
    return min(len(decision.options), lists.OPTIONS + 1)


def count_action_rows(decision: Decision) -> int:
    """Return the number of rows at the top of a card that show the action in question."""
    return 2 if decision.covers else 1


def count_title_rows(decision: Decision, entry: ToolEntry | None, cwd: str) -> int:
    """Return the number of rows at the top of a card that have its title, such as a command."""
    known = _title(decision, entry, cwd)
    return len(_title_rows(msgspec.structs.replace(known, agent_title=""), {}))


def card(
    decision: Decision,
    entry: ToolEntry | None = None,
    cwd: str = "",
    content: Iterable[Row] = (),
    *,
    chat: bool = False,
) -> list[Row]:
    """Return the rows of a question: title, effects, the `content` of its call, options.

    Files are named relative to `cwd`. In a `chat`, the card begins with an icon.
    """
    question_target: Target = {"decision": decision.id}
    card_title = _title(decision, entry, cwd)
    full_target = full_view_target(entry.call if entry else None, decision)
    rows = [*_title_rows(card_title, full_target, chat=chat), *_effect_rows(decision, entry, cwd)]
    rows += _without_head(content, card_title, cwd)
    rows += indent(_option_rows(decision), UNDER)
    rows = [_mark_row(row, question_target) for row in rows]
    rows[0] = _mark_row(rows[0], {"first": True})
    rows[-1] = _mark_row(rows[-1], {"last": True})
    return rows


def legend(decision: Decision) -> Row:
    """Return the blank row below a card in a chat, where Neovim shows the keys for the answers."""
    return "", (), {"decision": decision.id, "legend": True}


def title_text(decision: Decision, entry: ToolEntry | None, cwd: str) -> str:
    """Return the title of a question if it is a single line, otherwise an empty string."""
    text = "".join(text for text, _ in _title(decision, entry, cwd).parts).strip()
    return "" if "\n" in text or "\t" in text else visible(cut_middle(text))


def has_more(decision: Decision, entry: ToolEntry | None, cwd: str) -> bool:
    """Return whether a card has more than its title and the diffs of its tool call."""
    return bool(decision.covers or _effect_rows(decision, entry, cwd))


def covered_rows(
    decision: Decision, call: ToolCall, cwd: str, content: Iterable[Row] = ()
) -> list[Row]:
    """Return the rows of an open call that a question may allow.

    `content` contains the rows of its diffs.
    """
    known = covered_title(decision, call, cwd)
    full_target = full_view_target(call, decision)
    inside = [*_draw_input(call, cwd, full_target, known), *content]
    return _title_rows(known, full_target) + indent(_without_head(inside, known, cwd), UNDER)


def answer_rows(decision: Decision) -> list[Row]:
    """Return the rows of an answered question: the answer, its reason, the values of a form."""
    rows = [row(f"{ANSWER}{one_line(decision.answer)}", "AcpMuted")]
    if decision.reason:
        rows += [row(UNDER + line) for line in visible(text_for_chat(decision.reason)).split("\n")]
    request, content = decision.request, decision.outcome and decision.outcome.content
    if content and isinstance(request, schema.ElicitationFormMode):
        form = [field for field in forms.fields(request.requested_schema) if field.name in content]
        lines = form_page.summary(form[: lists.ITEMS], content)
        rows += [row(UNDER + one_line(line, 400), "AcpMuted") for line in lines]
    return rows


def _title(decision: Decision, entry: ToolEntry | None, cwd: str) -> Title:
    """Return the title, cached because raw inputs may be large and cards are drawn often."""
    if entry is None:
        return title(decision, None, cwd)
    call = entry.call
    key = (decision, call.raw_input, call.content, call.locations, call.title, call.kind, cwd)
    cached = entry.question_rows.get("title")
    if cached is None or any(a is not b for a, b in zip(cached[0], key, strict=True)):
        cached = entry.question_rows["title"] = (key, title(decision, call, cwd))
    cached_title: Title = cached[1]
    return cached_title


def _title_rows(known: Title, full_target: Target, *, chat: bool = False) -> list[Row]:
    """Return the title, which may be a command of several lines, and the agent's title below."""
    plain = "".join(text for text, _ in known.parts)
    if "\n" not in plain.strip():
        parts = [(visible(cut_middle(text)), group) for text, group in known.parts]
        rows = [row_of_pieces([(ICON, "AcpPermission"), *parts] if chat else parts, full_target)]
    else:
        *before, (text, group) = known.parts
        first, count, last = both_ends(text.strip("\n"))
        head = [(ICON, "AcpPermission"), *before] if chat else before
        rows = [row_of_pieces([*head, (first[0], group)], full_target)]
        rows += [row("    " + line, group) for line in first[1:]]
        rows += indent([gap_row(count, full_target)], "    ") if count else []
        rows += [row("    " + line, group) for line in last]
    return rows + (
        indent(text_rows(known.agent_title, full_target), UNDER) if known.agent_title else []
    )


def _effect_rows(decision: Decision, entry: ToolEntry | None, cwd: str) -> list[Row]:
    """Return the effects: the details of the question, and the raw input of its call."""
    call = entry.call if entry else None
    full_target = full_view_target(call, decision)
    rows: list[Row] = []
    for detail in decision.details:
        if detail != f"in {cwd}":
            rows += text_rows(detail, full_target, after="    ")
    rows += [row(path_line(problem), "AcpError") for problem in decision.problems]
    rows += _diagnostic_rows(decision, cwd)
    if entry is not None and decision.subject == "permission" and not decision.has_choices:
        known = _title(decision, entry, cwd)
        rows += _guarded_files(decision, known, cwd)
        if not decision.covers and entry.call.kind == "other" and is_without_content(entry.call):
            rows.append(row(wording.ALLOWED_ACTION_UNKNOWN, "AcpWarning"))
        rows += _without_head(_input_rows(entry, cwd, full_target, known), known, cwd)
    return indent(fold_rows(rows, full_target), UNDER)


def _diagnostic_rows(decision: Decision, cwd: str) -> list[Row]:
    """Return the edit's effects on the diagnostics of its files, with the first new ones."""
    checked = decision.effects
    if not checked:
        return []
    rows = [row(effects.summary(checked), SEVERITY_GROUPS[effects.worst(checked)])]
    added = [(proposal.path, diagnostic) for proposal in checked for diagnostic in proposal.added]
    for path, diagnostic in added[:MAX_DIAGNOSTICS]:
        place = f"{display_path(path, cwd)}:{diagnostic.row + 1} "
        words = one_line(" ".join(diagnostic.message.split()), 200)
        rows += indent(
            [row_of_pieces([(place, "AcpPath"), (words, SEVERITY_GROUPS[diagnostic.severity])])],
            UNDER,
        )
    if len(added) > MAX_DIAGNOSTICS:
        rows += indent([row(lists.more(len(added) - MAX_DIAGNOSTICS), "AcpMuted")], UNDER)
    return rows


def _guarded_files(decision: Decision, known: Title, cwd: str) -> list[Row]:
    """Return the guarded files that the title does not name."""
    named = known.path and os.path.normpath(os.path.join(cwd, known.path))  # noqa: PTH118
    others = [item for item in decision.guarded.items() if item[0] != named]
    return [
        row(
            f"{REASONS[why]}: {display_path(path, cwd)}",
            "AcpWarning",
            {"kind": "file", "path": path},
        )
        for path, why in others[: lists.ITEMS]
    ]


def _input_rows(entry: ToolEntry, cwd: str, full_target: Target, known: Title) -> list[Row]:
    """Return rows of the call's raw input and its files, cached like the title."""
    call = entry.call
    given = (call.raw_input, call.content, call.locations, call.title)
    key = (known, full_target.get("decision"), *given, cwd)
    cached = entry.question_rows.get("input")
    if cached is None or any(a is not b for a, b in zip(cached[0], key, strict=True)):
        cached = entry.question_rows["input"] = (key, _draw_input(call, cwd, full_target, known))
    rows: list[Row] = cached[1]
    return rows


def _draw_input(call: ToolCall, cwd: str, full_target: Target, known: Title) -> list[Row]:
    places = {location.path: location_target(location) for location in call.locations}
    diffs = {item.path for item in call.content if isinstance(item, schema.Diff)}
    named = diffs | ({known.path} if known.path is not None else set())
    rows = [
        row(display_path(path, cwd) + _line_suffix(target), "AcpPath", target)
        for path, target in places.items()
        if path not in named and not is_named(path, known.agent_title)
    ]
    return rows + input_rows(call, cwd, named | places.keys(), full_target, known.command)


def _without_head(rows: Iterable[Row], known: Title, cwd: str) -> list[Row]:
    """Return the rows of a diff without the first one if it repeats the title."""
    remaining = list(rows)
    if known.change is not None:
        change = known.change
        name = display_path(os.path.join(cwd, change.path), cwd)  # noqa: PTH118
        if change.origin is not None:
            origin = display_path(os.path.join(cwd, change.origin), cwd)  # noqa: PTH118
            name = f"{origin} → {name}"
        heads = [at for at, row in enumerate(remaining) if _is_head(row, name)]
        if len(heads) == 1:
            del remaining[heads[0]]
    return remaining


def _is_head(head: Row, name: str) -> bool:
    text, spans, _ = head
    text = text.strip()
    has_head = text == name or text.startswith((f"{name} +", f"{name} deleted"))
    return has_head and bool(spans) and spans[0][2] == "AcpPath"


def _option_rows(decision: Decision) -> list[Row]:
    rows: list[Row] = []
    for number, option in enumerate(decision.options[: lists.OPTIONS], 1):
        name = cut_middle(" ".join(visible(option.name).split()))
        rows.append(row_of_pieces([(f"{number}. ", "AcpKey"), (name, None)], {"option": number}))
    hidden_count = len(decision.options) - lists.OPTIONS
    if hidden_count > 0:
        rows.append(row(f"{lists.more(hidden_count)}: :Acp allow takes any by its id", "AcpMuted"))
    return rows


def _line_suffix(target: Target) -> str:
    return f":{target['line']}" if "line" in target else ""


def full_view_target(call: ToolCall | None, question: Decision | None) -> Target:
    """Return the target that shows all of a call, or of a question."""
    mark = {} if question is None else {"decision": question.id}
    return mark if call is None else {"kind": "tool", "call": call.index, **mark}


def _mark_row(unmarked: Row, mark: Target) -> Row:
    """Add the decision to a row's target, so that the decision's keys work on that row."""
    text, spans, target = unmarked
    if isinstance(target, int):
        target = {"kind": "tool", "call": target}
    return text, spans, {**target, **mark} if isinstance(target, dict) else mark
