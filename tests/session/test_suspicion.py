"""A refused program is found in any disguise within a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.session.questions.suspicion import (
    MAX_SEARCHED,
    is_line_unclear,
    judge_line,
    judge_words,
)

WRAPPED = [
    *(
        "{}",
        "A=1 {}",
        "A=1 B='2 3' {}",
        ">f {}",
        "2>&1 {}",
        "<f {}",
        "! {}",
        "time {}",
        "{{ {}; }}",
    ),
    *("({})", "$({})", '"$({})"', "`{}`", "x <({})", "x; {}", "x && {}", "x || {}", "x | {}"),
    *(
        "x & {}",
        "x |& {}",
        "x\n{}",
        "if {}; then x; fi",
        "while {}; do x; done",
        "f() {{ {}; }}; f",
    ),
    *("for i in 1; do {}; done", "case x in x) {};; esac", "env {}", "env -i A=1 {}", "sudo {}"),
    *("sudo -u root -- {}", "doas {}", "nohup {}", "nice -n 5 {}", "timeout 5 {}", "xargs {}"),
    *("xargs -0 -I% {}", "find . -exec {} ';'", "find . -name x -execdir {} +", "stdbuf -oL {}"),
    *("command {}", "builtin {}", "exec {}", "exec -a x {}", "eval {}", "eval '{}'", "noglob {}"),
    *("coproc {}", "trap '{}' EXIT", "alias x='{}'", "parallel {}", "watch '{}'", "ssh host {}"),
    *("sh -c '{}'", "sh -ec '{}'", 'bash -lc "{}"', "/bin/zsh -o x -c '{}'", 'sh -c"{}"', "- {}"),
    *("bash -c \"bash -c '{}'\"", "su -c '{}'", "busybox {}", "setsid {}", "poetry run {}"),
    *("sh <<'E'\n{}\nE", "sh <<< '{}'", "echo '{}' | sh", "make x # it's\n{}", "$SHELL -c '{}'"),
    *("python -c \"import os; os.system('{}')\"", "x=$({})", "A=x; {}", "\\\n{}", "x &>f; {}"),
]


@st.composite
def disguised(draw: st.DrawFn, name: str = "rm") -> str:
    """Draw the name in a quoting that a shell removes."""
    found = draw(st.sampled_from(["", "/bin/", "./", "../../usr/bin/", '"/bin"/']))
    for letter in name:
        found += draw(
            st.sampled_from(
                [
                    *(
                        letter,
                        f"'{letter}'",
                        f'"{letter}"',
                        f"\\{letter}",
                        f'""{letter}',
                        f"{letter}''",
                    ),
                    *(f"$'{letter}'", f"$'\\x{ord(letter):x}'", f"$'\\{ord(letter):o}'"),
                    *(
                        f"{letter}$@",
                        f"{letter}${{x}}",
                        f"{letter}$()",
                        f"{letter}``",
                        f"\\\n{letter}",
                    ),
                    *(f'$"{letter}"', f"$'\\u00{ord(letter):x}'"),
                ]
            )
        )
    return found


@given(disguised())
def test_a_name_is_found_in_any_quoting(name: str) -> None:
    assert judge_line(["rm *"], f"{name} -rf x") == "sure"


@pytest.mark.parametrize("wrap", WRAPPED)
def test_a_name_is_found_behind_any_starting_program(wrap: str) -> None:
    assert judge_line(["rm *"], wrap.format("rm -rf x")) == "sure"
    assert judge_line(["rm *"], wrap.format("rm")) == "sure", (
        "its arguments may come from elsewhere"
    )
    assert judge_line(["rm *"], wrap.format("farm -rf x")) is None


@given(
    st.sampled_from([wrap for wrap in WRAPPED if "'" not in wrap and '"' not in wrap]), disguised()
)
def test_a_quoted_name_is_found_behind_any_starting_program(wrap: str, name: str) -> None:
    assert judge_line(["rm *"], wrap.format(f"{name} x")) == "sure"


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_name_is_found_between_any_other_texts(before: str, after: str) -> None:
    assert judge_line(["rm *"], f"{before}\nrm x\n{after}") is not None


@pytest.mark.parametrize(
    ("glob", "line", "found"),
    [
        ("git push *", "git -C /x push origin", "sure"),
        ("git push *", "git log; echo", None),
        ("git push --force*", "git push origin --force-with-lease", "sure"),
        ("*curl*sh", "curl x | sh", "sure"),
        ("*rm *", "/bin/rm x", "sure"),
        ("/bin/rm *", "rm x", "sure"),
        ("RM *", "rm x", "sure"),
        ("./scripts/*", "ls x", None),
        ("./scripts/*", "sudo ./scripts/x", "sure"),
        ("*", "x", "sure"),
        ("rm *", "git commit -m 'no rm here'", "maybe"),
        ("rm *", "git commit -m 'no rm here' && sh", "sure"),
        ("rm *", "git rm x", "sure"),
        ("rm *", "docker run --rm x", None),
        ("rm *", "ls firmware rmdir", None),
    ],
)
def test_a_glob_is_suspected_in_a_line(glob: str, line: str, found: str | None) -> None:
    assert judge_line([glob], line) == found


def test_words_that_no_shell_reads_are_searched_too() -> None:
    assert judge_words(["rm *"], ["env", "rm", "x"]) == "sure"
    assert judge_words(["rm *"], ["python", "-c", "system('rm x')"]) == "sure"
    assert judge_words(["rm *"], ["git", "commit", "-m", "rm x"]) == "maybe"
    assert judge_words(["rm *"], ["ls", "x"]) is None


def test_a_line_that_is_too_long_to_search_is_suspected() -> None:
    assert judge_line(["rm *"], "x" * (MAX_SEARCHED + 1)) == "maybe"
    assert is_line_unclear("x" * (MAX_SEARCHED + 1))


@pytest.mark.parametrize(
    "line",
    [
        *("$x y", "a=r; ${a}m x", "$(echo r)m x", "`echo x`", "/bin/r? x", "r[m] x", "r{m,} x"),
        *(
            "eval $x",
            "echo cm0K | base64 -d | sh",
            "sh x.sh",
            "source x",
            ". x",
            "a; . x",
            "=ls $x",
        ),
        *(
            "x\x01y",
            "sudo $x",
            "find . -exec $x",
            "env $x",
            "sh -c '$x'",
            "bash",
            "sh -s",
            "~/x $y",
        ),
    ],
)
def test_a_line_with_a_computed_program_is_unclear(line: str) -> None:
    assert is_line_unclear(line)


@pytest.mark.parametrize(
    "line",
    [
        *("make", "git add .", "ls *.py", 'echo "$HOME"', "for f in *.py; do cat $f; done"),
        *("cd x && make 2>&1 | tail", "A=1 make", "[ -f $x ] && make", "sh -c 'make x'", "cat <x"),
    ],
)
def test_a_line_with_explicit_programs_is_clear(line: str) -> None:
    assert not is_line_unclear(line)
