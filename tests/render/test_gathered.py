"""One line for several tool calls of a kind."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.calls.gathered import gathered_title
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.transcript.entries import ToolEntry

CWD = "/home/u/p"


def call(kind: str, title: str, *paths: str, **fields: Any) -> ToolCall:
    """Return a finished call with these files as its locations."""
    places = [schema.ToolCallLocation(path) for path in paths]
    return ToolCall(title, title, kind=kind, status="completed", locations=places, **fields)


def edit(name: str, old: str, new: str) -> ToolCall:
    """Return a finished edit of a file below the session's directory."""
    return call("edit", "Mend it", content=[schema.Diff(f"{CWD}/{name}", new, old_text=old)])


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (
            [call("read", "Read File", f"{CWD}/a.py"), call("read", "Read src/b.py")],
            "Read 2 files · a.py, b.py",
        ),
        (
            [call("read", "Read", f"{CWD}/a/x.py"), call("read", "Read", f"{CWD}/b/x.py")],
            "Read 2 files · a/x.py, b/x.py",
        ),
        ([call("read", "Read a.py"), call("read", "Read `a.py`")], "Read a.py · 2 times"),
        (
            [edit("a.py", "1\n", "2\n"), edit("b.py", "", "1\n2\n")],
            "Edited 2 files +3 -1 · a.py, b.py",
        ),
        ([edit("a.py", "1\n", "2\n"), edit("a.py", "2\n", "")], "Edited a.py +1 -2 · 2 times"),
        ([call("read", "Look around"), call("read", "Read a.py")], "Read 2 files · a.py"),
        (
            [call("execute", "`make`"), call("execute", "git status")],
            "Ran 2 commands · make, git status",
        ),
        (
            [
                call("execute", "execute", raw_input={"command": "sed -i s/a/b/ x"}),
                call("execute", "run a command", raw_input={"command": "make"}),
            ],
            "Ran 2 commands · sed -i s/a/b/ x, make",
        ),
        (
            [
                call("read", "read_files", raw_input={"files": [{"path": "a"}, {"path": "b"}]}),
                call("read", "read", raw_input={"path": f"{CWD}/c"}),
            ],
            "Read 3 files · a, b, c",
        ),
        (
            [call("search", "Search for x"), call("search", "grep y")],
            "Searched 2 times · for x, grep y",
        ),
        ([call("delete", "Delete a\x1b.py"), call("delete", "?")], "Deleted 2 files · a^[.py"),
    ],
)
def test_the_line_names_action_number_and_files(calls: list[ToolCall], text: str) -> None:
    assert gathered_title([ToolEntry(it) for it in calls], CWD) == text


def test_the_first_of_many_files_are_named() -> None:
    text = gathered_title([ToolEntry(call("read", f"Read {n}.py")) for n in range(20)], CWD)
    assert text.startswith("Read 20 files · 0.py, 1.py")
    assert text.endswith("11.py, …")
