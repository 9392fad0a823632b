"""The user's trust in a session (`:Acp trust`): permissions that are allowed without asking.

Trust never covers secrets, files that programs run automatically, paths outside of the
session, or calls whose paths or commands cannot be read. Trust does not override rules.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from acp_nvim.agent.serving.judging import MAX_PATHS, guard_kind, is_too_large, leaves_session
from acp_nvim.agent.settings import Settings
from acp_nvim.files.bytes import guard
from acp_nvim.session.calls.named_files import expand_home
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import hidden_actions, requests, rules
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.questions.questions import dotted_paths, is_hidden_edit, named_paths
from acp_nvim.session.questions.requests import Command
from acp_nvim.session.session import Session

_NEVER_TRUSTED: Final = frozenset({"switch_mode"})
"""Kinds that trust never covers, since they change which questions follow."""
_AROUND: Final = "\"'`()[]<>,;:"
"""Characters around a path in a title."""


def trusted_option(
    session: Session, decision: Decision, calls: Sequence[ToolCall], settings: Settings
) -> Option | None:
    """Return the option that trust selects for a permission, or None to ask the user.

    `calls` are the call of the permission and the open calls that it may also allow.
    """
    trust, allow = session.root.trust, decision.first("allow_once")
    if trust is None or allow is None or decision.guarded:
        return None
    if sum(option.kind == "allow_once" for option in decision.options) > 1:
        return None  # only the user can choose between such options
    judged = calls
    if calls[0].kind == "other" and requests.is_without_content(calls[0]):
        judged = calls[1:]  # the permission itself names no action
    if not judged:
        return None
    return allow if all(_covers(trust, call, session, settings) for call in judged) else None


def _covers(trust: str, call: ToolCall, session: Session, settings: Settings) -> bool:
    commands = requests.commands(call)
    if call.kind in _NEVER_TRUSTED or (trust == "edits" and (call.kind != "edit" or commands)):
        return False
    return is_safe(call, session, settings)


def is_safe(call: ToolCall, session: Session, settings: Settings) -> bool:
    """Return whether a call names no guarded file and only plain commands.

    Guarded files are secrets, files that other programs run, and files outside of the session.
    """
    commands = requests.commands(call) or tuple(_lines_to_run(call))
    if call.kind == "execute" and not commands:
        return False
    if is_too_large(named_paths(call, session.cwd), commands):
        return False
    if "" in requests.files_of_diffs(call):
        return False
    if not all(_is_plain(command, session) for command in commands):
        return False
    kind = guard_kind(call.kind, commands, is_hidden_edit(call))
    paths = list(islice(_all_paths(call, commands, session), MAX_PATHS + 1))
    if len(paths) > MAX_PATHS or any("\0" in path for path in paths):
        return False
    paths = list(dict.fromkeys(paths))
    return not any(
        guard.reasons(kind, paths[at : at + guard.MAX_NAMED], session.roots, settings.files)
        for at in range(0, len(paths), guard.MAX_NAMED)
    )


def _all_paths(call: ToolCall, commands: Sequence[Command], session: Session) -> Iterator[str]:
    """Yield the absolute paths that a call names, or that words in it could refer to."""
    named = named_paths(call, session.cwd)
    yield from named
    yield from dotted_paths(call, session.cwd)
    if not named and not commands:
        yield from _possible_paths(_words(call.title), session.cwd)
    if call.kind == "execute" and not requests.commands(call):
        words = (word for text in requests.texts(call) for word in _words(text))
        yield from _possible_paths(words, session.cwd)
    lines = {command.line for command in commands}  # their words follow below
    without = requests.TEXT_KEYS if call.kind == "edit" else frozenset[str]()
    texts = (*_texts(call.raw_input, without), *_keys(call.raw_input))
    in_one_line = (text for text in texts if text not in lines and "\n" not in text)
    yield from _possible_paths(in_one_line, session.cwd)
    for command in commands:
        at = os.path.join(session.cwd, command.cwd or "")  # noqa: PTH118
        for path in rules.possible_paths(command, at):
            yield from _readings(path)


def _is_plain(command: Command, session: Session) -> bool:
    """Return whether a command hides no action and stays in the session's directories.

    All shells must interpret it in the same way.
    """
    line = rules.plain_line(command)
    if line is None or not command.has_harmless_context:
        return False
    if any(hidden_actions.hides_action(one.words) for one in line.commands):
        return False
    return not leaves_session(command, session)


def _lines_to_run(call: ToolCall) -> Iterator[Command]:
    """Yield the texts that may be the command of a call that names none.

    Some agents put the command only in the title, others under keys of their own.
    """
    if call.kind == "execute":
        texts = (call.title.strip("`"), *_texts(call.raw_input, requests.PROSE_KEYS))
        yield from (Command(text) for text in texts if text.strip())


def _words(text: str) -> list[str]:
    """Return the words of a string without the characters around them."""
    return [word.strip(_AROUND) for word in text.split()]


def _texts(raw: Any, without: Container[str]) -> Iterator[str]:
    """Yield the texts of a raw input, except those under the keys in `without`."""
    waiting = [("", raw)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(requests.normalize_key(name), item) for name, item in value.items()]
        elif isinstance(value, list):
            waiting += [(key, item) for item in value]
        elif isinstance(value, str) and requests.unnumbered(key) not in without:
            yield value


def _keys(raw: Any) -> Iterator[str]:
    """Yield the keys of a raw input. Some agents map paths to texts."""
    waiting = [raw]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _possible_paths(words: Iterable[str], cwd: str) -> Iterator[str]:
    """Yield the absolute paths that words, or parts of them, could refer to.

    A path with a `..`, which may follow a link, is yielded in its normal form and as spelled.
    """
    for word in words:
        for part in rules.parts_of_word(word):
            yield from _readings(os.path.join(cwd, expand_home(part)))  # noqa: PTH118


def _readings(path: str) -> Iterator[str]:
    yield os.path.normpath(path)
    if ".." in path:
        yield path
