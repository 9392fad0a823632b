"""The user's permission rules, applied to requests of an agent.

The rules themselves (`session/questions/rules.py`) know only names. This module looks at the file
system for them: where a path leads, which directory a command runs in, which files always ask.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from acp_nvim.agent.settings import Settings
from acp_nvim.files.bytes import guard
from acp_nvim.files.bytes.paths import Place, below
from acp_nvim.session.questions import rules
from acp_nvim.session.questions.requests import Command
from acp_nvim.session.questions.rules import Action, Case
from acp_nvim.session.session import Session


def judge(case: Case, session: Session, settings: Settings) -> Action | None:
    """Return the action of the first rule that matches, None where none does. A file that always
    asks is asked about even where a rule allows it.
    """
    wanted = settings.permission.rules
    if not wanted:
        return None
    action = rules.decide(wanted, _in_place(case, session, settings))
    guarded = action == "allow" and guard.asks(case.kind, case.paths, session.roots, settings.files)
    return "ask" if guarded else action


def _in_place(case: Case, session: Session, settings: Settings) -> Case:
    """Return the case completed from the file system."""
    written = [
        path
        for command in case.commands
        for path in rules.written_by(command, _directory(command, session))
    ]
    return msgspec.structs.replace(
        case,
        cwd=session.cwd,
        roots=session.roots,
        real={path: _spellings(path, session.roots) for path in [*case.paths, *written]},
        away=any(_is_away(command, session) for command in case.commands),
        guarded=[path for path in written if _is_guarded(path, session, settings)],
    )


def _directory(command: Command, session: Session) -> str:
    return os.path.join(session.cwd, command.cwd or "")  # noqa: PTH118


def _spellings(path: str, roots: Sequence[str]) -> list[str]:
    """Return all spellings of the file that a path leads to: a session's directory and the user's
    home may be links, and rules name them as the user does.
    """
    real = _real(path)
    return [real, *_below_names(real, [*roots, str(Path.home())])]


def _below_names(real: str, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        stem = _real(name).rstrip(os.sep)
        if name != stem and (real == stem or real.startswith(stem + os.sep)):
            yield name.rstrip(os.sep) + real[len(stem) :]


def _real(path: str) -> str:
    """Return the file that a path leads to; a path that no file can have stays as it is."""
    return path if "\0" in path else os.path.realpath(path)


def _is_away(command: Command, session: Session) -> bool:
    """Whether a command leaves the session's directories, by itself or by a `cd` in its line."""
    at = _directory(command, session)
    if command.cwd is not None and not _is_inside(at, session):
        return True
    for entered in rules.entered(command):
        if entered is None:
            return True
        as_linked = os.path.join(at, entered)  # noqa: PTH118
        at = os.path.normpath(as_linked)
        if not (_is_inside(as_linked, session) and _is_inside(at, session)):
            return True
    return False


def _is_inside(path: str, session: Session) -> bool:
    return below(_real(path), session.roots) is not None


def _is_guarded(path: str, session: Session, settings: Settings) -> bool:
    """Whether a file is outside, or one that always asks: no rule for ordinary edits allows it."""
    real = _real(path)
    inside = below(real, session.roots)
    place = Place(path, real)
    return inside is None or guard.by_name(place, inside, "write", settings.files) is not None
