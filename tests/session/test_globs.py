"""Globs with alternatives, in permission rules and in the list of secret files."""

from __future__ import annotations

import pytest

from acp_nvim.files.bytes.paths import Place, matches
from acp_nvim.session.questions.globs import MAX_ALTERNATIVES, alternatives
from acp_nvim.session.questions.requests import Command
from acp_nvim.session.questions.rules import Case, Rule, decide


@pytest.mark.parametrize(
    ("glob", "plain"),
    [
        ("**/*.py", {"**/*.py"}),
        ("*.{js,ts}", {"*.js", "*.ts"}),
        ("{a,b}/{c,d}", {"a/c", "a/d", "b/c", "b/d"}),
        ("{a,{b,c}d}", {"a", "bd", "cd"}),
        ("x{,.bak}", {"x", "x.bak"}),
        ("{a}", {"{a}"}),
        ("{a,b", {"{a,b"}),
        ("}a,b{", {"}a,b{"}),
    ],
)
def test_a_glob_is_expanded_to_its_alternatives(glob: str, plain: set[str]) -> None:
    assert set(alternatives(glob)) == plain | {glob}


def test_a_glob_with_too_many_alternatives_stays() -> None:
    glob = "{a,b}" * 20
    assert list(alternatives(glob)) == [glob]
    assert len(alternatives("{a,b}" * 7)) <= MAX_ALTERNATIVES


@pytest.mark.parametrize(
    ("path", "action"),
    [("/w/keys/a.pem", "deny"), ("/w/keys/a.key", "deny"), ("/w/keys/a.txt", None)],
)
def test_rules_take_alternatives(path: str, action: str | None) -> None:
    rule = Rule("deny", path="**/*.{pem,key}")
    assert decide([rule], Case(kind="read", paths=[path])) == action


def test_braces_of_a_command_are_the_shells() -> None:
    rule = Rule("allow", command="awk {print,*}")
    assert decide([rule], Case(kind="execute", commands=[Command("awk print")])) is None


@pytest.mark.parametrize("name", ["a.pem", "a.key", "{x,y}"])
def test_secret_files_take_alternatives(name: str) -> None:
    assert matches(Place(f"/w/{name}", f"/w/{name}"), name, ["**/*.{pem,key}", "{x,y}"])
    assert not matches(Place("/w/a.txt", "/w/a.txt"), "a.txt", ["**/*.{pem,key}"])


@pytest.mark.parametrize("glob", ["[z-a]", "[", "[]", "[!]", "a[\\", "(", "*" * 50])
def test_an_invalid_glob_stays(glob: str) -> None:
    assert matches(Place(f"/w/{glob}", f"/w/{glob}"), glob, [glob])
    assert decide([Rule("deny", path=glob)], Case(kind="read", paths=["/w/x/y"])) in (None, "deny")
