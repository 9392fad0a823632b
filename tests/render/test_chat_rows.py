"""Rows of the chat: paths, diffs in pieces, plans."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.calls.tools import Style, draw
from acp_nvim.render.content import draw_block
from acp_nvim.render.diffs import diff_rows
from acp_nvim.render.entry_rows import draw_entry, plan_rows
from acp_nvim.render.text import display_path
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.transcript.entries import PlanEntry, ToolEntry


def texts(rows: list[Any]) -> list[str]:
    return [text for text, _, _ in rows]


@pytest.mark.parametrize(
    ("path", "cwd", "shown"),
    [
        ("/work/src/a.py", "/work", "src/a.py"),
        ("/work/src/a.py", "/work/", "src/a.py"),
        ("/workshop/a.py", "/work", "/workshop/a.py"),
        ("/etc/hosts", "/work", "/etc/hosts"),
        ("/work", "/work", "/work"),
        ("/work/a\nb", "/work", "a^Jb"),
        ("/etc/hosts", "/", "/etc/hosts"),
        ("/etc/hosts", "", "/etc/hosts"),
    ],
)
def test_a_path_below_the_directory_of_the_session_is_relative_to_it(
    path: str, cwd: str, shown: str
) -> None:
    assert display_path(path, cwd) == shown


def test_diffs_and_places_of_a_tool_call_are_relative() -> None:
    diff = schema.Diff("/work/a.py", "new\n", old_text="old\n")
    places = [schema.ToolCallLocation("/work/b.py", line=3), schema.ToolCallLocation("/etc/hosts")]
    call = ToolCall("1", "Edit", kind="edit", content=[diff], locations=places)
    rows = texts(draw(ToolEntry(call), Style(8, "/work")))
    assert rows[1:] == ["  - old", "  + new", "  b.py:3", "  /etc/hosts"]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("file:///work/src/a.py", "src/a.py"),
        ("file:///work/src/a%20b.py#L2-L5", "src/a b.py:2-5"),
        ("file:///work/src/a.py#L7", "src/a.py:7"),
        ("/work/src/a.py", "src/a.py"),
        ("file:///etc/hosts#L2", "file:///etc/hosts#L2"),
        ("https://example.org/work/a", "https://example.org/work/a"),
        ("nvim://context/this", "{this}"),
    ],
)
def test_attached_files_have_names_known_to_the_user(uri: str, shown: str) -> None:
    resource = schema.TextResourceContents("text\n", uri)
    (head, *_) = draw_block(schema.EmbeddedResource(resource), None, "/work")
    assert head[0] == f"→ {shown}" + ("" if "-" in shown else ", 1 line")
    (link,) = draw_block(schema.ResourceLink("a.py", uri), None, "/work")
    assert link[0] == f"→ a.py ({shown})"


def test_a_link_is_not_named_twice() -> None:
    (link,) = draw_block(schema.ResourceLink("a.py", "file:///work/a.py"), None, "/work")
    assert link[0] == "→ a.py"


def hunks(count: int) -> schema.Diff:
    """Return a diff of this number of hunks of two rows each, with five lines between them."""
    same = "\nsame" * 5
    old = [f"{n}{same}" for n in range(count)]
    new = [f"new {n}{same}" for n in range(count)]
    return schema.Diff("/a", "\n".join(new), old_text="\n".join(old))


def test_hunks_of_a_diff_are_separated() -> None:
    around = ["  same"] * 2
    assert texts(diff_rows(hunks(2), None))[1:] == [
        *("- 0", "+ new 0", *around, "⋮"),
        *(*around, "- 1", "+ new 1", *around),
    ]


def test_lines_between_two_hunks_are_shown_once() -> None:
    diff = schema.Diff("/a", "A\nsame\nB\n", old_text="a\nsame\nb\n")
    assert texts(diff_rows(diff, None))[1:] == ["- a", "+ A", "  same", "- b", "+ B"]


def test_omitted_lines_of_a_diff_are_counted_without_separators() -> None:
    rows = diff_rows(hunks(3), 4, full_target=7)
    assert texts(rows)[-3:] == ["- 1", "+ new 1", "… +2 lines"]
    assert rows[-1][2] == 7


@pytest.mark.parametrize(
    ("statuses", "left", "head"),
    [
        (["completed", "in_progress", "pending"], 0, "Plan · 1 of 3"),
        (["completed"], 7, "Plan"),
        ([], 0, "Plan"),
    ],
)
def test_the_heading_of_a_plan_shows_its_progress(
    statuses: list[Any], left: int, head: str
) -> None:
    plan = [schema.PlanEntry("Look", "medium", status) for status in statuses]
    assert texts(draw_entry(PlanEntry(plan, left)))[0] == head


def test_a_medium_priority_is_shown_only_in_the_plan_window() -> None:
    plan = [
        schema.PlanEntry("Look", "high", "in_progress"),
        schema.PlanEntry("Think", "medium", "pending"),
        schema.PlanEntry("Rest", "low", "pending"),
    ]
    assert texts(plan_rows(plan)) == ["- [-] Look (high)", "- [ ] Think", "- [ ] Rest (low)"]
