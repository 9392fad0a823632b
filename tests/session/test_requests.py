"""Commands and files of tool calls, in the shapes that real agents use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.requests import commands, is_shell, paths


def call(raw: Any = None, **more: Any) -> ToolCall:
    return ToolCall("t", **{"kind": "execute", "raw_input": raw, **more})


def lines(raw: Any = None, **more: Any) -> list[str]:
    return [command.line for command in commands(call(raw, **more))]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"command": "git log"}, ["git log"]),
        ({"cmd": ["git", "log"]}, ["git log"]),
        ({"command": "git", "args": ["log", "a b"]}, ["git log 'a b'"]),
        ({"command": "git", "args": []}, ["git"]),
        ({"command": "git", "args": "push -f"}, ["git push -f"]),
        ({"command": ["git"], "args": ["push"]}, ["git push"]),
        ({"program": "git", "arguments": ["push"]}, ["git push"]),
        ({"executable": "/bin/rm", "args": ["x"]}, ["/bin/rm x"]),
        ({"program": "git"}, ["git"]),
        ({"argv": ["rm", "-rf", "x"]}, ["rm -rf x"]),
        ({"args": ["rm", "-rf", "x"]}, ["rm -rf x"]),
        ({"script": "set -e\nrm x"}, ["set -e\nrm x"]),
        ({"script": ["a", "b"]}, ["a", "b"]),
        ({"scripts": {"build": "rm x", "test": "make"}}, ["rm x", "make"]),
        ({"commands": ["a", ["b", "c"], {"command": "d"}]}, ["a", "b c", "d"]),
        ({"commands": "a"}, ["a"]),
        ({"command": [["a", "b"], ["c"]]}, ["a b", "c"]),
        ({"command": "make", "cmd": "rm x"}, ["make", "rm x"]),
        ({"Command": "make", "shell_command": "a", "commandLine": "b"}, ["make", "a", "b"]),
        ({"input": {"arguments": {"command": "rm x"}}}, ["rm x"]),
        ({"steps": [{"run": 1}, {"cmd": "rm x"}]}, ["rm x"]),
        ({"language": "bash", "code": "rm x"}, ["rm x"]),
        ({"language": "python", "code": "print()"}, []),
        ({"command": ["bash", "-lc", "a; b"]}, ["a; b"]),
        ({"command": "sh", "args": ["-c", "a; b"]}, ["a; b"]),
        ({"command": ["/bin/sh", "-c", "true"]}, ["true"]),
        ({"command": ["/tmp/bash", "-c", "true"]}, ["/tmp/bash -c true"]),
        ({"command": ["bash", "-lc", "$0", "more"]}, ["bash -lc '$0' more"]),
        ({"command": 3}, []),
        ({"command": "  "}, []),
        ({}, []),
        ("ls", []),
        (None, []),
    ],
)
def test_the_commands_of_a_raw_input(raw: Any, expected: list[str]) -> None:
    assert lines(raw) == expected


def test_a_parsed_copy_of_a_command_is_not_a_second_one() -> None:
    raw = {
        "command": ["/bin/bash", "-lc", "echo two && ls"],
        "cwd": "/w",
        "parsed_cmd": [{"type": "list_files", "cmd": "ls"}],
        "proposed_execpolicy_amendment": ["echo", "two"],
    }
    (expected,) = commands(call(raw))
    assert (expected.line, expected.argv, expected.found, expected.cwd) == (
        "echo two && ls",
        None,
        "rawInput.command",
        "/w",
    )
    assert lines({"parsed_cmd": [{"cmd": "rm x"}]}) == ["rm x"], "where nothing else tells it"


@pytest.mark.parametrize(
    "env", [{"A": "1"}, [{"name": "A", "value": "1"}], ["A=1"], "A=1"], ids=repr
)
def test_variables_beside_a_command_belong_to_it(env: Any) -> None:
    (expected,) = commands(call({"command": "make", "env": env}))
    assert expected.env == (("A", "1"),)
    (expected,) = commands(call({"env": env, "tool": {"command": "make"}}))
    assert expected.env == (("A", "1"),)


def test_a_command_may_be_in_meta_or_in_the_content() -> None:
    assert lines(meta={"tool": {"command": "rm x"}}) == ["rm x"]
    text = schema.Content(schema.TextContent("Will run\n```sh\nrm x\n```\nand\n```py\nx\n```\n"))
    assert lines(content=[text]) == ["rm x"]
    assert lines(content=[schema.UnknownToolCallContent("shell", {"command": "rm x"})]) == ["rm x"]
    assert lines(meta={"claudeCode": {"toolResponse": {"command": "rm x"}}}) == []


def test_a_repeated_command_is_one() -> None:
    assert lines({"command": "make"}, meta={"x": {"cmd": "make"}}) == ["make"]


def test_a_key_in_two_spellings_gives_two_commands() -> None:
    assert lines({"command": "make", "Command": "rm x", "COMMAND": "y"}) == ["make", "rm x", "y"]


def test_all_variables_beside_a_command_belong_to_it() -> None:
    raw = {"env": {"A": "1"}, "environment": {"B": "2"}, "run": {"command": "x", "env": ["C=3"]}}
    (expected,) = commands(call(raw))
    assert expected.env == (("A", "1"), ("B", "2"), ("C", "3"))
    several = [{"command": "x", "env": {"A": text}} for text in "1111123"]
    assert [command.env[0][1] for command in commands(call(several))] == ["1", "2", "3"]


def test_a_value_that_is_not_a_word_is_not_harmless() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    (expected,) = commands(call({"argv": ["make", {"a": 1}]}))
    assert expected.argv == ("make", "\0")
    (expected,) = commands(call({"command": deep}))
    assert expected.argv == ("\0",)


def test_a_deeply_nested_command_is_found() -> None:
    raw: Any = {"command": "rm x"}
    for _ in range(2000):
        raw = {"inner": [raw]}
    assert lines(raw) == ["rm x"]
    assert lines({"commands": ["rm x"] * 50_000 + ["y"]}) == ["rm x", "y"]


@pytest.mark.parametrize(
    ("program", "known"),
    [
        ("bash", True),
        ("/usr/bin/zsh", True),
        ("./bash", False),
        ("/tmp/sh", False),
        ("/bin/../tmp/sh", False),
        ("python", False),
        ("/bin/fish", False),
    ],
)
def test_only_shells_of_the_system_count_as_shells(program: str, known: bool) -> None:
    assert is_shell(program) is known


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"file_path": "/a"}, ["/a"]),
        ({"notebookPath": "n"}, ["n"]),
        ({"paths": ["a", "b"]}, ["a", "b"]),
        ({"edits": [{"filePath": "a"}, {"filePath": "b"}]}, ["a", "b"]),
        ({"changes": {"/w/a": {"type": "add", "move_path": "/w/b"}}}, ["/w/a", "/w/b"]),
        ({"uri": "file:///w/a%20b"}, ["/w/a b"]),
        ({"uri": "FILE://[x/a?b#c", "path": "file://[x"}, ["/a"]),
        ({"path": "https://x/y", "url": "/a"}, []),
        ({"path": "/a\nb"}, ["/a\nb"]),
        (
            {"input": "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n"},
            ["a.py", "b.py"],
        ),
        ({"patch": "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n"}, ["x.c"]),
        ({"patch": "diff --git a/x b/y\n--- /dev/null\n+++ b/y\t2024\n"}, ["x", "y"]),
        ({"content": "/etc/passwd"}, []),
        ("x", []),
    ],
)
def test_the_files_of_a_raw_input(raw: Any, expected: list[str]) -> None:
    assert paths(call(raw)) == expected


def test_locations_and_diffs_name_files_first() -> None:
    expected = call(
        {"path": "c"},
        locations=[schema.ToolCallLocation("a")],
        content=[schema.Diff("b", "x"), schema.Diff("a", "x")],
    )
    assert paths(expected) == ["a", "b", "c"]


COMMAND = '{"command": "rm -rf src"}'
PACKAGE = '{"scripts": {"test": "rm -rf src"}, "command": "rm", "path": "/etc/hosts"}'
WRITES: list[dict[str, Any]] = [
    {"path": "package.json", "content": PACKAGE},
    {"relative_path": "package.json", "body": PACKAGE},
    {"filePath": "package.json", "file_content": [PACKAGE]},
    {"path": "package.json", "edits": [{"oldText": PACKAGE, "newText": PACKAGE}]},
    {"input": {"file": "package.json", "text": PACKAGE}},
    {"arguments": json.dumps({"path": "package.json", "content": PACKAGE})},
]


@pytest.mark.parametrize("kind", ["edit", "other"])
@pytest.mark.parametrize("raw", WRITES)
def test_the_json_that_a_tool_writes_to_a_file_is_not_a_command(kind: str, raw: Any) -> None:
    """Calls of tools of MCP servers have the kind `other`, even those that write files."""
    write = call(raw, kind=kind)
    assert commands(write) == ()
    assert paths(write) == ["package.json"]


def test_a_text_beside_a_file_hides_no_arguments() -> None:
    for raw in ({"path": "a", "arguments": COMMAND}, {"dir": "a", "content": COMMAND}):
        assert lines(raw, kind="other") == ["rm -rf src"]
    assert lines({"path": "a", "content": COMMAND}, kind="execute") == ["rm -rf src"]


@pytest.mark.parametrize("key", ["content", "new_string", "old_str_1", "lines"])
def test_the_json_that_an_edit_writes_is_not_a_command_and_names_no_file(key: str) -> None:
    raw = {"file_path": "package.json", key: [PACKAGE] if key == "lines" else PACKAGE}
    edit = call(raw, kind="edit")
    assert commands(edit) == ()
    assert paths(edit) == ["package.json"]
    assert lines({"file_path": "a", "arguments": COMMAND}, kind="edit") == ["rm -rf src"]
