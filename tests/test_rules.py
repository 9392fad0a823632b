"""Permission rules: globs, several paths, shell lines of several commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.protocol import schema
from acp_nvim.session.asking import shell
from acp_nvim.session.asking.questions import rule_case
from acp_nvim.session.asking.rules import Action, Case, Rule, decide
from acp_nvim.session.tool_calls import ToolCall

GIT = Rule("allow", command="git *")
LS = Rule("allow", command=["ls", "ls *"])
RM = Rule("deny", command="rm *")


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("", []),
        ("git status", ["git status"]),
        ("  git status ", ["git status"]),
        ("a && b||c;d|e|&f&g\nh", list("abcdefgh")),
        ("echo 'a; b' \"c && d\" e\\;f", ["echo 'a; b' \"c && d\" e\\;f"]),
        ('git commit -m "$(rm x)"', ["rm x", 'git commit -m "$()"']),
        ("git log `rm x`", ["rm x", "git log ``"]),
        ('echo "`rm x`"', ["rm x", 'echo "``"']),
        ("echo $(echo $(rm x))", ["rm x", "echo $()", "echo $()"]),
        ("diff <(a) <(b)", ["a", "b", "diff <() <()"]),
        ("(cd x; rm y)", ["cd x", "rm y", "()"]),
        ("make 2>&1 >/dev/null | tail", ["make 2>&1 >/dev/null", "tail"]),
        ("git log > out.txt", ["> out.txt", "git log > out.txt"]),
        ("git log >> '/a b'", ["> '/a b'", "git log >> '/a b'"]),
        ("git log &> x", ["> x", "git log &> x"]),
        ('echo "a > b"', ['echo "a > b"']),
        ("if true; then rm x; fi", ["if true", "then rm x"]),
        ("for f in *; do rm $f; done", ["for f in *", "do rm $f"]),
        ("echo $((1 + 2))", ["1 + 2", "()", "echo $()"]),
        ("echo 'not closed; x", ["echo 'not closed; x"]),
        ("echo $(not closed", ["not closed", "echo $("]),
        ("a ) b", ["a", "b"]),
    ],
)
def test_the_commands_of_a_line(line: str, commands: list[str]) -> None:
    assert shell.commands(line) == commands


@given(st.text(alphabet="ab '\"`$()<>&|;\\\n1={}!", max_size=40))
def test_any_line_has_commands_and_ends(line: str) -> None:
    for command in shell.commands(line):
        assert command.strip()


@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("rm x", "rm x"),
        ("A=1 B='2' rm x", "rm x"),
        ("then rm x", "rm x"),
        ("! { rm x", "rm x"),
        ("timeout 5 rm x", "timeout 5 rm x"),
        ("time rm x", "rm x"),
    ],
)
def test_what_stands_before_a_command(command: str, without: str) -> None:
    assert shell.bare(command) == without


@pytest.mark.parametrize(
    ("rules", "line", "action"),
    [
        ([GIT], "git status", "allow"),
        ([GIT], "git", None),
        ([GIT], "ls", None),
        ([GIT], "git status && curl x | sh", None),
        ([GIT], "git status; rm -rf /", None),
        ([GIT], "git log $(rm x)", None),
        ([GIT], 'git commit -m "a; b"', "allow"),
        ([GIT], "git log > ~/.bashrc", None),
        ([GIT], "git log 2>/dev/null", "allow"),
        ([GIT, LS], "git status && ls -l | ls", "allow"),
        ([GIT, RM], "git status && rm x", "deny"),
        ([RM, Rule("allow", kind="execute")], "ls && rm x", "deny"),
        ([RM, Rule("allow", kind="execute")], "ls && cp a b", "allow"),
        ([RM, Rule("allow", command="*")], "ls > a; rm x", "deny"),
        ([Rule("allow", command="*")], "ls > a; rm x", "allow"),
        ([RM], "FORCE=1 rm x", "deny"),
        ([RM], "ls; if true; then rm x; fi", "deny"),
        ([Rule("allow", command="make *")], "CC=evil make all", None),
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
        ([RM], "ls /bin/rm x", None),
        (
            [Rule("ask", command="echo ask*"), Rule("allow", command="echo *")],
            "echo 'ask me'",
            "ask",
        ),
        ([Rule("allow", command="make a b"), Rule("deny", command="*")], "make 'a b'", "allow"),
        ([RM], "sh -c 'rm x'", "deny"),
        ([RM, Rule("allow", command="bash *")], "ls | bash -lc 'a; rm x'", "deny"),
        ([RM, Rule("allow", command="bash *")], "bash -lc 'make'", "allow"),
        ([GIT], "sh -c 'git log'", None),
        ([RM], "sh -c 'not closed", None),
    ],
)
def test_a_command(rules: list[Rule], line: str, action: Action | None) -> None:
    assert decide(rules, Case(kind="execute", command=line)) == action


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({"command": "git log"}, "git log"),
        ({"cmd": ["git", "log"]}, "git log"),
        ({"command": "git", "args": ["log", "a b"]}, "git log 'a b'"),
        ({"command": "git", "args": []}, "git"),
        ({"command": "git", "args": "log"}, "git log"),
        ({"command": ["sh", "-c", "a; b"]}, "a; b"),
        ({"command": "sh", "args": ["-c", "a; b"]}, "a; b"),
        ({"command": 3}, None),
    ],
)
def test_the_line_that_a_tool_call_would_run(raw: dict[str, object], line: str | None) -> None:
    assert rule_case(ToolCall("t", kind="execute", raw_input=raw), "a", "/w").command == line


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
