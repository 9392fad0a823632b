"""Files in the line of a tool call and in its question."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.calls.titles import title_line
from acp_nvim.render.calls.tools import Style, draw, float_rows
from acp_nvim.render.cards import card
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Launch, Terminal
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.transcript.entries import ToolEntry

CWD = "/home/u/p"


def line(**fields: Any) -> str:
    """Return the line of a tool call with these fields."""
    entry = ToolEntry(ToolCall("c", **({"status": "completed"} | fields)))
    text: str = draw(entry, Style(cwd=CWD))[0][0]
    return text


def text_content(text: str) -> list[Any]:
    """Return content with a text."""
    return [schema.Content(schema.TextContent(text))]


def diff_content() -> list[Any]:
    """Return content with a diff."""
    return [schema.Diff(f"{CWD}/a.py", "b\nc\n", old_text="a\n")]


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
    assert title_line(title, "edit", CWD) == shown


@pytest.mark.parametrize("kind", ["execute", "other", "fetch"])
def test_a_possible_command_is_shown_unchanged(kind: str) -> None:
    assert title_line("rm /home/u/p/a", kind, CWD) == "rm /home/u/p/a"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"kind": "read", "title": "Read a.py"}, "✓ Read a.py"),
        ({"kind": "read", "title": "Reading a.py"}, "✓ Read a.py"),
        ({"kind": "delete", "title": "Deleting a.py"}, "✓ Deleted a.py"),
        ({"kind": "read", "title": "Reader a.py"}, "✓ Reader a.py"),
        ({"kind": "read", "title": "a.py"}, "✓ Read a.py"),
        ({"kind": "read", "title": "read"}, "✓ Read"),
        ({"kind": "execute", "title": "execute me"}, "✓ execute me"),
        ({"kind": "edit", "title": "Edit: a.py"}, "✓ Edited a.py"),
        ({"kind": "edit", "title": "Edit a.py", "status": "in_progress"}, "◐ Editing a.py"),
        ({"kind": "edit", "title": "Edit a.py", "status": "pending"}, "○ Edit a.py"),
        ({"kind": "edit", "title": "Edit a.py", "status": "failed"}, "✗ Edit a.py · failed"),
        ({"kind": "search", "title": "Search for x"}, "✓ Searched for x"),
        ({"kind": "search", "title": "grep -n x"}, "✓ grep -n x"),
        ({"kind": "read", "title": "`a.py` (1-20)"}, "✓ Read a.py (1-20)"),
        ({"kind": "fetch", "title": "https://x.y/z"}, "✓ Fetched https://x.y/z"),
        ({"kind": "edit", "title": "Edit `src/a.py`"}, "✓ Edited src/a.py"),
        ({"kind": "execute", "title": "`make all`"}, "✓ make all"),
        ({"kind": "execute", "title": "Running: make all"}, "✓ make all"),
        ({"kind": "execute", "title": "`date` && `make`"}, "✓ `date` && `make`"),
        ({"kind": "execute", "title": "echo `date`"}, "✓ echo `date`"),
        ({"kind": "other", "title": "`make`"}, "✓ `make`"),
        ({"kind": "other", "title": "Ponder"}, "✓ Ponder"),
        ({"kind": "execute", "title": "make", "status": "cancelled"}, "⊘ make · cancelled"),
        (
            {"kind": "execute", "title": "make", "status": "failed", "raw_output": {"exitCode": 2}},
            "✗ make · exit 2",
        ),
        (
            {
                "kind": "read",
                "title": "Read a",
                "status": "failed",
                "content": text_content("no such"),
            },
            "✗ Read a · no such",
        ),
        ({"kind": "edit", "title": "Edit a.py", "content": diff_content()}, "✓ Edited a.py +2 -1"),
        ({"kind": "edit", "title": "Mend it", "content": diff_content()}, "✓ Mend it · a.py +2 -1"),
        ({"kind": "edit", "title": "edit", "content": diff_content()}, "✓ Edited a.py +2 -1"),
    ],
)
def test_the_verb_names_the_action(fields: dict[str, Any], text: str) -> None:
    assert line(**fields) == text


LONG = "make " + "x" * 90
SUBJECTS: list[tuple[dict[str, Any], str]] = [
    (
        {"kind": "execute", "title": "run a command", "raw_input": {"command": "sed -i s/a/b/ x"}},
        "✓ sed -i s/a/b/ x (run a command)",
    ),
    (
        {"kind": "execute", "title": "Tests", "raw_input": {"cmd": "make"}, "status": "failed"},
        "✗ make (Tests) · failed",
    ),
    (
        {"kind": "execute", "title": "bash", "raw_input": {"command": ["bash", "-lc", "a | b"]}},
        "✓ a | b (bash)",
    ),
    (
        {"kind": "execute", "title": "bash", "raw_input": {"commands": ["a", "b", "c", "d", "e"]}},
        "✓ a, b, c, … and 2 more (bash)",
    ),
    (
        {"kind": "execute", "title": "List files", "raw_input": {"command": "ls"}},
        "✓ ls (List files)",
    ),
    ({"kind": "execute", "title": "ls tools", "raw_input": {"command": "ls"}}, "✓ ls tools"),
    ({"kind": "execute", "title": "lsof -a", "raw_input": {"command": "ls"}}, "✓ ls (lsof -a)"),
    (
        {"kind": "execute", "title": "`make all`", "raw_input": {"command": "make all"}},
        "✓ make all",
    ),
    (
        {"kind": "execute", "title": "run: make xxx...", "raw_input": {"command": LONG}},
        f"✓ {LONG}",
    ),
    ({"kind": "other", "title": "shell", "raw_input": {"command": "rm x"}}, "✓ rm x (shell)"),
    ({"kind": "read", "title": "read", "raw_input": {"path": f"{CWD}/two.txt"}}, "✓ Read two.txt"),
    (
        {"kind": "read", "title": "read_text_file", "raw_input": {"path": "two.txt"}},
        "✓ Read two.txt (read_text_file)",
    ),
    (
        {
            "kind": "read",
            "title": 'read_files: {"files":[{"path":"/home/u/p/one...',
            "raw_input": {"files": [{"path": f"{CWD}/one.txt"}, {"path": "/etc/hosts"}]},
        },
        "✓ Read one.txt, /etc/hosts (read_files)",
    ),
    (
        {
            "kind": "read",
            "title": "ReadFile",
            "raw_input": {"file_path": "a.py"},
            "status": "failed",
        },
        "✗ Read a.py · failed",
    ),
    (
        {"kind": "read", "title": "List", "locations": [schema.ToolCallLocation(CWD)]},
        "✓ Read . (List)",
    ),
    (
        {"kind": "read", "title": "Look at it", "raw_input": {"path": "a.py"}},
        "✓ Look at it · a.py",
    ),
    (
        {"kind": "edit", "title": "write_text_file", "content": diff_content()},
        "✓ Edited a.py (write_text_file) +2 -1",
    ),
    (
        {"kind": "move", "title": "move_file", "raw_input": {"from": "a", "to": "b"}},
        "✓ Moved a, b (move_file)",
    ),
    (
        {"kind": "search", "title": "grep", "raw_input": {"pattern": "a.*b"}},
        "✓ Searched a.*b (grep)",
    ),
    (
        {"kind": "fetch", "title": "fetch", "raw_input": {"url": "https://x.y/"}},
        "✓ Fetched https://x.y/",
    ),
    (
        {
            "kind": "other",
            "title": 'apply_patch: {"input":"*** Be...',
            "raw_input": {"input": f"*** Begin Patch\n*** Update File: {CWD}/a.py\n@@\n-a\n+b\n"},
        },
        "✓ apply_patch · a.py",
    ),
    ({"kind": "other", "title": 'sum: {"a": 1}', "raw_input": {"a": 1}}, "✓ sum"),
    ({"kind": "other", "title": 'sum: {"a": 1}'}, '✓ sum: {"a": 1}'),
    ({"kind": "other", "title": f"Read file '{CWD}/a.py'"}, "✓ Read file 'a.py'"),
]


@pytest.mark.parametrize(("fields", "text"), SUBJECTS)
def test_the_line_contains_the_command_or_the_file(fields: dict[str, Any], text: str) -> None:
    assert line(**fields) == text


def test_the_line_contains_the_command_of_a_terminal() -> None:
    call = ToolCall("c", title="execute", kind="execute", status="completed")
    entry = ToolEntry(call)
    launch = Launch("/bin/sh -lc 'sed -i s/a/b/ x'")
    entry.terminals["t"] = Terminal("t", launch, 100, is_hosted=True)
    assert draw(entry, Style(cwd=CWD))[0][0] == "✓ sed -i s/a/b/ x (execute)"


def test_the_parts_of_the_line_keep_their_highlights() -> None:
    entry = ToolEntry(ToolCall("c", title="Read a.py", kind="read", status="completed"))
    text, spans, _ = draw(entry, Style(cwd=CWD))[0]
    parts = [(text.encode()[a:b].decode(), group) for a, b, group in spans]
    assert parts == [
        ("✓ ", "AcpToolCompleted"),
        ("Read", "AcpToolKind"),
        (" a.py", "AcpToolTitle"),
    ]


def asking(title: str, path: str, diff: bool) -> tuple[ToolEntry, Decision]:
    """Return a tool call with a file and a question."""
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
        (False, ["The agent wants to edit a.py", "  Fix it"]),
        (True, ["The agent wants to edit a.py (+1 -1)", "  Fix it", "  - a", "  + b"]),
    ],
)
def test_a_question_names_each_file_once_and_short(diff: bool, first: list[str]) -> None:
    entry, decision = asking("Fix it", f"{CWD}/a.py", diff)
    assert [text for text, _, _ in float_rows(entry, decision, CWD)] == first
    rows = [text.strip() for text, _, _ in draw(entry, Style(cwd=CWD))]
    assert sum("a.py" in text for text in rows) == 1, rows


def test_a_question_about_a_file_elsewhere_names_it_in_full() -> None:
    entry, decision = asking("Fix it", "/etc/hosts", False)
    rows = [text for text, _, _ in float_rows(entry, decision, CWD)]
    assert rows == ["The agent wants to edit /etc/hosts", "  Fix it"]


def test_the_title_of_a_question_names_agent_and_request() -> None:
    entry, decision = asking(f"Edit {CWD}/a.py", f"{CWD}/a.py", True)
    decision.agent = "Tutor"
    assert float_rows(entry, decision, CWD)[0][0] == "Tutor wants to edit a.py (+1 -1)"
    rows = [text for text, _, _ in draw(entry, Style(cwd=CWD))]
    assert rows == ["○ Tutor wants to edit a.py (+1 -1)", "  - a", "  + b"]


def test_a_question_shows_all_of_a_long_title() -> None:
    title = f"Edit {CWD}/a.py " + "and so on " * 40
    entry, decision = asking(title, f"{CWD}/a.py", True)
    asked = [text for text, _, _ in float_rows(entry, decision, CWD)]
    assert asked[1].strip() == title.replace(f"{CWD}/", "").strip()
    assert asked[1] in [text for text, _, _ in draw(entry, Style(cwd=CWD))]


DIFF = [schema.Diff(f"{CWD}/a.py", "b\n", old_text="a\n")]
NEW = [schema.Diff(f"{CWD}/a.py", "1\n2\n")]
GONE = [schema.Diff(f"{CWD}/a.py", "", old_text="a\n")]
TITLES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "edit", "content": DIFF}, "edit a.py (+1 -1)"),
    ({"kind": "edit", "content": NEW}, "create a.py (+2)"),
    ({"kind": "delete", "content": GONE}, "delete a.py (-1)"),
    ({"kind": "edit", "content": [*DIFF, schema.Diff("/x", "1")]}, "edit 2 files (+2 -1)"),
    ({"kind": "edit", "title": "Fix it"}, "edit: Fix it"),
    ({"kind": "edit", "title": "Edit a.py"}, "edit a.py"),
    ({"kind": "execute", "raw_input": {"command": "make all"}}, "run make all"),
    ({"kind": "execute", "title": "`npm test`"}, "run npm test"),
    ({"kind": "execute", "title": "Run the tests"}, "run the tests"),
    ({"kind": "read", "raw_input": {"path": "/etc/hosts"}}, "read /etc/hosts"),
    ({"kind": "read", "raw_input": {"command": "cat x"}}, "run cat x"),
    ({"kind": "fetch", "raw_input": {"url": "https://e.x/"}}, "fetch https://e.x/"),
    ({"kind": "search", "title": "Search for x"}, "search for x"),
    ({"kind": "move", "title": "Move a to b"}, "move a to b"),
]


@pytest.mark.parametrize(("fields", "wants"), TITLES)
def test_the_title_of_a_question_names_action_and_object(
    fields: dict[str, Any], wants: str
) -> None:
    call = ToolCall("c", **{"title": "Do it", **fields})
    decision = Decision("p1", "permission", call.title, tool_call_id="c", agent="Tutor")
    assert float_rows(ToolEntry(call), decision, CWD)[0][0] == f"Tutor wants to {wants}"


def test_a_question_about_an_unknown_kind_of_call_is_general() -> None:
    call = ToolCall("c", title="Ready to code?", kind="switch_mode")
    decision = Decision("p1", "permission", call.title, tool_call_id="c", agent="Tutor")
    assert float_rows(ToolEntry(call), decision, CWD)[0][0] == (
        "Tutor asks for permission: Ready to code?"
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("outside", "outside the project: /etc/hosts"),
        ("secret", "a secret file: /etc/hosts"),
        ("executed", "a file that other programs run: /etc/hosts"),
    ],
)
def test_a_question_gives_the_reason_for_a_guarded_file(reason: str, words: str) -> None:
    entry, decision = asking("Look", "/etc/hosts", False)
    entry.call.kind = "read"
    decision.guarded = {"/etc/hosts": reason}
    assert float_rows(entry, decision, CWD)[0][0] == f"The agent wants to read {words}"
    entry, decision = asking("Look", "/etc/hosts", True)
    entry.call.content = [*entry.call.content, schema.Diff(f"{CWD}/b", "b")]
    decision.guarded = {"/etc/hosts": reason}
    rows = [text for text, _, _ in float_rows(entry, decision, CWD)]
    assert rows[:3] == ["The agent wants to edit 2 files (+2 -1)", "  Look", f"  {words}"]


def test_a_diff_in_a_question_has_context_lines() -> None:
    entry, decision = asking("Edit a.py", f"{CWD}/a.py", True)
    old = [str(n) for n in range(20)]
    new = [*old[:5], "five", *old[6:9], "nine", *old[10:16], "end", *old[17:]]
    diff = schema.Diff(f"{CWD}/a.py", "\n".join(new), old_text="\n".join(old))
    entry.call.content = [diff]
    rows = [text[2:] for text, _, _ in float_rows(entry, decision, CWD)][1:]
    assert rows == [
        *("  3", "  4", "- 5", "+ five", "  6", "  7", "  8", "- 9", "+ nine", "  10", "  11"),
        *("⋮", "  14", "  15", "- 16", "+ end", "  17", "  18"),
    ]


@pytest.mark.parametrize(("cwd", "is_named"), [(CWD, False), (f"{CWD}/sub", True), ("/", True)])
def test_a_question_names_another_directory_than_the_sessions(cwd: str, is_named: bool) -> None:
    call = ToolCall("c", title="Build", kind="execute", raw_input={"command": "make", "cwd": cwd})
    decision = Decision("p1", "permission", "Build", tool_call_id="c")
    entry = ToolEntry(call)
    entry.decisions.append(decision)
    rows = [text for text, _, _ in float_rows(entry, decision, CWD)]
    assert rows[0] == "The agent wants to run make"
    assert (f"  in {cwd}" in rows) is is_named


def test_a_second_file_outside_is_marked() -> None:
    entry, decision = asking("Look", f"{CWD}/a.py", False)
    entry.call.kind, entry.call.raw_input = "read", {"path": "/etc/passwd"}
    decision.guarded = {"/etc/passwd": "outside"}
    rows = [text for text, _, _ in float_rows(entry, decision, CWD)]
    assert rows[0] == "The agent wants to read a.py"
    assert "  outside the project: /etc/passwd" in rows


def test_a_question_of_a_subagent_names_it_once() -> None:
    decision = Decision("d1", "access", "Explorer › read outside the project: /x", agent="Explorer")
    assert card(decision)[0][0] == "Explorer wants to read outside the project: /x"
