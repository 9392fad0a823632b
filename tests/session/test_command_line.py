"""Lines that a rule may allow, and their parts."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.session.questions import programs
from acp_nvim.session.questions.command_line import MAX_LENGTH, parse


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("make", [("make",)]),
        ("  git   status ", [("git", "status")]),
        ("./run.sh a/b --x=y,z:1 +2 @3 %4", [("./run.sh", "a/b", "--x=y,z:1", "+2", "@3", "%4")]),
        ("a && b||c;d|e;", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("git commit -m 'a; b && $(c) `d` #e'", [("git", "commit", "-m", "a; b && $(c) `d` #e")]),
        ('echo "it\'s" \'say "x"\'', [("echo", "it's", 'say "x"')]),
        ("m'ak'\"e\" ''", [("make", "")]),
        ("git diff HEAD~1", [("git", "diff", "HEAD~1")]),
        ("echo 'größe'", [("echo", "größe")]),
        ("make 2>&1 >/dev/null | tail", [("make",), ("tail",)]),
        ("echo x >&2; make 2> /dev/null", [("echo", "x"), ("make",)]),
    ],
)
def test_a_plain_line_is_split_into_commands(line: str, commands: list[tuple[str, ...]]) -> None:
    read = parse(line)
    assert read is not None
    assert [command.words for command in read.commands] == commands
    assert [path for command in read.commands for path in command.writes] == []


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("make > out.txt", ["out.txt"]),
        ("make >> 'a b' x 2>c", ["a b", "c"]),
        ("make 1>a; ls >>b", ["a", "b"]),
    ],
)
def test_the_written_files_of_a_plain_line_are_found(line: str, writes: list[str]) -> None:
    read = parse(line)
    assert read is not None
    assert [path for command in read.commands for path in command.writes] == writes


@pytest.mark.parametrize(
    "line",
    [
        *("", " ", ";", "a;;b", "a &&", "&& a", "a | | b", "a |& b", "a &", "a & b", "a &> x"),
        *(
            "a\nb",
            "a\rb",
            "a\tb",
            "a\0",
            "a\x1b[0m",
            "a\u00a0b",
            "a\u2028b",
            "a '\n'",
            "a '\u202e'",
        ),
        *("a # b", "a#b", "make x # it's\npwn", "a $b", "a ${b}", "a $(b)", "a `b`", "a $'b'"),
        *('a "$b"', 'a "`b`"', 'a "\\b"', 'a "b!"', "a \\b", "\\a", "a !b", "! a", "a 'b", 'a "b'),
        *("a *", "a b?", "a [b]", "a {b,c}", "a ~", "a ~/b", "a b:~", "a b=~", "a 'b'~", "a ^b"),
        *(
            "a =b",
            "a ''=b",
            'a ""=b',
            "a=1 b",
            "a+=1",
            "a=1",
            "-a",
            "+a",
            "@a",
            "%1",
            "a(b)",
            "(a)",
        ),
        *("{ a; }", "if a", "while a", "time a", "[[ a ]]", "for a", "function a", "coproc a"),
        *("'if' a", "repeat 2 a", "export A", "declare a", "a >b>c", "a>b", "a 3>b", "a 12>b"),
        *("a <b", "a <<b", "a <<<b", "a >|b", "a >!b", "a >&b", "a 2>&1b", "a >", "a > ''", "> a"),
        *("a > /dev/tcp/h/1", "a > /dev/../dev/udp/h/1", "a > $b", "a > ~/b", "a > *", "a 2>&3"),
        *("a é", "'a b' c", "a;b c\\", "größe"),
        "a " + "b" * MAX_LENGTH,
    ],
)
def test_every_other_line_is_not_plain(line: str) -> None:
    assert parse(line) is None


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=5))
def test_quoted_words_are_read_unchanged(words: list[str]) -> None:
    """`shlex` uses single quotes, except around single quotes."""
    line = shlex.join(["make", *words])
    read = parse(line)
    if read is not None:
        assert read.commands[0].words == ("make", *words)
    else:
        assert "=" in line or "'" in "".join(words) or not line.isprintable()


HARMLESS = frozenset({"echo", "pwd", "true", "false", ":", "cd"})
BY_ARGUMENT = frozenset({"printf", "test"})


@pytest.mark.parametrize(
    ("shell", "builtins"),
    [
        ("bash", "compgen -b"),
        ("zsh", "print -l ${(k)builtins}"),
        ("zsh", "print -l ${(k)reswords}"),
    ],
)
def test_every_builtin_of_the_installed_shells_is_known(shell: str, builtins: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    said = subprocess.run([shell, "-c", builtins], capture_output=True, text=True, check=True)
    unknown = [
        name
        for name in said.stdout.split()
        if name not in HARMLESS | BY_ARGUMENT
        and name not in programs.RESERVED
        and programs.runs_only_itself([name, "x"])
    ]
    assert unknown == []


@pytest.mark.parametrize(
    ("words", "alone"),
    [
        (["make", "env", "x"], True),
        (["find", ".", "-name", "x"], True),
        (["find", ".", "-exec", "x"], False),
        (["find", ".", "-okdir", "x"], False),
        (["fd", "-x", "rm"], False),
        (["env", "x"], False),
        (["/usr/bin/env", "x"], False),
        (["./bash", "x"], False),
        (["printf", "%s\\n", "a[$(x)]"], True),
        (["printf", "%d", "a[$(x)]"], False),
        (["printf", "-v", "PATH", "x"], False),
        (["test", "-f", "x"], True),
        (["test", "x", "-eq", "a[$(x)]"], False),
        (["test", "-v", "a[$(x)]"], False),
        (["kill", "-9", "12"], True),
        (["kill", "-TERM", "12"], True),
        (["exit", "a[$(x)]"], False),
        (["exit", "3"], True),
    ],
)
def test_programs_that_run_their_arguments_are_known(words: list[str], *, alone: bool) -> None:
    assert programs.runs_only_itself(words) is alone
