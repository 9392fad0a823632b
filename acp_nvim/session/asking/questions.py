"""What a tool call is about (command, paths), and the questions that agents' requests become."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from acp_nvim.protocol import schema
from acp_nvim.session.asking.decisions import Decision, Option
from acp_nvim.session.asking.rules import Case
from acp_nvim.session.tool_calls import ToolCall

SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
FOLDERS: Final = frozenset(
    ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
)
PATH_KEYS: Final = (
    *("file_path", "path", "filePath", "abs_path", "absolute_path", "filename", "target_file"),
    "notebook_path",
)
"""Under these keys of a raw input agents name the file that they mean."""


def permission_decision(
    decision_id: str, call: ToolCall, params: schema.RequestPermissionRequest
) -> Decision:
    """Return the decision for a permission request, all of its options in the agent's order."""
    return Decision(
        decision_id,
        "permission",
        call.title or call.name or call.id,
        kind=call.kind,
        tool_call_id=call.id,
        options=[Option(option.option_id, option.name, option.kind) for option in params.options],
        request=params,
    )


def rule_case(call: ToolCall, agent: str, cwd: str) -> Case:
    """Return what permission rules are held against; `cwd` is that of the session."""
    paths = [posixpath.normpath(posixpath.join(cwd, path)) for path in _named(call)]
    return Case(
        kind=call.kind,
        paths=list(dict.fromkeys(paths)),
        command=command_of(call.raw_input),
        agent=agent,
    )


def _named(call: ToolCall) -> Iterator[str]:
    """What stands in locations, diffs and the raw input."""
    yield from (location.path for location in call.locations)
    yield from (item.path for item in call.content if isinstance(item, schema.Diff))
    raw = call.raw_input if isinstance(call.raw_input, dict) else {}
    yield from (raw[key] for key in PATH_KEYS if isinstance(raw.get(key), str) and raw[key])


def command_of(raw_input: Any) -> str | None:
    """Return the command line in a raw input, as the agents of the field spell it."""
    if not isinstance(raw_input, dict):
        return None
    command = raw_input.get("command") or raw_input.get("cmd")
    if isinstance(command, list):
        return line_of([str(word) for word in command])
    if not isinstance(command, str):
        return None
    args = raw_input.get("args")
    words = [str(word) for word in args] if isinstance(args, list) else []
    return line_of([command, *words]) if words else command


def line_of(argv: list[str]) -> str:
    """Return words as one command line. What is handed to a shell as a line is the line itself:
    rules are written for that.
    """
    match argv:
        case [shell, "-c" | "-lc", line] if _is_shell(shell):
            return line
    return shlex.join(argv)


def _is_shell(program: str) -> bool:
    """Whether this names a shell of the system: `bash`, `/bin/bash`; not `./bash`."""
    path = PurePosixPath(program)
    return path.name in SHELLS and (path.name == program or str(path.parent) in FOLDERS)


def output_of(raw_output: Any) -> str:
    """Return what a command printed, by its tool call's raw output; empty where it does not say."""
    if not isinstance(raw_output, dict):
        return raw_output if isinstance(raw_output, str) else ""
    for keys in (("aggregated_output",), ("stdout", "stderr"), ("output",)):
        texts = [text for key in keys if isinstance(text := raw_output.get(key), str)]
        if any(texts):
            return "".join(texts)
    return ""
