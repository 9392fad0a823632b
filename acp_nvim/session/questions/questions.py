"""Decisions and rule cases of permission requests, and the command and output of a tool call."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from acp_nvim.edits.patch import named_files
from acp_nvim.protocol import schema, updates
from acp_nvim.session.calls.named_files import CHANGING, expand_home
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.lists import LISTED
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.decisions import KINDS, Decision, Option
from acp_nvim.session.questions.patches import may_hold_diff, shows_edit
from acp_nvim.session.questions.rules import Case


def permission_decision(
    decision_id: str,
    call: ToolCall,
    params: schema.RequestPermissionRequest | updates.PermissionRequest,
    shown: ToolCall | None = None,
) -> Decision:
    """Return the decision for a permission request, with options in the agent's order.

    If several options have the same id, the first is kept. If there are very many options, only the
    first ones and the first of each kind are kept. `shown` is the call under which the chat shows
    the question.
    """
    if len({option.option_id for option in params.options}) < len(params.options):
        params = msgspec.structs.replace(params, options=_distinct_options(params.options))
    if len(params.options) > LISTED:
        params = msgspec.structs.replace(params, options=_limit_options(params.options))
    title = call.title or call.name or call.id
    details: Sequence[str] = ()
    if isinstance(params, updates.PermissionRequest):
        title, details = params.title, _details(shown, params)
    return Decision(
        decision_id,
        "permission",
        title,
        kind=call.kind,
        tool_call_id=call.id or None,
        details=details,
        options=[_option(option.option_id, option.name, option.kind) for option in params.options],
        request=params,
        shown_call=None if shown is None else shown.copy(),
    )


def _details(shown: ToolCall | None, asked: updates.PermissionRequest) -> list[str]:
    """Return the parts of a request besides its tool call: title, description, subject."""
    title = asked.title if shown is not None and asked.title != shown.title else ""
    lines = [title, asked.description or ""]
    about = asked.subject
    if about is not None and about.command is not None:
        lines += [f"$ {about.command}", f"in {about.cwd}" if about.cwd else ""]
    elif about is not None:
        lines.append(f"{about.kind}: {msgspec.json.encode(about.raw).decode()}")
    return [line for line in lines if line]


def _distinct_options(
    options: Sequence[schema.PermissionOption],
) -> list[schema.PermissionOption]:
    distinct: dict[str, schema.PermissionOption] = {}
    for option in options:
        distinct.setdefault(option.option_id, option)
    return list(distinct.values())


def _limit_options(options: Sequence[schema.PermissionOption]) -> list[schema.PermissionOption]:
    first = [next((option for option in options if option.kind == kind), None) for kind in KINDS]
    rest = options[: LISTED - len(KINDS)]
    return [*rest, *(option for option in first if option is not None and option not in rest)]


@lru_cache(maxsize=256)
def _option(id: str, name: str, kind: str) -> Option:
    """Return an option, cached because most requests from an agent offer the same ones.

    An option without a name gets its id or kind instead.
    """
    return Option(id, name if name.strip() else id.strip() or kind, kind)


def named_paths(call: ToolCall, cwd: str) -> list[str]:
    """Return the absolute paths of all files that a tool call names. `cwd` is the session's.

    A `~` is the user's home, since some agents expand it.
    """
    return _absolute_paths(_spelled_paths(call), cwd)


def dotted_paths(call: ToolCall, cwd: str) -> list[str]:
    """Return the absolute paths with a `..` that a tool call names, as spelled."""
    paths = map(expand_home, _spelled_paths(call))
    return [posixpath.join(cwd, path) for path in paths if ".." in path.split("/")]


def _spelled_paths(call: ToolCall) -> list[str]:
    """Return the files that a call names, including those in the blocks of its content."""
    blocks = [item.content for item in call.content if isinstance(item, schema.Content)]
    return [*requests.paths(call), *(path for block in blocks for path in _files_of_block(block))]


def _files_of_block(block: schema.ContentBlock) -> Iterable[str]:
    """Return the files that a block names.

    They are the files of a resource, of diffs in Markdown, or of a block of an unknown type.
    """
    match block:
        case schema.TextContent(text=text):
            return named_files(text) if may_hold_diff(text) else ()
        case schema.ResourceLink():
            return requests.files_of_input({"path": block.uri})
        case schema.EmbeddedResource(
            resource=schema.TextResourceContents(uri=uri) | schema.BlobResourceContents(uri=uri)
        ):
            return requests.files_of_input({"path": uri})
        case schema.UnknownContent(raw=raw):
            return requests.files_of_input(raw)
    return ()


def _absolute_paths(paths: list[str], cwd: str) -> list[str]:
    joined = (posixpath.normpath(posixpath.join(cwd, expand_home(path))) for path in paths)
    return list(dict.fromkeys(joined))


def is_hidden_edit(call: ToolCall) -> bool:
    """Return whether a call shows an edit, but has a kind that changes no files."""
    return call.kind not in CHANGING and shows_edit(call)


def rule_case(call: ToolCall, agent: str, cwd: str) -> Case:
    """Return the case for the permission rules. `cwd` is the session's."""
    return Case(
        kind=call.kind,
        paths=named_paths(call, cwd),
        dotted=dotted_paths(call, cwd),
        commands=requests.commands(call),
        agent=agent,
        cwd=cwd,
        roots=[cwd],
        written=_absolute_paths(requests.files_of_diffs(call), cwd),
        shows_edit=is_hidden_edit(call),
        texts=[call.title, *requests.texts(call)],
    )


def command_of(raw_input: Any) -> str | None:
    """Return the first command in a raw input, as one line."""
    commands = requests.commands(ToolCall("", kind="execute", raw_input=raw_input))
    return commands[0].line if commands else None


def output_of(raw_output: Any) -> str:
    """Return a command's output from the raw output of its tool call, or an empty string."""
    if isinstance(raw_output, list):
        headed = len(raw_output) > 1
        return "\n".join(filter(None, (_text_of(item, headed) for item in raw_output)))
    if not isinstance(raw_output, dict):
        return raw_output if isinstance(raw_output, str) else ""
    for keys in (("aggregated_output",), ("stdout", "stderr"), ("output",)):
        texts = [text for key in keys if isinstance(text := raw_output.get(key), str)]
        if any(texts):
            return "".join(texts)
    for key in ("content", "result", "error"):
        value = raw_output.get(key)
        if isinstance(value, str | list) and value:
            return output_of(value)
    return ""


def _text_of(item: Any, headed: bool) -> str:
    """Return the text of a list item: a content block, an object with one, or a search result.

    With `headed`, the query of a result precedes its text.
    """
    if not isinstance(item, dict):
        return output_of(item)
    block = item.get("content", item)
    text = block.get("text") if isinstance(block, dict) else block
    if isinstance(text, str):
        return text
    output, query = output_of(item), item.get("query")
    return f"{query}:\n{output}" if headed and output and isinstance(query, str) else output
