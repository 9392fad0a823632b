"""Application of the user's permission rules to requests from an agent.

The rules (`session/questions/rules.py`) only use names. This module adds facts from the file
system: the targets of links, the directory of a command, and the files that always require a
question.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from os.path import normpath
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.agent.settings import Settings
from acp_nvim.files.bytes import guard
from acp_nvim.files.bytes.paths import Place, below, targets_past_links
from acp_nvim.session.calls.named_files import resolve
from acp_nvim.session.questions import command_line, rules
from acp_nvim.session.questions.requests import Command
from acp_nvim.session.questions.rules import Action, Case, Rule
from acp_nvim.session.session import Session

MAX_PATHS: Final = 1000
MAX_COMMANDS: Final = 200
MAX_LENGTH: Final = 4 * command_line.MAX_LENGTH
"""Maximum number of paths and commands in a request, and of characters in its commands.

`MAX_PATHS` is also the maximum number of variables of a command. The user is asked about a larger
request, since its check would take long.
"""
MAX_WORDS: Final = 4000
"""Maximum number of possible paths in the words of commands. With more, the user is asked."""


def has_rules(session: Session, settings: Settings) -> bool:
    """Return whether any of the user's rules apply to a session."""
    return bool(settings.permission.rules or settings.preset(session.root.preset).rules)


def judge(case: Case, session: Session, settings: Settings) -> Action | None:
    """Return the action of the first rule that matches, or None.

    The rules of the session's preset come before the others, but either list can deny. "allow"
    becomes "ask" for a file that always requires a question, and for a case that may hide a denied
    program or path.
    """
    if not has_rules(session, settings):
        return None
    if is_too_large(case.paths, case.commands):
        return "ask"
    lists = settings.preset(session.root.preset).rules, settings.permission.rules
    words = _words_like_paths(case, session) if _can_refuse_paths(session, settings) else []
    if len(words) > MAX_WORDS:
        return "ask"
    placed = _complete_case(case, words, session, settings)
    if all(lists) and any(rules.decide(wanted, placed) == "deny" for wanted in lists):
        return "deny"
    action = rules.decide([*lists[0], *lists[1]], placed)
    if action != "allow":
        return action
    if all(lists) and _may_be_denied(lists[1], placed):
        return "ask"
    is_guarded = guard.is_guarded(
        guard_kind(case.kind, case.commands, case.shows_edit),
        placed.paths,
        session.roots,
        settings.files,
    )
    return "ask" if is_guarded or any("\0" in path for path in placed.paths) else action


def _may_be_denied(wanted: Sequence[Rule], case: Case) -> bool:
    """Return whether one of the rules denies a program or path that the request may hide."""
    if not any(rule.action == "deny" for rule in wanted):
        return False
    others = [rule for rule in wanted if rule.action != "ask"]
    inside = msgspec.structs.replace(case, outside=())
    return rules.decide([*others, Rule("allow")], inside) == "ask"


def is_too_large(paths: Sequence[str], commands: Sequence[Command]) -> bool:
    """Return whether the check of a request with these paths and commands would take long."""
    return (
        len(paths) > MAX_PATHS
        or len(commands) > MAX_COMMANDS
        or any(len(command.env) > MAX_PATHS for command in commands)
        or sum(len(command.line) for command in commands) > MAX_LENGTH
    )


def guard_kind(kind: str, commands: Sequence[Command], shows_edit: bool) -> str:
    """Return the kind of a call for the guard.

    The call's own kind counts only if the call has no command and shows no edit.
    """
    return "execute" if commands else "edit" if shows_edit else kind


def _complete_case(case: Case, words: Sequence[str], session: Session, settings: Settings) -> Case:
    """Return the case with facts from the file system.

    The facts are targets of links, commands that leave the session's directories, and files that no
    rule for ordinary edits allows.
    """
    paths = [*case.paths, *targets_past_links(case.dotted)]
    at = [(command, _directory(command, session)) for command in case.commands]
    written = [path for command in at for path in rules.redirect_targets(*command)]
    return msgspec.structs.replace(
        case,
        paths=paths,
        cwd=session.cwd,
        roots=session.roots,
        real={path: _spellings(path, session.roots) for path in [*paths, *map(normpath, written)]},
        linked=list(_targets_of_words(words, session)),
        is_outside=any(leaves_session(command, session) for command in case.commands),
        guarded=[path for path in written if _is_outside_or_guarded(path, session, settings)],
        outside=_outside(paths, session, settings),
    )


def _can_refuse_paths(session: Session, settings: Settings) -> bool:
    """Return whether a rule denies or asks about paths."""
    wanted = [*settings.preset(session.root.preset).rules, *settings.permission.rules]
    return any(rule.path is not None and rule.action != "allow" for rule in wanted)


def _words_like_paths(case: Case, session: Session) -> list[str]:
    """Return the absolute paths that words of commands could refer to.

    At most `MAX_WORDS` + 1 paths are returned.
    """
    at = ((command, _directory(command, session)) for command in case.commands)
    paths = (path for command in at for path in rules.possible_paths(*command))
    return list(islice(paths, MAX_WORDS + 1))


def _targets_of_words(words: Sequence[str], session: Session) -> Iterator[str]:
    """Yield all spellings of the targets of those paths in `words` that lead through links."""
    for path in dict.fromkeys(words):
        if _real(path) != normpath(path):
            yield from _spellings(path, session.roots)


def _outside(paths: Sequence[str], session: Session, settings: Settings) -> list[str]:
    if settings.files.outside == "allow":
        return []
    return [path for path in paths if not _is_inside(path, session)]


def _directory(command: Command, session: Session) -> str:
    return os.path.join(session.cwd, command.cwd or "")  # noqa: PTH118


def _spellings(path: str, roots: Sequence[str]) -> list[str]:
    """Return all spellings of a path's target.

    The session's directory and the user's home may be links that occur in rules.
    """
    real = _real(path)
    return [real, *_paths_below_names(real, [*roots, str(Path.home())])]


def _paths_below_names(real: str, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        stem = _real(name).rstrip(os.sep)
        if name != stem and (real == stem or real.startswith(stem + os.sep)):
            yield name.rstrip(os.sep) + real[len(stem) :]


def _real(path: str) -> str:
    """Return the target of a path. A path that no file can have is returned unchanged."""
    return path if "\0" in path else resolve(path)


def leaves_session(command: Command, session: Session) -> bool:
    """Return whether a command leaves the session's directories, through its `cwd` or a `cd`."""
    at = _directory(command, session)
    if command.cwd is not None and not _is_inside(at, session):
        return True
    directories = rules.entered_directories(command)
    if len(directories) > rules.MAX_CHANGES:
        return True
    for entered in directories:
        if entered is None:
            return True
        as_linked = os.path.join(at, entered)  # noqa: PTH118
        at = normpath(as_linked)
        if not (_is_inside(as_linked, session) and _is_inside(at, session)):
            return True
    return False


def _is_inside(path: str, session: Session) -> bool:
    return below(_real(path), session.roots) is not None


def _is_outside_or_guarded(path: str, session: Session, settings: Settings) -> bool:
    """Return whether a file is outside the session or always requires a question.

    No rule for ordinary edits allows such a file, or one whose `..` follows a link.
    """
    if targets_past_links([path]):
        return True
    real = _real(path)
    inside = below(real, session.roots)
    place = Place(normpath(path), real)
    return inside is None or guard.by_name(place, inside, "write", settings.files) is not None
