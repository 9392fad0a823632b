"""Title of a question: agent, action, and the file or the whole command."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from acp_nvim.edits import hunks
from acp_nvim.edits.patch import FilePatch
from acp_nvim.protocol import schema
from acp_nvim.render.calls.subject import plain_title
from acp_nvim.render.calls.titles import short_title
from acp_nvim.render.diffs import MAX_COMPARED
from acp_nvim.render.text import display_path, one_line
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.lists import ITEMS
from acp_nvim.session.questions import tool_input
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.patches import patches_of
from acp_nvim.session.questions.proposals import WHOLE
from acp_nvim.session.questions.requests import commands

Parts = list[tuple[str, str | None]]
"""Texts with their highlight groups. The last text may have line breaks."""

VERBS: Final[Mapping[str, str]] = {
    **{kind: kind for kind in ("read", "edit", "delete", "move", "search", "fetch")},
    "execute": "run",
}
"""Verbs of kinds that have one."""

REASONS: Final[Mapping[str, str]] = {
    "outside": "outside the project",
    "secret": "a secret file",
    "executed": "a file that other programs run",
}
"""Reasons to ask about a file (`files.bytes.guard`), as an object of the verb."""

_WANTS: Final = "wants to "
_ASKS: Final = "asks for permission: "

_VERBS_BY_CHANGE: Final[Mapping[str, str]] = {
    "created": "create",
    "deleted": "delete",
    "moved": "move",
    "copied": "copy",
    "written": "write",
}
_VERB_WORDS: Final = frozenset(
    {
        *("edit", "editing", "write", "writing", "update", "create", "read", "reading", "view"),
        *("delete", "move", "rename", "run", "running", "execute", "fetch", "search", "file"),
    }
)
"""Words of an agent's title that repeat the verb of the question."""


class Change(Struct, frozen=True):
    """Planned change to one file, with counts of lines."""

    path: str
    kind: str
    added: int
    removed: int
    origin: str | None = None


class Title(Struct, frozen=True):
    """Title in parts, with the values that the rows below need not repeat."""

    parts: Parts
    command: str | None = None
    """The only command, if the title contains it in full."""
    change: Change | None = None
    """The only change, if the title names it."""
    path: str | None = None
    """The only file, if the title names it."""
    agent_title: str = ""
    """The agent's title, if it says more than the parts."""


def title(decision: Decision, call: ToolCall | None, cwd: str) -> Title:
    """Return the title of a question about `call`."""
    if decision.listed != "permissions":
        prefix = "Question: " if decision.subject == "consent" else ""
        return Title([(prefix, "AcpPermission"), (decision.title.strip(), "AcpPermissionTitle")])
    agent = f"{one_line(decision.agent, 60) or 'The agent'} "
    if decision.has_choices:
        asked = decision.title.strip()
        return Title([(f"{agent}asks: ", "AcpPermission"), (asked, "AcpPermissionTitle")])
    if call is None or decision.subject != "permission":
        # The plugin's titles name an action. An agent's title may be anything ("Run the tests?").
        verb = "asks: " if decision.subject == "permission" else "wants to "
        named = decision.title.strip().removeprefix(f"{decision.agent} › ")
        return Title([(agent + verb, "AcpPermission"), (named, "AcpPermissionTitle")])
    result = _title_of_call(decision, call, cwd)
    return msgspec.structs.replace(result, parts=[(agent, "AcpPermission"), *result.parts])


def covered_title(decision: Decision, call: ToolCall, cwd: str) -> Title:
    """Return the line of an open call that a question may allow: `May allow: run make`."""
    result = _title_of_call(decision, call, cwd)
    (first, group), *rest = result.parts
    verb = first.removeprefix(_WANTS).removeprefix(_ASKS)
    is_described = result.command or result.change or result.path
    parts: Parts = [(f"May allow: {verb}", group), *rest]
    return msgspec.structs.replace(
        result, parts=parts, agent_title="" if is_described else result.agent_title
    )


def _title_of_call(decision: Decision, call: ToolCall, cwd: str) -> Title:
    agent_title = short_title((plain_title(call) or call.name or call.id).strip(), call.kind, cwd)
    if call.user_tool:
        return Title(_request_title("call", call.user_tool))
    changed = planned_changes(call, cwd)
    lines = distinct_commands(call, edits=bool(changed))
    if lines and (call.kind == "execute" or not changed):
        return _title_of_commands(lines, agent_title)
    if changed:
        return _title_of_changes(decision, call, changed, agent_title, cwd)
    paths, verb = _file_names(call), VERBS.get(call.kind)
    if verb is not None and verb != "run" and len(paths) == 1:
        subject = _display_file(decision, paths[0], cwd)
        return Title(
            _request_title(verb, subject),
            path=paths[0],
            agent_title=_differing_title(agent_title, paths[0], subject),
        )
    address = _address(call) if call.kind == "fetch" else None
    if address is not None:
        return Title(
            _request_title("fetch", address),
            agent_title=_differing_title(agent_title, address, address),
        )
    return Title(_title_from_agent(verb, agent_title))


def _request_title(verb: str, what: str) -> Parts:
    return [(f"{_WANTS}{verb} ", "AcpPermission"), (what, "AcpPermissionTitle")]


def _title_from_agent(verb: str | None, agent_title: str) -> Parts:
    """Return the title of a call for which only the agent's title is known."""
    if verb is None:
        return [(_ASKS, "AcpPermission"), (agent_title, "AcpPermissionTitle")]
    first, _, rest = agent_title.partition(" ")
    if first.lower() == verb and rest.strip():
        return _request_title(verb, rest.strip())
    bare = agent_title.strip("`") if agent_title.count("`") == 2 else agent_title
    return _request_title(
        verb if verb == "run" else f"{verb}:", bare if verb == "run" else agent_title
    )


def _title_of_commands(lines: Sequence[str], agent_title: str) -> Title:
    if len(lines) > 1:
        return Title(_request_title("run", f"{len(lines)} commands"), agent_title=agent_title)
    [line] = lines
    line = line.strip("\n")
    return Title(
        _request_title("run", line),
        command=lines[0],
        agent_title=_differing_title(agent_title, line, line),
    )


def _title_of_changes(
    decision: Decision, call: ToolCall, changed: Sequence[Change], agent_title: str, cwd: str
) -> Title:
    if call.meta and WHOLE in call.meta and call.title.startswith("Rename "):
        return _title_of_rename(call.title, changed)
    verbs = {_VERBS_BY_CHANGE.get(change.kind, "edit") for change in changed}
    verb = verbs.pop() if len(verbs) == 1 else "edit"
    counts = _counts(changed, verb)
    if len(changed) > 1:
        return Title(
            [*_request_title(verb, f"{len(changed)} files"), *counts], agent_title=agent_title
        )
    [change] = changed
    path, subject = change.path, _display_file(decision, change.path, cwd)
    if change.origin is not None:
        subject = f"{display_path(os.path.join(cwd, change.origin), cwd)} to {subject}"  # noqa: PTH118
    other = _differing_title(agent_title, path, subject)
    parts = [*_request_title(verb, subject), *counts]
    return Title(parts, change=change, path=path, agent_title=other)


def _title_of_rename(agent_title: str, changed: Sequence[Change]) -> Title:
    """Return the title of a rename by a tool of the editor."""
    count = f"{len(changed)} file{'' if len(changed) == 1 else 's'}"
    where: Parts = [(f" in {count}", "AcpPermission")]
    parts = _request_title("rename", agent_title.removeprefix("Rename "))
    return Title([*parts, *where, *_counts(changed, "edit")])


def _counts(changed: Sequence[Change], verb: str) -> Parts:
    added, removed = sum(c.added for c in changed), sum(c.removed for c in changed)
    if not added and not removed:
        return []
    plus: Parts = [(f"+{added}", "AcpAdded")] if added or verb != "delete" else []
    minus: Parts = [(f"-{removed}", "AcpRemoved")] if removed or verb == "edit" else []
    between: Parts = [(" ", None)] if plus and minus else []
    return [(" (", None), *plus, *between, *minus, (")", None)]


def _display_file(decision: Decision, path: str, cwd: str) -> str:
    reason = decision.guarded.get(os.path.normpath(os.path.join(cwd, path)))  # noqa: PTH118
    shown = display_path(os.path.join(cwd, path), cwd)  # noqa: PTH118
    return f"{REASONS[reason]}: {shown}" if reason else shown


def _differing_title(agent_title: str, *known: str) -> str:
    """Return the agent's title if it has more than verb and object."""
    words = agent_title.replace("`", "").replace(":", " ").split()
    while words and words[0].lower() in _VERB_WORDS and len(words) > 1:
        words = words[1:]
    bare = " ".join(words)
    names = {
        spelling
        for title in known
        for spelling in (title, " ".join(title.split()), os.path.basename(title))  # noqa: PTH119
    }
    return (
        ""
        if bare in names or agent_title in names or agent_title.strip("`") in names
        else agent_title
    )


# -- effects of a call ----------------------------------------------------------------------------


def distinct_commands(call: ToolCall, *, edits: bool) -> list[str]:
    """Return the distinct commands of a call.

    `edits` means that the call also changes files, so that one of its commands may be a patch.
    """
    parts = tool_input.parts(call.raw_input)
    lines = dict.fromkeys(part.line for part in parts if isinstance(part, tool_input.Command))
    anywhere = call.kind == "execute" and not edits and not lines
    if call.meta or anywhere:
        for command in commands(call):
            if anywhere or command.found.startswith("_meta"):
                lines.setdefault(command.line)
    return list(lines)


def _file_names(call: ToolCall) -> list[str]:
    places = [location.path for location in call.locations]
    parts = () if places else tool_input.parts(call.raw_input)
    places += [part.path for part in parts if isinstance(part, tool_input.Place)]
    return list(dict.fromkeys(places))


def _address(call: ToolCall) -> str | None:
    raw = call.raw_input
    address = raw.get("url") or raw.get("uri") if isinstance(raw, dict) else None
    return address if isinstance(address, str) else None


def planned_changes(call: ToolCall, cwd: str) -> list[Change]:
    """Return the changes that a call plans, one for each file.

    They are taken from its diffs, then from patches and edits of other files. `cwd` is the
    session's directory.
    """
    by_path: dict[str, Change] = {}
    patched = map(_change_of_patch, patches_of(call))
    for source in (_diff_changes(call), patched, _edit_changes(call)):
        new: dict[str, Change] = {}
        for change in islice(source, ITEMS):
            path = os.path.normpath(os.path.join(cwd, change.path))  # noqa: PTH118
            known = new.get(path)
            new[path] = change if known is None else _sum_changes(known, change)
        by_path = new | by_path
    return list(by_path.values())


def _sum_changes(a: Change, b: Change) -> Change:
    return Change(a.path, a.kind, a.added + b.added, a.removed + b.removed, a.origin)


def _diff_changes(call: ToolCall) -> Iterator[Change]:
    for item in call.content:
        if isinstance(item, schema.Diff):
            is_deletion = call.kind == "delete" and not item.new_text
            is_new = not isinstance(item.old_text, str)
            kind = "deleted" if is_deletion else "created" if is_new else "modified"
            yield _change_of_texts(item.path, kind, item.old_text, item.new_text)


def _change_of_patch(patch: FilePatch) -> Change:
    return Change(patch.path, patch.kind, patch.count("+"), patch.count("-"), patch.origin)


def _edit_changes(call: ToolCall) -> Iterator[Change]:
    for part in tool_input.parts(call.raw_input):
        if isinstance(part, tool_input.Edit) and part.path:
            kind = "written" if part.old is None else "modified"
            yield _change_of_texts(part.path, kind, part.old, part.new)


def _change_of_texts(path: str, kind: str, old: Any, new: str) -> Change:
    before = old if isinstance(old, str) else ""
    if len(before) + len(new) > MAX_COMPARED:
        return Change(path, kind, _count_lines(new), _count_lines(before))
    changes = hunks.diff(_split_lines(before), _split_lines(new))
    added = sum(len(hunk.lines) for hunk in changes)
    return Change(path, kind, added, sum(hunk.end - hunk.start for hunk in changes))


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _split_lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
