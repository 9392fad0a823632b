"""Commands and files that a tool call names.

The protocol has no field for a command. Agents use `command`, `cmd`, `argv`, `script`, a list of
`commands`, or a program beside its `args`. These are in `rawInput`, in `_meta` or in a block of
shell text. This module is the only parser of them. The rules check every command and path, the
permission card shows them, and the review looks at the files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from acp_nvim.edits import patch
from acp_nvim.patterns import late
from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.protocol.uris import file_path
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import variables

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
"""Keys that contain file names. Keys are compared without case, `_` and `-`."""

PROSE_KEYS: Final = frozenset(
    {"description", "reason", "justification", "explanation", "instruction", "instructions"}
)
"""Keys that contain texts for people."""

TEXT_KEYS: Final = PROSE_KEYS | {
    *("old", "oldstring", "oldstr", "oldtext", "search", "pattern", "regex", "query"),
    *("new", "newstring", "newstr", "newtext", "replace", "replacement", "insert", "inserttext"),
    *("content", "contents", "newcontent", "filetext", "text", "code", "codeedit", "newsource"),
    *("before", "after", "find", "replacewith", "lines", "oldlines", "newlines", "originaltext"),
    *("targetcontent", "replacementcontent", "codecontent", "filecontent", "filecontents"),
    *("body", "newbody", "fulltext", "updatedcontent", "repl"),
}
"""Keys that contain texts of files, patterns and prose, which name no files.

Some agents number them (`old_str_1`).
"""

_FILE_KEYS: Final = frozenset(
    {
        *("path", "file", "filepath", "filename", "abspath", "absolutepath", "relativepath"),
        *("targetfile", "notebookpath", "targetpath"),
    }
)
"""Keys that contain the name of one file. Texts in the same map are texts of this file."""

_CHANGING: Final = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls that change files and run nothing (v1/tool-calls#kinds)."""

_LINE_KEYS: Final = frozenset({"command", "cmd", "commandline", "cmdline", "shellcommand"})
_PROGRAM_KEYS: Final = frozenset({*_LINE_KEYS, "program", "executable", "exe", "binary"})
_LIST_KEYS: Final = frozenset({"commands", "cmds", "script", "scripts", "shellcommands"})
_ARGUMENT_KEYS: Final = ("args", "arguments")
_TEXT_KEYS: Final = frozenset({"code", "source", "text", "content"})
_LANGUAGES: Final = frozenset({*SHELLS, "shell", "console", "shellscript", "terminal"})
_DIRECTORY_KEYS: Final = (
    *("cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory"),
    *("directory", "dirpath", "dir", "cd", "chdir", "pwd"),
)
_VARIABLE_ENDS: Final = ("env", "envs", "environ", "environment", "vars", "variables")
"""Ends of keys that contain environment variables."""
_INPUT_KEYS: Final = frozenset({"stdin", "stdintext", "input", "inputtext", "keystrokes", "chars"})
_SHELL_KEYS: Final = frozenset({"shell", "shellpath", "interpreter"})
_FURTHER_KEYS: Final = frozenset({"run", "exec", "bash", "code"})
_FURTHER_ENDS: Final = ("command", "commands", "cmd", "cmds", "script", "scripts")
"""Keys, and ends of keys, that may contain another command beside one (`post_command`)."""
_COMMAND_KEYS: Final = (
    _PROGRAM_KEYS | _LIST_KEYS | {"argv", "args", "arguments", "language", "lang"}
)
_CONTEXT_KEYS: Final = frozenset({*_DIRECTORY_KEYS, *_INPUT_KEYS, *_SHELL_KEYS, *_ARGUMENT_KEYS})
_LONGEST_KEY: Final = 40
_REPEATING_KEYS: Final = frozenset({"parsedcmd", "parsedcommand", "proposedexecpolicyamendment"})
"""Keys of a parsed form of the `command` next to them, which the agent does not run."""
_OUTPUT_KEYS: Final = frozenset({"toolresponse", "terminaloutput", "terminalexit", "terminalinfo"})
_PROGRAM_DIRECTORIES: Final = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"}
)
_FENCED: Final = late(r"^(`{3,}|~{3,})[ \t]*(\w+)[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)


_MAX_SEARCHED: Final = 65_536
"""Maximum number of characters of a text that are searched for a command."""
_ADDRESS: Final = late(r"[A-Za-z][\w+.-]*://")
_CHANGE_KEYS: Final = frozenset({"changes", "filechanges"})
"""Maps whose keys are paths."""


Variables: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values of environment variables."""


class Command(msgspec.Struct, frozen=True):
    """Command of a request.

    `line` is the command as one text, for display and for a shell. `argv` has its words if no shell
    reads them, and is None if `line` is for a shell. A call of a shell (`["bash", "-lc", line]`) is
    that line. `found` is its place (`rawInput.command`), for people. `cwd` and `env` come from the
    same map. `is_name` means that the editor's tools run it, without a shell:
    `lsp:gopls:gopls.tidy`. `has_input`: it gets an input, or runs in an unknown shell.
    """

    line: str
    argv: tuple[str, ...] | None = None
    found: str = ""
    cwd: str | None = None
    env: Variables = ()
    is_name: bool = False
    has_input: bool = False

    @property
    def has_harmless_context(self) -> bool:
        """Return whether variables, input and shell leave the meaning of the line unchanged."""
        return not self.has_input and variables.are_harmless(self.env)


class _Parts:
    """Copy of a call, as a key for caches: its parts are compared by identity.

    One question reads commands and paths several times, which takes long for a large input.
    Messages from the agent replace these parts and never modify them.
    """

    def __init__(self, call: ToolCall) -> None:
        self.call = call.copy()
        parts = call.raw_input, call.meta, call.locations, *call.content
        self._key = call.kind, *map(id, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Parts) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class _Item(NamedTuple):
    """Entry of a map: its key without case, `_` and `-`, its place, its value."""

    key: str
    found: str
    value: Any


class _Context(NamedTuple):
    """Directory, variables, inputs and shells that apply to the commands in a map."""

    cwd: str | None = None
    env: Variables = ()
    inputs: tuple[str, ...] = ()


class _Value(NamedTuple):
    """Value in an input, with its place and context.

    `has_texts` means that text keys in it have texts of files, which contain no arguments.
    """

    value: Any
    place: str
    context: _Context
    has_texts: bool


def commands(call: ToolCall) -> tuple[Command, ...]:
    """Return the distinct commands of a tool call, in order."""
    if not (call.content or call.raw_input or call.meta):
        return ()  # only a title, which is very common
    return _distinct_commands(_Parts(call))


@lru_cache(maxsize=4)
def _distinct_commands(parts: _Parts) -> tuple[Command, ...]:
    found = list(_all_commands(parts.call))
    # Commands of one map share their variables. Equal variables get one number, so that many of
    # them are hashed once and not for each command.
    objects = {id(command.env): command.env for command in found}
    number_of: dict[Variables, int] = {}
    numbers = {key: number_of.setdefault(env, key) for key, env in objects.items()}
    distinct: dict[tuple[object, ...], Command] = {}
    for command in found:
        env = numbers[id(command.env)]
        key = command.line, command.argv, command.cwd, env, command.has_input
        distinct.setdefault(key, command)
    return tuple(distinct.values())


def _all_commands(call: ToolCall) -> Iterator[Command]:
    for items, context in _maps(call):
        found = list(_commands_of_map(items, context, executes=call.kind == "execute"))
        if found:
            found += _further_commands(items, context)
            yield from _with_inputs(found, context.inputs)
    for at, item in enumerate(call.content):
        yield from _shell_text(item, f"content[{at}]")


def command(
    words: Sequence[str],
    source: str = "",
    cwd: str | None = None,
    env: Variables = (),
) -> Command:
    """Return the command of these words. A shell with a line becomes that line."""
    match words:
        case [shell, "-c" | "-lc", line] if is_shell(shell):
            return Command(line, None, source, cwd, env)
    return Command(shlex.join(words), tuple(words), source, cwd, env)


def editor_command(text: str) -> Command:
    """Return a command of the editor's tools, which rules know by its name."""
    return Command(text, (text,), is_name=True)


def is_shell(program: str) -> bool:
    """Return whether this names a shell of the system: `bash`, `/bin/bash`, but not `/tmp/bash`."""
    path = PurePosixPath(program)
    return path.name in SHELLS and (
        path.name == program or str(path.parent) in _PROGRAM_DIRECTORIES
    )


def paths(call: ToolCall) -> list[str]:
    """Return the distinct files that a tool call names, as spelled.

    They come from locations, diffs, patches and known keys of its raw input.
    """
    if not (call.locations or call.content or call.raw_input):
        return []  # only a title, which is very common
    return list(_distinct_paths(_Parts(call)))


@lru_cache(maxsize=4)
def _distinct_paths(parts: _Parts) -> tuple[str, ...]:
    call = parts.call
    spelled = [location.path for location in call.locations]
    spelled += files_of_diffs(call)
    for raw in (call.raw_input, *(raw for raw, _ in _unknown_content(call))):
        if raw:
            spelled += files_of_input(raw, changes_files=call.kind in _CHANGING)
    return tuple(dict.fromkeys(path for path in spelled if path))


def files_of_diffs(call: ToolCall) -> list[str]:
    """Return the files that the call's diffs change. A diff without a path has an empty one."""
    files: list[str] = []
    for item in call.content:
        if isinstance(item, schema.Diff):
            files.append(item.path)
        elif isinstance(item, FileChanges) and isinstance(item.content, schema.TextContent):
            named = patch.named_files(item.content.text)  # its patch may change other files too
            files += (*item.paths, *map(_plain_path, named)) or ("",)
    return files


def texts(call: ToolCall) -> list[str]:
    """Return the call's text blocks. Some agents name a command only there."""
    blocks = (item.content for item in call.content if isinstance(item, schema.Content))
    return [block.text for block in blocks if isinstance(block, schema.TextContent)]


def is_without_content(call: ToolCall) -> bool:
    """Return whether only the title of a call describes it.

    The kind describes it too, unless the call exists only because of the permission request.
    """
    if call.content or call.raw_input or call.own or call.user_tool:
        return False
    if any(location.path for location in call.locations):
        return False
    if not call.was_asked_first and call.kind != "other":
        return False
    return not call.meta or not commands(call)


# -- commands -------------------------------------------------------------------------------------


def _maps(call: ToolCall) -> Iterator[tuple[list[_Item], _Context]]:
    """Yield every map that may have commands in `rawInput` and `_meta`: its entries and context.

    Outer maps come before inner ones, which have the same context unless they change it.
    """
    has_texts = call.kind in _CHANGING
    executes = call.kind == "execute"
    roots = [*_unknown_content(call), (call.meta, "_meta"), (call.raw_input, "rawInput")]
    stack = [_Value(raw, place, _Context(), has_texts) for raw, place in roots]
    while stack:
        value, place, context, has_texts = stack.pop()
        if isinstance(value, str):
            value = _decoded(value)
        if isinstance(value, list):
            inner = [(item, f"{place}[{at}]") for at, item in enumerate(value)]
        elif isinstance(value, dict):
            items = [
                _Item(normalize_key(key), f"{place}.{key}", item) for key, item in value.items()
            ]
            keys = {item.key for item in items}
            if not keys.isdisjoint(_CONTEXT_KEYS) or any(map(_has_variables, keys)):
                context = _Context(
                    _directory(items) or context.cwd,
                    context.env + _variables(items),
                    context.inputs + _inputs(items),
                )
            if not keys.isdisjoint(_COMMAND_KEYS):
                yield items, context
            skipped = _OUTPUT_KEYS
            if not keys.isdisjoint(_LINE_KEYS):
                skipped |= _REPEATING_KEYS
            has_texts = has_texts or (not executes and not keys.isdisjoint(_FILE_KEYS))
            inner = [
                (item.value, item.found)
                for item in items
                if item.key not in skipped and not (has_texts and _is_text(item.key, item.value))
            ]
        else:
            continue
        stack += [
            _Value(value, place, context, has_texts)
            for value, place in reversed(inner)
            if isinstance(value, list | dict) or _may_be_json(value)
        ]


def _is_text(key: str, value: Any) -> bool:
    """Return whether a value has only texts, and a key of texts, with or without a number."""
    if unnumbered(key) not in TEXT_KEYS:
        return False
    lines = value if isinstance(value, list) else [value]
    return all(isinstance(line, str) for line in lines)


def _may_be_json(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[")


def _decoded(text: str) -> Any:
    """Return the list or map in a string of JSON, in which some agents put arguments.

    Return any other string unchanged.
    """
    if not _may_be_json(text):
        return text
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return decoded if isinstance(decoded, list | dict) else text


def _unknown_content(call: ToolCall) -> list[tuple[Any, str]]:
    """Return content of unknown types, with its place."""
    return [
        (item.raw, f"content[{at}]")
        for at, item in enumerate(call.content)
        if isinstance(item, schema.UnknownToolCallContent)
    ]


def normalize_key(key: object) -> str:
    """Return a key without case, `_` and `-`, or an empty string for one that is too long."""
    return _fold_key(key) if isinstance(key, str) and len(key) <= _LONGEST_KEY else ""


@lru_cache(maxsize=1024)
def _fold_key(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _commands_of_map(
    items: Sequence[_Item], context: _Context, *, executes: bool
) -> Iterator[Command]:
    """Yield the commands under the keys of one map. A key may occur in two spellings."""
    given = [item.value for item in items if item.key in _ARGUMENT_KEYS]
    args = next(filter(None, given), given[0] if given else None)
    has_program = any(item.key in _PROGRAM_KEYS for item in items)
    is_shell_text = any(
        item.key in ("language", "lang") and _is_language(item.value) for item in items
    )
    for key, place, value in items:
        if key in _LINE_KEYS or (key in _PROGRAM_KEYS and (args is not None or executes)):
            yield from _commands_of_item(value, args, place, context)
        elif key in _LIST_KEYS:
            yield from _commands_of_value(value, place, context)
        elif (
            key == "argv"
            or (key in _ARGUMENT_KEYS and executes and not has_program)
            or (key in _TEXT_KEYS and is_shell_text)
        ):
            yield from _commands_of_item(value, None, place, context)


def _with_inputs(found: Sequence[Command], inputs: Sequence[str]) -> Iterator[Command]:
    """Yield commands, marked if they get an input that does not only repeat them."""
    for one in found:
        is_repeated = all(text == one.line for text in inputs)
        yield one if is_repeated else msgspec.structs.replace(one, has_input=True)


def _further_commands(items: Sequence[_Item], context: _Context) -> Iterator[Command]:
    """Yield the commands of a map under keys that may contain one beside a known one."""
    for key, place, value in items:
        if key in _COMMAND_KEYS or key in _REPEATING_KEYS:
            continue
        if key in _FURTHER_KEYS or key.endswith(_FURTHER_ENDS):
            yield from _commands_of_value(value, place, context)


def _commands_of_value(value: Any, source: str, context: _Context) -> Iterator[Command]:
    """Yield the commands in a list, in a map from names to commands, or in a script."""
    items = list(value.values()) if isinstance(value, Mapping) else value
    for item in items if isinstance(items, list) else [items]:
        yield from _commands_of_item(item, None, source, context)


def _commands_of_item(value: Any, args: Any, source: str, context: _Context) -> Iterator[Command]:
    """Yield a command given as a line or as words, with its separate arguments.

    A list of lists contains several commands.
    """
    apart = [_word_text(word) for word in args] if isinstance(args, list) else []
    if isinstance(value, list):
        has_several = any(isinstance(word, list) for word in value)
        for words in value if has_several else [value]:
            if words and isinstance(words, list) and not isinstance(words[0], Mapping):
                yield command(
                    [*(_word_text(word) for word in words), *apart],
                    source,
                    context.cwd,
                    context.env,
                )
            elif isinstance(words, str) and words.strip():
                yield Command(words, None, source, context.cwd, context.env)
    elif isinstance(value, str) and value.strip():
        if apart:
            yield command([value, *apart], source, context.cwd, context.env)
        else:
            after = f" {args}" if isinstance(args, str) and args else ""
            yield Command(value + after, None, source, context.cwd, context.env)


def _word_text(word: Any) -> str:
    """Return a word of a command. A value that is not a word makes the command unreadable."""
    return "\0" if isinstance(word, list | Mapping) else str(word)


def _is_language(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in _LANGUAGES


def _directory(items: Sequence[_Item]) -> str | None:
    given = (item.value for item in items if item.key in _DIRECTORY_KEYS)
    return next((value for value in given if isinstance(value, str) and value), None)


def _inputs(items: Sequence[_Item]) -> tuple[str, ...]:
    """Return the inputs of a command, and its shells that are not shells of the system.

    Directories and arguments under a second key are included, since either of both may apply.
    """
    texts: list[str] = []
    for key, _, value in items:
        if key in _SHELL_KEYS:
            texts += [value] if isinstance(value, str) and not is_shell(value) else []
        elif key in _INPUT_KEYS:
            parts = value if isinstance(value, list) else [value]
            texts += [part for part in parts if isinstance(part, str) and not _may_be_json(part)]
    for keys in (_DIRECTORY_KEYS, _ARGUMENT_KEYS):
        first, *more = [item.value for item in items if item.key in keys and item.value] or [None]
        texts += [str(value) for value in more if value != first]
    return tuple(filter(None, texts))


def _has_variables(key: str) -> bool:
    """Return whether a key contains environment variables."""
    return key.endswith(_VARIABLE_ENDS)


def _variables(items: Sequence[_Item]) -> Variables:
    """Return the variables of a command: a map, a list of names and values, or of `NAME=value`."""
    pairs: list[tuple[str, str]] = []
    for given in (item.value for item in items if _has_variables(item.key)):
        if isinstance(given, Mapping):
            pairs += [(str(name), _word_text(value)) for name, value in given.items()]
            continue
        for pair in given if isinstance(given, list) else [given] if given else []:
            if isinstance(pair, Mapping):
                pairs.append((_word_text(pair.get("name", "")), _word_text(pair.get("value", ""))))
            else:
                name, _, value = _word_text(pair).partition("=")
                pairs.append((name, value))
    return tuple(pairs)


def _shell_text(item: Any, source: str) -> Iterator[Command]:
    """Yield the shell text of a content block."""
    block = item.content if isinstance(item, schema.Content) else None
    if not isinstance(block, schema.TextContent):
        return
    for fence in _FENCED.finditer(block.text[:_MAX_SEARCHED]):
        if fence[2].lower() in _LANGUAGES and fence[3].strip():
            yield Command(fence[3].rstrip("\n"), None, source)


def unnumbered(key: str) -> str:
    """Return a key without a number at its end."""
    return key.rstrip("0123456789")


# -- files ----------------------------------------------------------------------------------------


def files_of_input(raw: Any, *, changes_files: bool = False) -> Iterator[str]:
    """Yield the files under known keys, in file URIs, and in patches.

    With `changes_files`, yield other names and values that look like paths too, since the call must
    name its files somewhere.
    """
    waiting: list[tuple[str, Any, bool]] = [("", raw, changes_files)]
    while waiting:
        key, value, has_texts = waiting.pop()
        if isinstance(value, str) and not (has_texts and unnumbered(key) in TEXT_KEYS):
            value = _decoded(value)
        if isinstance(value, str):
            yield from _paths_in(key, value, changes_files=changes_files)
        elif isinstance(value, Mapping):
            if key in _CHANGE_KEYS:
                yield from (_plain_path(str(name)) for name in value)
            elif changes_files:
                yield from (_plain_path(name) for name in value if _is_like_path(name))
            items = [(normalize_key(name), item) for name, item in value.items()]
            has_texts = has_texts or any(name in _FILE_KEYS for name, _ in items)
            waiting += [(name, item, has_texts) for name, item in reversed(items)]
        elif isinstance(value, list):
            waiting += [(key, item, has_texts) for item in reversed(value)]


def _is_like_path(text: Any) -> bool:
    """Return whether a text begins like a path, or has a slash and no blank."""
    if not isinstance(text, str) or "\n" in text:
        return False
    return text[:1] in ("/", "~", ".") or ("/" in text and len(text.split()) == 1)


def _paths_in(key: str, value: str, *, changes_files: bool) -> Iterator[str]:
    if "\n" in value and not (key.endswith("path") and "/" in value.partition("\n")[0]):
        yield from map(_plain_path, patch.named_files(value))
    elif (path := file_path(value)) is not None:
        yield path
    elif (key in PATH_KEYS and not _ADDRESS.match(value)) or (
        changes_files and unnumbered(key) not in TEXT_KEYS and _is_like_path(value)
    ):
        yield value


def _plain_path(name: str) -> str:
    return file_path(name) or name
