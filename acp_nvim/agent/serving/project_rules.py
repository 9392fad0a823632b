"""Rules of a project, each for exactly one action, which the user stores with the answer `Y`.

A rule has no patterns. It allows a later permission only if the kind, the paths, their targets and
the command line are the same, and only for calls that are safe to allow without asking
(`trusting.is_safe`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from acp_nvim.agent.serving.trusting import is_safe
from acp_nvim.agent.settings import Settings
from acp_nvim.files.bytes import private_files
from acp_nvim.protocol.text import decode_exactly, encode_exactly
from acp_nvim.render.text import display_path, visible
from acp_nvim.session.calls.named_files import resolve
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.questions.questions import dotted_paths, is_hidden_edit, named_paths
from acp_nvim.session.session import Session

KINDS: Final = frozenset({"read", "edit", "delete", "move", "search", "execute"})
"""Kinds of calls that a path or a command line describes."""
MAX_LENGTH: Final = 300
"""Maximum number of characters in a rule, since the user must see all of it."""


class ProjectRule(msgspec.Struct, frozen=True):
    """One allowed action. `paths` are absolute and sorted; `targets` are their real paths."""

    kind: str
    paths: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    command: str = ""
    argv: tuple[str, ...] | None = None

    def text(self, cwd: str) -> str:
        """Return the action for the user, with paths relative to `cwd`."""
        named = ", ".join(display_path(path, cwd) for path in self.paths)
        if not self.command:
            return f"{self.kind} {named}"
        return f"run {self.command}" + (f" ({named})" if named else "")


_Rules: TypeAlias = Mapping[str, Sequence[ProjectRule]]
"""Rules by directory of their project."""


class ProjectRules:
    """File with the rules of all projects, by directory."""

    def __init__(self, path: Callable[[], Path | None], failed: Callable[[str], None]) -> None:
        """`failed` is called with the reason if a rule cannot be stored."""
        self._path = path
        self._failed = failed
        self._read: tuple[tuple[int, int, int] | None, _Rules] = None, {}

    def of(self, cwd: str) -> Sequence[ProjectRule]:
        """Return the rules of a project, in the order in which they were added."""
        return self._all().get(os.path.realpath(cwd), ())

    def add(self, cwd: str, rule: ProjectRule) -> None:
        self._change(cwd, lambda rules: rules if rule in rules else [*rules, rule])

    def remove(self, cwd: str, rule: ProjectRule) -> None:
        self._change(cwd, lambda rules: [other for other in rules if other != rule])

    def _all(self) -> _Rules:
        """Return all rules, from a cache if the file is unchanged.

        An unreadable file has no rules.
        """
        path = self._path()
        if path is None:
            return {}
        try:
            info = path.stat()
            state = info.st_ino, info.st_mtime_ns, info.st_size
            if state != self._read[0]:
                self._read = state, _decode(path.read_bytes())
        except (OSError, ValueError):
            self._read = None, {}
        return self._read[1]

    def _change(
        self, cwd: str, change: Callable[[Sequence[ProjectRule]], Sequence[ProjectRule]]
    ) -> None:
        """Change the rules of a project. Do not change a file that cannot be read."""
        path = self._path()
        if path is None:
            return

        def changed(data: bytes | None) -> bytes:
            rules = dict(_decode(data or b"{}"))
            remaining = change(rules.pop(os.path.realpath(cwd), ()))
            if remaining:
                rules[os.path.realpath(cwd)] = remaining
            return encode_exactly(rules)

        try:
            private_files.change(path, changed)
        except (OSError, ValueError) as error:
            self._failed(f"{path}: {error}")


def _decode(data: bytes) -> _Rules:
    return decode_exactly(data, dict[str, list[ProjectRule]])


def rule_of(
    session: Session, decision: Decision, calls: Sequence[ToolCall], settings: Settings
) -> ProjectRule | None:
    """Return a rule that matches only the action of a permission, or None if there is none.

    `calls` are the call of the permission and the open calls that it may also allow.
    """
    call = calls[0]
    is_permission = decision.subject == "permission" and not decision.has_choices
    if len(calls) > 1 or not is_permission or decision.guarded or call.kind not in KINDS:
        return None
    commands = requests.commands(call)
    is_run = call.kind == "execute"
    if len(commands) != is_run or any(
        command.env or command.has_input or command.cwd not in (None, session.cwd)
        for command in commands
    ):
        return None
    if dotted_paths(call, session.cwd) or is_hidden_edit(call):
        return None  # `..` may follow a link, or the kind hides an edit
    paths = tuple(sorted(named_paths(call, session.cwd)))
    if not (paths or is_run) or not is_safe(call, session, settings):
        return None
    targets = tuple(map(resolve, paths))
    line, argv = (commands[0].line, commands[0].argv) if is_run else ("", None)
    rule = ProjectRule(call.kind, paths, targets, line, argv)
    text = rule.text(session.cwd)
    shown = " ".join(visible(text).split())
    return rule if shown == text and len(text) <= MAX_LENGTH else None


def allowed_option(
    session: Session, decision: Decision, calls: Sequence[ToolCall], settings: Settings
) -> Option | None:
    """Return the option that a stored rule selects for a permission, or None to ask the user."""
    rules = session.root.project_rules()
    if not rules:
        return None
    rule = rule_of(session, decision, calls, settings)
    return decision.first("allow_once") if rule in rules else None
