"""Permission rules of the user: which requests are answered without a question.

A rule is `{action, kind, path, command, agent}`; the first that matches wins. Every condition that
a rule states must
hold; `path` and `command` are globs (`*` any text, `**` also across `/`), `path` must match every
path concerned.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

Action = Literal["allow", "deny", "ask"]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the option `permission.rules`."""

    action: Action
    kind: str | list[str] | None = None
    path: str | list[str] | None = None
    command: str | list[str] | None = None
    agent: str | list[str] | None = None


class Case(msgspec.Struct, frozen=True):
    """What a rule is held against; paths are absolute."""

    kind: str = "other"
    paths: Sequence[str] = ()
    command: str | None = None
    agent: str = ""


def decide(rules: Sequence[Rule], case: Case) -> Action | None:
    """Return the action of the first rule that matches, None when none does."""
    return next((rule.action for rule in rules if _matches(rule, case)), None)


def _matches(rule: Rule, case: Case) -> bool:
    return (
        _any(rule.kind, [case.kind])
        and _any(rule.agent, [case.agent])
        and _any(rule.command, [] if case.command is None else [case.command])
        and (
            rule.path is None
            or (bool(case.paths) and all(_path(rule.path, path) for path in case.paths))
        )
    )


def _any(patterns: str | list[str] | None, values: list[str]) -> bool:
    return patterns is None or any(
        fnmatch.fnmatchcase(value, p) for p in _list(patterns) for value in values
    )


def _path(patterns: str | list[str], path: str) -> bool:
    expanded = [str(Path(pattern).expanduser()) for pattern in _list(patterns)]
    return any(
        fnmatch.fnmatchcase(path, p) or fnmatch.fnmatchcase(path, "*/" + p) for p in expanded
    )


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
