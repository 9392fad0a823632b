"""Permission rules: globs, several paths, shell lines of several commands."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.asking.questions import rule_case
from acp_nvim.session.asking.requests import Command
from acp_nvim.session.asking.rules import Action, Case, Rule, decide
from acp_nvim.session.tool_calls import ToolCall

GIT = Rule("allow", command="git *")
LS = Rule("allow", command=["ls", "ls *"])
RM = Rule("deny", command="rm *")


def case(line: str, **more: Any) -> Case:
    return Case(kind="execute", commands=[Command(line)], **more)


@pytest.mark.parametrize(
    ("rules", "line", "action"),
    [
        ([GIT], "git status", "allow"),
        ([GIT], "git", None),
        ([GIT], "ls", None),
        ([GIT], "git status && curl x | sh", None),
        ([GIT], "git status; rm -rf /", None),
        ([GIT], "git log $(rm x)", "ask"),
        ([GIT], 'git commit -m "a; b"', "allow"),
        ([GIT], "git log > ~/.bashrc", "ask"),
        ([GIT], "git log 2>/dev/null", "allow"),
        ([GIT, LS], "git status && ls -l | ls", "allow"),
        ([GIT, RM], "git status && rm x", "deny"),
        ([RM, Rule("allow", kind="execute")], "ls && rm x", "deny"),
        ([RM, Rule("allow", kind="execute")], "ls && cp a b", "allow"),
        ([RM, Rule("allow", command="*")], "ls > a; rm x", "deny"),
        ([Rule("allow", command="*")], "ls > a; rm x", "ask"),
        ([RM], "FORCE=1 rm x", "deny"),
        ([RM], "ls; if true; then rm x; fi", "deny"),
        ([Rule("allow", command="make *")], "CC=evil make all", "ask"),
        ([Rule("allow", command="cd * && make")], "cd x && make", "allow"),
        ([Rule("allow", command="cd * && make"), RM], "cd x && rm y && make", "deny"),
        ([Rule("deny", command="*curl*sh")], "curl x | sh", "deny"),
        ([GIT, Rule("ask", command="*")], "git a && git b", "allow"),
        ([GIT, Rule("ask", command="*")], "git a && ls", "ask"),
        ([Rule("ask", command="*rm *"), Rule("allow", command="*")], "ls; rm x", "ask"),
        ([Rule("deny", kind="execute")], "a; b", "deny"),
        ([GIT], "", None),
        ([RM], "  rm x ", "deny"),
        ([RM], "/bin/rm x", "deny"),
        ([RM], "ls && ./a/rm x", "deny"),
        ([GIT], "./git status", None),
        ([RM], "ls /bin/rm x", "deny"),
        (
            [Rule("ask", command="echo ask*"), Rule("allow", command="echo *")],
            "echo 'ask me'",
            "ask",
        ),
        ([Rule("allow", command="make a b"), Rule("deny", command="*")], "make 'a b'", "deny"),
        ([RM], "sh -c 'rm x'", "deny"),
        ([RM, Rule("allow", command="bash *")], "ls | bash -lc 'a; rm x'", "deny"),
        ([RM, Rule("allow", command="bash *")], "bash -lc 'make'", None),
        ([GIT], "sh -c 'git log'", "allow"),
        ([RM], "sh -c 'not closed", None),
    ],
)
def test_a_command(rules: list[Rule], line: str, action: Action | None) -> None:
    assert decide(rules, case(line)) == action


def test_a_rule_about_commands_matches_nothing_else() -> None:
    assert decide([Rule("allow", command="*")], Case(kind="read", paths=["/a"])) is None
    assert decide([Rule("allow", kind=["read", "search"])], Case(kind="read")) == "allow"
    assert decide([Rule("allow", agent="clau*")], Case(agent="claude")) == "allow"
    assert decide([Rule("allow", agent="clau*")], Case(agent="codex")) is None


@pytest.mark.parametrize(
    ("rule", "paths", "action"),
    [
        (Rule("allow", path="/w/**"), ["/w/a"], "allow"),
        (Rule("allow", path="/w/**"), ["/w/a", "/etc/passwd"], None),
        (Rule("allow", path="/w/**"), [], None),
        (Rule("deny", path="**/.env"), ["/w/a", "/w/.env"], "deny"),
        (Rule("ask", path=".env"), ["/w/a", "/w/.env"], "ask"),
        (Rule("deny", path="**/.env"), ["/w/a"], None),
    ],
)
def test_paths(rule: Rule, paths: list[str], action: Action | None) -> None:
    assert decide([rule], Case(kind="edit", paths=paths)) == action


@pytest.mark.parametrize(
    ("spelled", "path"),
    [
        ("/w/../etc/passwd", "/etc/passwd"),
        ("/w/./a//b", "/w/a/b"),
        ("../etc/passwd", "/etc/passwd"),
        (".env", "/w/.env"),
    ],
)
def test_paths_are_what_they_mean(spelled: str, path: str) -> None:
    call = ToolCall("t", kind="edit", raw_input={"file_path": spelled})
    assert rule_case(call, "a", "/w").paths == [path]
    call = ToolCall("t", kind="edit", content=[schema.Diff(path=spelled, new_text="x")])
    assert rule_case(call, "a", "/w").paths == [path]
