"""Permission rules of the user: which requests are answered without a question.

A rule is `{action, kind, path, command, agent}`; the first that matches wins. Every condition that
a rule states must hold; `path` and `command` are globs (`*` any text, `?`, `[ab]`; `{a,b}` in paths
only).

Where a request concerns more than one thing the rules never say yes to more than was asked about:
`allow` has to match every path, `deny` and `ask` any; and of a shell line with several commands
each is judged, and the strictest verdict counts.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from acp_nvim.session.asking import shell
from acp_nvim.session.asking.globs import alternatives

Action = Literal["allow", "deny", "ask"]

_STRICTEST: Final = {"deny": 0, "ask": 1, None: 2, "allow": 3}


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the option `permission.rules`."""

    action: Action
    kind: str | list[str] | None = None
    path: str | list[str] | None = None
    command: str | list[str] | None = None
    agent: str | list[str] | None = None


class Case(msgspec.Struct, frozen=True):
    """What a rule is held against; paths are absolute and without `..`."""

    kind: str = "other"
    paths: Sequence[str] = ()
    command: str | None = None
    agent: str = ""


def decide(rules: Sequence[Rule], case: Case) -> Action | None:
    """Return the action of the first rule that matches, None when none does."""
    if not rules:
        return None
    if case.command is None:
        return _of(_first(rules, case))
    verdict = _of_line(rules, msgspec.structs.replace(case, command=case.command.strip()))
    return min([verdict, *_inside(rules, case)], key=_STRICTEST.__getitem__)


def _of(rule: Rule | None) -> Action | None:
    return rule.action if rule is not None else None


def _inside(rules: Sequence[Rule], case: Case) -> list[Action | None]:
    """What is said against the lines that its commands hand to a shell (`sh -c 'rm x'`)."""
    scripts = [shell.script(part) for part in shell.commands(case.command or "")]
    said = [decide(rules, msgspec.structs.replace(case, command=line)) for line in scripts if line]
    return [action for action in said if action in ("deny", "ask")]


def _of_line(rules: Sequence[Rule], case: Case) -> Action | None:
    assert case.command is not None, "the caller has looked"
    whole = _first(rules, case)
    parts = shell.commands(case.command)
    if parts == [case.command]:
        return _of(whole)
    meant = whole is not None and _is_meant(whole, case.command)
    verdicts: list[Action | None] = []
    for part in parts:
        rule = _first(rules, msgspec.structs.replace(case, command=part))
        verdicts.append(rule.action if rule else whole.action if whole and meant else None)
    if whole is not None and whole.action != "allow" and _is_specific(whole):
        verdicts.append(whole.action)
    return min(verdicts, key=_STRICTEST.__getitem__, default=None)


def _first(rules: Sequence[Rule], case: Case) -> Rule | None:
    return next((rule for rule in rules if _matches(rule, case)), None)


def _is_meant(rule: Rule, line: str) -> bool:
    """Whether a rule is written for a line of several commands, and this is one of them."""
    globs = [glob for glob in _list(rule.command or []) if shell.OPERATORS.search(glob)]
    return any(fnmatch.fnmatchcase(line, glob) for glob in globs)


def _is_specific(rule: Rule) -> bool:
    """Whether it asks for a command at all; one that does not is met by each part as well."""
    return rule.command is not None and all(glob.strip("*") for glob in _list(rule.command))


def _matches(rule: Rule, case: Case) -> bool:
    return (
        _any(rule.kind, [case.kind])
        and _any(rule.agent, [case.agent])
        and _any(rule.command, _lines(rule, case.command))
        and (rule.path is None or _paths(rule, rule.path, case.paths))
    )


def _lines(rule: Rule, command: str | None) -> list[str]:
    """A command is refused whatever stands before it, its program's folder included, and allowed
    only as it is; quotes make no difference.
    """
    if command is None:
        return []
    lines = [command, shell.unquoted(command)]
    if rule.action != "allow":
        lines += [shell.bare(line) for line in lines]
        lines += [shell.named(line) for line in lines]
    return lines


def _any(patterns: str | list[str] | None, values: list[str]) -> bool:
    return patterns is None or any(
        fnmatch.fnmatchcase(value, p) for p in _list(patterns) for value in values
    )


def _paths(rule: Rule, patterns: str | list[str], paths: Sequence[str]) -> bool:
    matching = [_path(patterns, path) for path in paths]
    return bool(matching) and (all(matching) if rule.action == "allow" else any(matching))


def _path(patterns: str | list[str], path: str) -> bool:
    written = [one for pattern in _list(patterns) for one in alternatives(pattern)]
    expanded = [str(Path(pattern).expanduser()) for pattern in written]
    return any(
        fnmatch.fnmatchcase(path, p) or fnmatch.fnmatchcase(path, "*/" + p) for p in expanded
    )


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
