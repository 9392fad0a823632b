"""What the line of a tool call, and what asks about it, says of files."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.titles import shown_title
from acp_nvim.render.tools import Look, card, draw, float_rows
from acp_nvim.session.entries import ToolEntry
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.tool_calls import ToolCall

CWD = "/home/u/p"


def line(**fields: Any) -> str:
    """The line of such a tool call."""
    entry = ToolEntry(ToolCall("c", **({"status": "completed"} | fields)))
    text: str = draw(entry, Look(cwd=CWD))[0][0]
    return text


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Edit /home/u/p/src/a.py", "Edit src/a.py"),
        ("`/home/u/p/a.py` (1-20)", "`a.py` (1-20)"),
        ("Move /home/u/p/a to /home/u/p/b", "Move a to b"),
        ("Edit /home/u/pp/a.py", "Edit /home/u/pp/a.py"),
        ("Edit /mnt/home/u/p/a.py", "Edit /mnt/home/u/p/a.py"),
        ("List /home/u/p", "List /home/u/p"),
        ("List /home/u/p/", "List /home/u/p/"),
        ("file:///home/u/p/a.py", "file:///home/u/p/a.py"),
    ],
)
def test_files_below_the_directory_of_the_session_are_named_relative_to_it(
    title: str, shown: str
) -> None:
    assert shown_title(title, "edit", CWD) == shown


@pytest.mark.parametrize("kind", ["execute", "other", "fetch"])
def test_what_may_be_a_command_is_said_as_it_is(kind: str) -> None:
    assert shown_title("rm /home/u/p/a", kind, CWD) == "rm /home/u/p/a"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"kind": "read", "title": "Read a.py"}, "✓ Read a.py · completed"),
        ({"kind": "read", "title": "Reading a.py"}, "✓ Reading a.py · completed"),
        ({"kind": "delete", "title": "Deleting a.py"}, "✓ Deleting a.py · completed"),
        ({"kind": "read", "title": "Reader a.py"}, "✓ read · Reader a.py · completed"),
        ({"kind": "read", "title": "a.py"}, "✓ read · a.py · completed"),
        ({"kind": "read", "title": "read"}, "✓ read · completed"),
        ({"kind": "execute", "title": "execute me"}, "✓ execute · execute me · completed"),
        ({"kind": "edit", "title": "Edit: a.py"}, "✓ Edit: a.py · completed"),
    ],
)
def test_a_kind_that_the_title_begins_with_is_not_said_twice(
    fields: dict[str, Any], text: str
) -> None:
    assert line(**fields) == text


def test_the_parts_of_such_a_line_look_as_ever() -> None:
    entry = ToolEntry(ToolCall("c", title="Read a.py", kind="read", status="completed"))
    text, spans, _ = draw(entry, Look(cwd=CWD))[0]
    parts = [(text.encode()[a:b].decode(), group) for a, b, group in spans]
    assert parts == [
        ("✓ ", "AcpToolCompleted"),
        ("Read", "AcpToolKind"),
        (" a.py", "AcpToolTitle"),
        (" · completed", "AcpToolCompleted"),
    ]


def asking(title: str, path: str, diff: bool) -> tuple[ToolEntry, Decision]:
    """A tool call that names a file and asks."""
    content = [schema.Diff(path, "b\n", old_text="a\n")] if diff else []
    place = schema.ToolCallLocation(path)
    call = ToolCall("c", title=title, kind="edit", content=content, locations=[place])
    decision = Decision("p1", "permission", title, kind="edit", tool_call_id="c")
    entry = ToolEntry(call)
    entry.decisions.append(decision)
    return entry, decision


@pytest.mark.parametrize(
    ("diff", "first"),
    [
        (False, ["Permission: Fix it", "  a.py"]),
        (True, ["Permission: Fix it", "  a.py +1 -1", "  - a", "  + b"]),
    ],
)
def test_a_question_names_each_file_once_and_short(diff: bool, first: list[str]) -> None:
    entry, decision = asking("Fix it", f"{CWD}/a.py", diff)
    assert [text for text, _, _ in float_rows(entry, decision, CWD)] == first
    rows = [text.strip() for text, _, _ in draw(entry, Look(cwd=CWD))]
    assert sum("a.py" in text for text in rows) == 1, rows


def test_a_question_about_a_file_elsewhere_names_it_in_full() -> None:
    entry, decision = asking("Fix it", "/etc/hosts", False)
    assert [text for text, _, _ in float_rows(entry, decision, CWD)][1] == "  /etc/hosts"


def test_the_title_of_a_question_is_that_of_its_tool_call() -> None:
    entry, decision = asking(f"Edit {CWD}/a.py", f"{CWD}/a.py", True)
    assert float_rows(entry, decision, CWD)[0][0] == "Permission: Edit a.py"
    assert draw(entry, Look(cwd=CWD))[0][0] == "○ Edit a.py · permission needed"
    assert card(decision)[0][0] == f"Permission: Edit {CWD}/a.py"


def test_a_question_says_all_of_a_long_title() -> None:
    title = f"Edit {CWD}/a.py " + "and so on " * 40
    entry, decision = asking(title, f"{CWD}/a.py", True)
    asked = float_rows(entry, decision, CWD)[0][0]
    assert asked == "Permission: " + title.replace(f"{CWD}/", "").strip()
    assert asked in [text.strip() for text, _, _ in draw(entry, Look(cwd=CWD))]


@pytest.mark.parametrize(("cwd", "said"), [(CWD, False), (f"{CWD}/sub", True), ("/", True)])
def test_a_question_names_the_directory_where_it_is_another_than_the_sessions(
    cwd: str, said: bool
) -> None:
    call = ToolCall("c", title="Build", kind="execute", raw_input={"command": "make", "cwd": cwd})
    decision = Decision("p1", "permission", "Build", tool_call_id="c")
    entry = ToolEntry(call)
    entry.decisions.append(decision)
    rows = [text for text, _, _ in float_rows(entry, decision, CWD)]
    assert "  $ make" in rows
    assert (f"  in {cwd}" in rows) is said
