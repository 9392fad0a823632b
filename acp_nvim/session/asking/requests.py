"""What a tool call says that it is about to do: the commands and the files that it names.

No field of the protocol holds a command, so each agent puts it where it likes: `command`, `cmd`,
`argv`, `script`, a list of `commands`, a program beside its `args`, in `rawInput`, in `_meta` or in
a block of shell text. All who need to know read it here: the rules judge every command and every
path, the permission card shows them, the review looks at the files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from acp_nvim.protocol import schema
from acp_nvim.session.tool_calls import ToolCall

SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "yash"})
"""Shells that take a line after `-c`."""

PATH_KEYS: Final = frozenset(
    {
        *("path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames"),
        *("abspath", "absolutepath", "relativepath", "targetfile", "notebookpath", "targetpath"),
        *("oldpath", "newpath", "source", "destination", "from", "to", "movepath", "directory"),
        *("sourcepath", "destinationpath", "dirpath", "dir", "folder"),
    }
)
"""Under these keys agents name files; keys are compared without case, `_` and `-`."""

_LINES: Final = frozenset({"command", "cmd", "commandline", "cmdline", "shellcommand"})
_PROGRAMS: Final = frozenset({*_LINES, "program", "executable", "exe", "binary"})
_SEVERAL: Final = frozenset({"commands", "cmds", "script", "scripts", "shellcommands"})
_ARGS: Final = ("args", "arguments")
_SHELL_TEXT: Final = frozenset({"code", "source", "text", "content"})
_LANGUAGES: Final = frozenset({*SHELLS, "shell", "console", "shellscript", "terminal"})
_DIRECTORIES: Final = ("cwd", "workdir", "workingdirectory", "currentdirectory")
_VARIABLES: Final = ("env", "environment", "envvars", "environmentvariables")
_TOLD_TWICE: Final = frozenset({"parsedcmd", "parsedcommand", "proposedexecpolicyamendment"})
"""Readings of the `command` beside them, by the agent; not as it runs it."""
_ANSWERS: Final = frozenset({"toolresponse", "terminaloutput", "terminalexit", "terminalinfo"})
_FOLDERS: Final = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"}
)
_FENCED: Final = re.compile(r"^(`{3,}|~{3,})[ \t]*(\w+)[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |rename (?:from|to) )(.+?)\r?$"
    r"|^(?:---|\+\+\+) (?:[ab]/)?([^\t\r\n]+)",
    re.MULTILINE,
)


_ADDRESS: Final = re.compile(r"[A-Za-z][\w+.-]*://")
_CHANGES: Final = frozenset({"changes", "filechanges"})
"""Maps whose keys are paths."""


class Command(msgspec.Struct, frozen=True):
    """One command that a request tells.

    `line` is the command in one text, fit to be shown and to be given to a shell. `argv` holds its
    words where no shell reads them; None where `line` is a line for a shell. A call of a shell
    (`["bash", "-lc", line]`) is that line. `found` says where it stood (`rawInput.command`), for
    people. `cwd` and `env` are what stands beside it.
    """

    line: str
    argv: tuple[str, ...] | None = None
    found: str = ""
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()


class _Place(NamedTuple):
    """A value in a request: the key it has, where that stands, what stands beside it."""

    value: Any
    found: str
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()


def commands(call: ToolCall) -> tuple[Command, ...]:
    """Every command that a tool call tells, each once, in the order in which they stand."""
    found: dict[tuple[object, ...], Command] = {}
    for place in _places(call):
        for one in _told(place, executes=call.kind == "execute"):
            found.setdefault((one.line, one.argv, one.cwd, one.env), one)
    for at, item in enumerate(call.content):
        for one in _fenced(item, f"content[{at}]"):
            found.setdefault((one.line, one.argv, one.cwd, one.env), one)
    return tuple(found.values())


def command(
    words: Sequence[str],
    found: str = "",
    cwd: str | None = None,
    env: tuple[tuple[str, str], ...] = (),
) -> Command:
    """The command that these words are: of a shell with a line, that line."""
    match words:
        case [shell, "-c" | "-lc", line] if is_shell(shell):
            return Command(line, None, found, cwd, env)
    return Command(shlex.join(words), tuple(words), found, cwd, env)


def is_shell(program: str) -> bool:
    """Whether this names a shell of the system: `bash`, `/bin/bash`; not `/tmp/bash`."""
    path = PurePosixPath(program)
    return path.name in SHELLS and (path.name == program or str(path.parent) in _FOLDERS)


def paths(call: ToolCall) -> list[str]:
    """Every file that a tool call names, as it is spelled, each once: in locations, diffs, patches
    and under the keys of its raw input.
    """
    found = [location.path for location in call.locations]
    found += [item.path for item in call.content if isinstance(item, schema.Diff)]
    for raw in (call.raw_input, *(raw for raw, _ in _unknown(call))):
        if raw:
            found += _named(raw)
    return list(dict.fromkeys(path for path in found if path))


def written(call: ToolCall) -> list[str]:
    """The files that its diffs change."""
    return [item.path for item in call.content if isinstance(item, schema.Diff)]


def texts(call: ToolCall) -> list[str]:
    """What the call says in words: some agents tell a command nowhere else."""
    blocks = (item.content for item in call.content if isinstance(item, schema.Content))
    return [block.text for block in blocks if isinstance(block, schema.TextContent)]


# -- commands -------------------------------------------------------------------------------------


def _places(call: ToolCall) -> Iterator[_Place]:
    """Every map in `rawInput` and `_meta`, the outer before the inner ones."""
    waiting = [_Place(raw, found) for raw, found in reversed(_unknown(call))]
    waiting += [_Place(call.meta, "_meta"), _Place(call.raw_input, "rawInput")]
    while waiting:
        place = waiting.pop()
        if isinstance(place.value, list):
            items = [(f"{place.found}[{i}]", item) for i, item in enumerate(place.value)]
        elif isinstance(place.value, Mapping):
            place = place._replace(
                cwd=_directory(place.value) or place.cwd, env=_variables(place.value) or place.env
            )
            yield place
            known = {_plain(key) for key in place.value}
            left_out = _ANSWERS | _TOLD_TWICE if known & _LINES else _ANSWERS
            items = [
                (f"{place.found}.{key}", item)
                for key, item in place.value.items()
                if _plain(key) not in left_out
            ]
        else:
            continue
        waiting += [
            _Place(item, found, place.cwd, place.env)
            for found, item in reversed(items)
            if isinstance(item, list | Mapping)
        ]


def _unknown(call: ToolCall) -> list[tuple[Any, str]]:
    """Content of types that the protocol does not know, and where it stands."""
    return [
        (item.raw, f"content[{at}]")
        for at, item in enumerate(call.content)
        if isinstance(item, schema.UnknownToolCallContent)
    ]


def _plain(key: object) -> str:
    return str(key).replace("_", "").replace("-", "").lower()


def _told(place: _Place, *, executes: bool) -> Iterator[Command]:
    """The commands that stand under the keys of one map."""
    values = {_plain(key): (f"{place.found}.{key}", item) for key, item in place.value.items()}
    more = {"cwd": place.cwd, "env": place.env}
    args = next((values[name][1] for name in _ARGS if name in values), None)
    programs = [name for name in values if name in _PROGRAMS]
    for name in programs:
        found, value = values[name]
        if name in _LINES or args is not None or executes:
            yield from _one(value, args, found, more)
    lone = _ARGS if executes and not programs else ()
    for name in (name for name in ("argv", *lone) if name in values):
        yield from _one(values[name][1], None, values[name][0], more)
    for name in (name for name in values if name in _SEVERAL):
        yield from _each(values[name][1], values[name][0], more)
    if any(_is_language(values[name][1]) for name in ("language", "lang") if name in values):
        for name in (name for name in values if name in _SHELL_TEXT):
            yield from _one(values[name][1], None, values[name][0], more)


def _each(value: Any, found: str, more: Mapping[str, Any]) -> Iterator[Command]:
    """Several commands: a list, or names with a command each. One text is a script."""
    items = value.values() if isinstance(value, Mapping) else value
    for item in items if isinstance(items, Iterable) and not isinstance(items, str) else [items]:
        yield from _one(item, None, found, more)


def _one(value: Any, args: Any, found: str, more: Mapping[str, Any]) -> Iterator[Command]:
    """A command as a line or as words; its arguments may stand apart."""
    apart = [str(word) for word in args] if isinstance(args, list) else []
    if isinstance(value, list):
        if any(isinstance(word, list | Mapping) for word in value):
            for item in value:
                yield from _one(item, args, found, more)
        elif value:
            yield command([*(str(word) for word in value), *apart], found, **more)
    elif isinstance(value, str) and value.strip():
        if apart:
            yield command([value, *apart], found, **more)
        else:
            after = f" {args}" if isinstance(args, str) and args else ""
            yield Command(value + after, None, found, **more)


def _is_language(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in _LANGUAGES


def _directory(beside: Mapping[str, Any]) -> str | None:
    values = {_plain(key): value for key, value in beside.items()}
    given = (values.get(name) for name in _DIRECTORIES)
    return next((value for value in given if isinstance(value, str) and value), None)


def _variables(beside: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Variables beside a command: a map, a list of names and values, or of `NAME=value`."""
    values = {_plain(key): value for key, value in beside.items()}
    given = next((values[name] for name in _VARIABLES if values.get(name)), None)
    if isinstance(given, Mapping):
        return tuple((str(name), str(value)) for name, value in given.items())
    found = []
    for item in given if isinstance(given, list) else [] if given is None else [given]:
        if isinstance(item, Mapping):
            found.append((str(item.get("name", "")), str(item.get("value", ""))))
        else:
            name, _, value = str(item).partition("=")
            found.append((name, value))
    return tuple(found)


def _fenced(item: Any, found: str) -> Iterator[Command]:
    """The shell text of a content block."""
    block = item.content if isinstance(item, schema.Content) else None
    if not isinstance(block, schema.TextContent):
        return
    for fence in _FENCED.finditer(block.text):
        if fence[2].lower() in _LANGUAGES and fence[3].strip():
            yield Command(fence[3].rstrip("\n"), None, found)


# -- files ----------------------------------------------------------------------------------------


def _named(raw: Any) -> Iterator[str]:
    """The files under keys that name some, in file addresses, and in patches."""
    waiting: list[tuple[str, Any]] = [("", raw)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            yield from _paths_in(key, value)
        elif isinstance(value, Mapping):
            if key in _CHANGES:
                yield from (str(name) for name in value)
            waiting += [(_plain(name), item) for name, item in reversed(list(value.items()))]
        elif isinstance(value, list):
            waiting += [(key, item) for item in reversed(value)]


def _paths_in(key: str, value: str) -> Iterator[str]:
    if "\n" in value and not (key.endswith("path") and "/" in value.partition("\n")[0]):
        if "*** Begin Patch" in value or "\n+++ " in value or value.startswith("+++ "):
            found = (one[1] or one[2] for one in _PATCHED.finditer(value))
            yield from (path for path in found if path != "/dev/null")
    elif value.startswith("file://"):
        yield unquote(urlsplit(value).path)
    elif key in PATH_KEYS and not _ADDRESS.match(value):
        yield value
