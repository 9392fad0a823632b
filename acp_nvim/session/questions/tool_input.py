"""Parts of a tool call's raw input: commands, patches, questions and others.

The protocol does not define the raw input. This module parses the shapes that known agents send.
All other values become `Data`, so that the user sees the whole input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, TypeGuard

import msgspec
from msgspec import Struct

from acp_nvim.edits import patch
from acp_nvim.edits.patch import FilePatch, PatchHunk
from acp_nvim.edits.text import parse, rows
from acp_nvim.patterns import late
from acp_nvim.session.questions.requests import command

MAX_PARTS: Final = 40
"""Maximum number of parts of one kind. If there are more, the first and last ones are shown."""
MAX_DEPTH: Final = 4
"""Maximum depth of nested tables in which known shapes are searched."""
MAX_WORDS: Final = 10_000
"""Maximum number of words in a command. A longer list is not a command."""

_PATHS: Final = (
    *("file_path", "path", "filePath", "abs_path", "absolute_path", "filename", "target_file"),
    *("notebook_path", "fileName"),
)
COMMANDS: Final = ("command", "cmd", "script", "argv", "shell_command", "command_line")
_FOLDERS: Final = ("cwd", "workdir", "working_directory", "workingDirectory", "working_dir")
_ENVIRONMENTS: Final = ("env", "environment")
_ADDRESSES: Final = ("url", "uri")
_OLD: Final = ("old_string", "oldString", "old_str", "old_text", "oldText", "search")
_NEW: Final = ("new_string", "newString", "new_str", "new_text", "newText", "replace")
_CONTENTS: Final = ("content", "contents", "file_text", "fileText", "new_content")
_EVERY: Final = ("replace_all", "replaceAll", "allow_multiple")
_PROSE: Final = ("description", "reason", "justification", "explanation", "plan")
WRAPPERS: Final = ("input", "arguments", "args", "params", "parameters", "tool_input", "toolInput")
_COMMAND_KEYS: Final = frozenset((*COMMANDS, "commands", *WRAPPERS))
"""Keys that may contain commands."""
_TASKS: Final = ("todos", "plan", "entries")
_WORDS: Final = frozenset(("content", "title", "step", "text", "task"))
_OF_TASKS: Final = _WORDS | {"status", "priority", "id", "activeForm", "active_form"}
_BOOKKEEPING: Final = (
    *("call_id", "turn_id", "process_id", "started_at_ms", "auto_approved", "source"),
    *("parsed_cmd", "available_decisions", "proposed_execpolicy_amendment"),
)
"""Keys of Codex's bookkeeping in each question, next to the command."""
_UPDATES: Final = ("update", "change", "modify", "edit")
"""Types of a change that keeps the file, in Codex and its forks."""
_VERBS: Final = ("view", "create", "str_replace", "insert", "undo_edit")
"""Values of `command` that are actions of an editing tool, not shell commands."""
PATCH: Final = late(r"\s{0,99}(\*\*\* Begin Patch|diff --git |Index: |--- .*\n\+\+\+ |@@ )")


class Command(Struct, frozen=True):
    """Line to run."""

    line: str


class Place(Struct, frozen=True):
    """Named file or folder."""

    path: str


class Folder(Struct, frozen=True):
    """Working directory of a command."""

    path: str


class Note(Struct, frozen=True):
    """Line with a label for its kind: an address, a variable."""

    word: str
    text: str


class Prose(Struct, frozen=True):
    """Text that the agent wrote."""

    text: str


class Patch(Struct, frozen=True):
    """Patch in any format with lines that begin with + and -. `title` is the row above it."""

    text: str
    title: str = ""
    path: str | None = None
    """File of a patch that names no file, or names it without the leading slash."""
    moved: str | None = None
    """New path of the patched file, if the patch moves it."""

    @property
    def files(self) -> tuple[FilePatch, ...] | None:
        """Return the changes in the patch by file, or None if a part of the patch would be lost."""
        if self.path is None:
            return patch.parse_complete(self.text)
        if self.moved is None:
            files = patch.parse_complete(self.text, self.path)
            return files and tuple(self._with_root(file) for file in files)
        moved = FilePatch("moved", self.moved, self.path)
        if not self.text.strip():
            return (moved,)
        files = patch.parse_complete(self.text, self.path)
        if files is None or len(files) != 1:
            return None
        return (msgspec.structs.replace(moved, hunks=files[0].hunks),)

    def _with_root(self, file: FilePatch) -> FilePatch:
        """Return the patch with the slash that Git's prefix removed: `a/tmp/x` for `/tmp/x`."""
        return (
            msgspec.structs.replace(file, path=self.path) if self.path == f"/{file.path}" else file
        )


class Edit(Struct, frozen=True):
    """Replaced piece of a file, or without `old` the whole file."""

    path: str
    old: str | None
    new: str
    file: FilePatch | None = None
    """The same as a patch, if a whole file is created or deleted."""


class Choice(Struct, frozen=True):
    """Question to the user with its answers."""

    text: str
    answers: tuple[tuple[str, str], ...]


class Task(Struct, frozen=True):
    """Entry of a to-do list."""

    text: str
    status: str


class Gap(Struct, frozen=True):
    """Number of parts of the same kind that are left out here."""

    count: int


class Data(Struct, frozen=True):
    """Any other value, unchanged."""

    value: Any


Part = Command | Place | Folder | Note | Prose | Patch | Edit | Choice | Task | Gap | Data

_Table = dict[str, Any]


def parts(raw_input: Any, call_id: str = "") -> list[Part]:
    """Return the parts of a raw input. `call_id` is the id of its tool call."""
    return list(_parts(raw_input, call_id, MAX_DEPTH))


def commands_of(raw_input: Any) -> list[str]:
    """Return the commands in a raw input, in order.

    Running calls are drawn often, so it examines nothing else.
    """
    if not isinstance(raw_input, dict) or _COMMAND_KEYS.isdisjoint(raw_input):
        return []
    command = raw_input.get("command")
    if (
        isinstance(command, str)
        and command
        and _COMMAND_KEYS.isdisjoint(raw_input.keys() - {"command"})
    ):
        return [] if command in _VERBS and _names_file(raw_input) else [command]
    return [part.line for part in parts(raw_input) if isinstance(part, Command)]


def _parts(raw: Any, call_id: str, depth: int) -> Iterator[Part]:
    if isinstance(raw, str):
        yield from _text(raw)
    elif isinstance(raw, dict) and depth > 0:
        yield from _table(dict(raw), call_id, depth)
    elif raw is not None and raw != {} and raw != []:
        yield Data(raw)


def _text(text: str) -> Iterator[Part]:
    if PATCH.match(text):
        yield Patch(text)
    elif text.strip():
        yield Prose(text)


def _table(rest: _Table, call_id: str, depth: int) -> Iterator[Part]:
    """Yield the parts of a table. Each reader removes the keys it knows. The rest is data."""
    if call_id and rest.get("call_id") == call_id:
        for key in _BOOKKEEPING:
            rest.pop(key, None)
    for reader in _READERS:
        yield from reader(rest)
    for key in WRAPPERS:
        if isinstance(rest.get(key), dict):
            yield from _parts(rest.pop(key), call_id, depth - 1)
    others = {key: value for key, value in rest.items() if value not in (None, "", [], {})}
    if others:
        yield Data(others)


def _parts_of_ends(
    items: Iterable[Any], count: int, read: Callable[[Any], Iterable[Part]]
) -> Iterator[Part]:
    """Yield the parts of the first and the last items. `items` can be iterated from both ends."""
    first = count if count <= MAX_PARTS else MAX_PARTS // 2
    for item in islice(items, first):
        yield from read(item)
    if count > MAX_PARTS:
        last = MAX_PARTS - first
        yield Gap(count - MAX_PARTS)
        for item in reversed(list(islice(reversed(items), last))):  # type: ignore[call-overload]
            yield from read(item)


def _are_all(items: Any, test: Callable[[Any], Any]) -> bool:
    """Return whether there are items, and the first and last `MAX_PARTS` of them pass a test."""
    ends = (*islice(items, MAX_PARTS), *islice(reversed(items), MAX_PARTS)) if items else ()
    return bool(ends) and all(test(item) for item in ends)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _names_file(rest: _Table) -> bool:
    return any(_is_text(rest.get(key)) for key in _PATHS)


def _take_path(rest: _Table) -> str | None:
    """Remove and return the first path in a table."""
    return next((rest.pop(key) for key in _PATHS if _is_text(rest.get(key))), None)


# -- commands -------------------------------------------------------------------------------------


def _read_commands(rest: _Table) -> Iterator[Part]:
    for key in COMMANDS:
        if _is_command(rest, key):
            yield from _command(_words(rest, key))
    several = rest.get("commands")
    if isinstance(several, list) and _are_all(
        several, lambda member: isinstance(member, (str, list, dict))
    ):
        yield from _parts_of_ends(rest.pop("commands"), len(several), _parts_of_item)
    for key in _FOLDERS:
        if _is_text(rest.get(key)):
            yield Folder(rest.pop(key))
    for key in _ENVIRONMENTS:
        yield from _variables(rest, key)


def _is_command(rest: _Table, key: str) -> bool:
    value = rest.get(key)
    verb = isinstance(value, str) and value in _VERBS and _names_file(rest)
    return not verb and _is_words(value)


def _is_words(value: Any) -> bool:
    if not isinstance(value, list):
        return _is_text(value)
    return 0 < len(value) <= MAX_WORDS and all(isinstance(word, str) for word in value)


def _words(rest: _Table, key: str) -> str | list[str]:
    """Return a command with its arguments, if the same table has them."""
    words: str | list[str] = rest.pop(key)
    if isinstance(words, str) and isinstance(rest.get("args"), list) and _is_words(rest["args"]):
        return [words, *rest.pop("args")]
    return words


def _command(words: str | list[str]) -> Iterator[Part]:
    if isinstance(words, str):
        yield Command(words)
    elif len(words) == 2 and words[0].endswith("patch") and PATCH.match(words[1]):
        yield Patch(words[1])
    else:
        yield Command(command(words).line)


def _parts_of_item(item: Any) -> Iterator[Part]:
    if _is_words(item):
        yield from _command(item)
    elif item:
        yield from _parts(item, "", 1)


def _variables(rest: _Table, key: str) -> Iterator[Part]:
    value = rest.get(key)
    if isinstance(value, dict) and _are_all(value.items(), lambda member: _is_plain(member[1])):
        del rest[key]
        yield from _parts_of_ends(
            value.items(), len(value), lambda member: [Note("with", f"{member[0]}={member[1]}")]
        )
    elif isinstance(value, list) and _are_all(value, _is_variable):
        del rest[key]
        yield from _parts_of_ends(
            value, len(value), lambda member: [Note("with", f"{member['name']}={member['value']}")]
        )


def _is_variable(item: Any) -> bool:
    return isinstance(item, dict) and item.keys() == {"name", "value"} and _is_plain(item["value"])


def _take_file(text: str, rest: _Table) -> str | None:
    """Remove and return the file of a patch, unless the patch names that file or others."""
    if not patch.has_file_header(text):
        return _take_path(rest)
    path = next((rest[key] for key in _PATHS if _is_text(rest.get(key))), "")
    cut = path.startswith("/") and any(f" {side}{path}\n" in text for side in "ab")
    return _take_path(rest) if cut else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


# -- changes --------------------------------------------------------------------------------------


def _read_changes(rest: _Table) -> Iterator[Part]:
    if is_changes(changes := rest.get("changes")):
        yield from _parts_of_ends(rest.pop("changes").items(), len(changes), change_parts)
    yield from _edits(rest)
    for key in [key for key in islice(rest, MAX_PARTS) if isinstance(rest[key], str)]:
        if PATCH.match(rest[key]):
            text = rest.pop(key)
            yield Patch(text, path=_take_file(text, rest))


def is_changes(value: Any) -> TypeGuard[_Table]:
    """Return whether a value maps paths to changes, as in Codex."""
    return isinstance(value, dict) and _are_all(
        value.values(), lambda member: isinstance(member, dict)
    )


def change_parts(item: tuple[str, _Table]) -> Iterator[Part]:
    """Yield the parts of one of Codex's `{path: {type, unified_diff | content, move_path}}`."""
    path, change = item[0], dict(item[1])
    verb, moved = change.pop("type", "change"), change.pop("move_path", None)
    title = f"{verb} {path}" + (f", moved to {moved}" if moved else "")
    if isinstance(change.get("unified_diff"), str):
        is_plain = verb in _UPDATES and isinstance(moved, str | None)
        yield Patch(change.pop("unified_diff"), title, path if is_plain else None, moved or None)
    elif isinstance(change.get("content"), str):
        yield _whole_file(verb, path, change.pop("content"))
    else:
        yield Note("", title)
    if change:
        yield Data(change)


def _whole_file(verb: str, path: str, content: str) -> Edit:
    text, is_deleted = parse(content), verb == "delete"
    lines = tuple(f"{'-' if is_deleted else '+'}{line}" for line in rows(text))
    hunk = PatchHunk(lines, 0, old_eol=text.eol or not is_deleted, new_eol=text.eol or is_deleted)
    kind: patch.Kind = "deleted" if is_deleted else "created"
    file = FilePatch(kind, path, hunks=(hunk,) if lines else (), may_replace=True)
    return Edit(path, content, "", file) if is_deleted else Edit(path, None, content, file)


def _edits(rest: _Table) -> Iterator[Part]:
    several = rest.get("edits")
    listed = isinstance(several, list) and _are_all(several, _is_edit)
    content = next((key for key in _CONTENTS if isinstance(rest.get(key), str)), None)
    if _is_edit(rest):
        path = _take_path(rest)
        yield from _read_edit(rest, path)
    elif _names_file(rest) and (listed or content):
        path = _take_path(rest)
        if content:
            yield Edit(path or "", None, rest.pop(content))
    else:
        path = None
    if listed:
        yield from _parts_of_ends(
            rest.pop("edits"), len(several or ()), lambda edit: _parts_of_edit_item(edit, path)
        )


def _is_edit(value: Any) -> bool:
    return isinstance(value, dict) and all(
        any(isinstance(value.get(key), str) for key in keys) for keys in (_OLD, _NEW)
    )


def _read_edit(rest: _Table, path: str | None) -> Iterator[Part]:
    old, new = (next(k for k in keys if isinstance(rest.get(k), str)) for keys in (_OLD, _NEW))
    yield Edit(path or "", rest.pop(old), rest.pop(new))
    for key in _EVERY:
        if isinstance(rest.get(key), bool) and rest.pop(key):
            yield Note("", "every occurrence")


def _parts_of_edit_item(item: _Table, path: str | None) -> Iterator[Part]:
    rest = dict(item)
    yield from _read_edit(rest, _take_path(rest) or path)
    if rest:
        yield Data(rest)


# -- files, questions, text -----------------------------------------------------------------------


def _read_paths(rest: _Table) -> Iterator[Part]:
    while (path := _take_path(rest)) is not None:
        yield Place(path)
    for key in ("paths", "files"):
        value = rest.get(key)
        if isinstance(value, list) and _are_all(value, _is_text):
            yield from _parts_of_ends(rest.pop(key), len(value), lambda path: [Place(path)])
        elif isinstance(value, list) and _are_all(value, _is_file):
            yield from _parts_of_ends(rest.pop(key), len(value), lambda file: _parts(file, "", 1))
    for key in _ADDRESSES:
        if _is_text(rest.get(key)):
            yield Note("", rest.pop(key))


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and _names_file(value)


def _read_questions(rest: _Table) -> Iterator[Part]:
    several = rest.get("questions")
    if isinstance(several, list) and _are_all(several, _is_question):
        yield from _parts_of_ends(rest.pop("questions"), len(several), _one_question)
    elif _is_question(rest) and isinstance(rest.get("options"), list):
        yield _question(rest)


def _is_question(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("question"))


def _one_question(item: _Table) -> Iterator[Part]:
    rest = dict(item)
    header = rest.pop("header", None) if _is_text(rest.get("header")) else ""
    question = _question(rest)
    yield Choice(f"{header}: {question.text}", question.answers) if header else question
    others = {key: value for key, value in rest.items() if value not in (None, "", False)}
    if others:
        yield Data(others)


def _question(rest: _Table) -> Choice:
    """Return a question. Answers with more than a label and a description stay in the table."""
    options = rest.get("options")
    if (
        not isinstance(options, list)
        or len(options) > MAX_PARTS
        or not _are_all(options, _is_answer)
    ):
        return Choice(rest.pop("question"), ())
    answers = (
        (option, "") if isinstance(option, str) else _answer(option)
        for option in rest.pop("options")
    )
    return Choice(rest.pop("question"), tuple(answers))


def _is_answer(option: Any) -> bool:
    if isinstance(option, dict):
        return {"label"} <= option.keys() <= {"label", "description"}
    return isinstance(option, str)


def _answer(option: _Table) -> tuple[str, str]:
    return str(option["label"]), str(option.get("description") or "")


def _read_tasks(rest: _Table) -> Iterator[Part]:
    for key in _TASKS:
        value = rest.get(key)
        if isinstance(value, list) and _are_all(value, lambda task: _task(task) is not None):
            yield from _parts_of_ends(
                rest.pop(key), len(value), lambda task: [_task(task) or Data(task)]
            )


def _task(item: Any) -> Task | None:
    if not isinstance(item, dict) or not item.keys() <= _OF_TASKS:
        return None
    words = [item[key] for key in item.keys() & _WORDS]
    if len(words) != 1 or not isinstance(words[0], str):
        return None
    return Task(words[0], str(item.get("status") or ""))


def _read_prose(rest: _Table) -> Iterator[Part]:
    for key in _PROSE:
        if _is_text(rest.get(key)):
            yield Prose(rest.pop(key))


_READERS: Final = (
    _read_commands,
    _read_changes,
    _read_paths,
    _read_questions,
    _read_tasks,
    _read_prose,
)
