"""Cards of tool calls show the raw input before the user can allow it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.protocol import schema
from acp_nvim.render.calls.tools import Style, draw, draw_short, float_rows
from acp_nvim.render.rows import MAX_WIDTH, Row
from acp_nvim.render.text import visible
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.transcript.entries import ToolEntry

CWD = "/w"
TRANSCRIPTS = Path(__file__).parent.parent / "data" / "transcripts"
OPTIONS = [Option("y", "Allow", "allow_once"), Option("n", "Reject", "reject_once")]


def asking(raw: Any, title: str = "Tool", **fields: Any) -> tuple[ToolEntry, Decision]:
    """Return a tool call with a question."""
    call = ToolCall("c", title=title, raw_input=raw, **fields)
    decision = Decision("d1", "permission", title, tool_call_id="c", options=OPTIONS)
    entry = ToolEntry(call)
    entry.decisions.append(decision)
    return entry, decision


def both(raw: Any, title: str = "Tool", **fields: Any) -> list[list[str]]:
    """Return the card in the float, and the call in the chat."""
    entry, decision = asking(raw, title, **fields)
    rows: tuple[list[Row], ...] = (
        float_rows(entry, decision, CWD),
        draw(entry, Style(cwd=CWD)),
    )
    return [[text for text, _, _ in each] for each in rows]


def card(raw: Any, title: str = "Tool", **fields: Any) -> list[str]:
    """Return the rows of the card in the float before its options, without the indent: the agent's
    request, then the rest without the agent's own title.
    """
    floating, chat = both(raw, title, **fields)
    assert chat[0] == f"○ {floating[0]}"
    assert chat[1:] == floating[1:], "chat and float tell the same"
    rows = floating[: next(at for at, text in enumerate(floating) if text == "  1. Allow")]
    stripped = [row.removeprefix("  ") for row in rows]
    stripped[0] = stripped[0].removeprefix("The agent ").removeprefix("wants to ")
    return [stripped[0], *(row for row in stripped[1:] if row != title)]


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** End Patch"
DRAWN = ["a.py +1 -1", "- old", "+ new"]
UNIFIED = "@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA (edited)\n gamma\n"

OTHER = "asks for permission: Tool"

SHAPES: list[tuple[str, Any, list[str]]] = [
    ("codex: a patch", {"input": PATCH + "\n"}, ["edit a.py (+1 -1)", "- old", "+ new"]),
    (
        "a patch as a command",
        {"command": ["apply_patch", PATCH]},
        ["edit a.py (+1 -1)", "- old", "+ new"],
    ),
    ("a patch alone", PATCH, ["edit a.py (+1 -1)", "- old", "+ new"]),
    (
        "a patch with more",
        {"input": PATCH + "\nmore"},
        [
            OTHER,
            "*** Begin Patch",
            "*** Update File: a.py",
            "@@",
            "-old",
            "+new",
            "*** End Patch",
            "more",
        ],
    ),
    (
        "a patch beside its file",
        {"path": "/w/a.py", "diff": "@@ -1 +1 @@\n-old\n+new"},
        ["edit a.py (+1 -1)", "- old", "+ new"],
    ),
    (
        "a patch of several files",
        {
            "patch": "*** Begin Patch\n*** Add File: new\n+one\n*** Delete File: gone\n"
            "*** Update File: old\n*** Move to: sub/moved\n@@ class A\n-x\n+y\n@@\n z\n+w\n"
        },
        [
            "edit 3 files (+3 -1)",
            "new +1 -0 new",
            "+ one",
            "gone deleted",
            "old → sub/moved +2 -1",
            "@@ class A",
            "- x",
            "+ y",
            "⋮",
            "  z",
            "+ w",
        ],
    ),
    (
        "git's head without hunks",
        {"diff": "diff --git a/x b/x\n-a\n+b"},
        [OTHER, "diff --git a/x b/x", "-a", "+b"],
    ),
    (
        "codex: changes",
        {
            "changes": {
                "/w/notes.txt": {"type": "update", "unified_diff": UNIFIED, "move_path": "/e"}
            }
        },
        ["move notes.txt to /e (+1 -1)", "  alpha", "- beta", "+ BETA (edited)", "  gamma"],
    ),
    (
        "codex: what no diff is",
        {"changes": {"/w/notes.txt": {"type": "update", "unified_diff": "what?"}}},
        [OTHER, "update /w/notes.txt", "what?"],
    ),
    (
        "codex: a new file",
        {"changes": {"/w/n": {"type": "add", "content": "one\n"}}},
        ["create n (+1)", "+ one"],
    ),
    (
        "codex: a file taken away",
        {"changes": {"/w/n": {"type": "delete", "content": "one\n"}}},
        ["delete n (-1)", "- one"],
    ),
    ("claude: a command", {"command": "touch a", "timeout": 1}, ["run touch a", "timeout: 1"]),
    ("argv", {"argv": ["ls", "a b"]}, ["run ls 'a b'"]),
    (
        "codex: for a shell",
        {"command": ["/bin/bash", "-lc", "a && b"], "cwd": "/x"},
        ["run a && b", "in /x"],
    ),
    ("cmd and args", {"cmd": "npm", "args": ["run", "x y"]}, ["run npm run 'x y'"]),
    ("several lines", {"script": "if a\nthen rm b\nfi"}, ["run if a", "  then rm b", "  fi"]),
    (
        "several commands",
        {"commands": ["a b", ["c", "d e"], {"command": "f", "cwd": "/y"}]},
        ["run 3 commands", "$ a b", "$ c 'd e'", "$ f", "in /y"],
    ),
    (
        "variables",
        {"command": "make", "env": {"LD_PRELOAD": "./e.so"}},
        ["run make", "with LD_PRELOAD=./e.so"],
    ),
    (
        "variables as a list",
        {"command": "m", "env": [{"name": "A", "value": "b\nc"}]},
        ["run m", "with A=b", "    c"],
    ),
    ("inside", {"tool": "sh", "arguments": {"command": "rm x"}}, ["run rm x", 'tool: "sh"']),
    (
        "claude: an edit",
        {"file_path": "/w/a", "old_string": "a\nb", "new_string": "a\nc", "replace_all": True},
        ["edit a (+1 -1)", "  a", "- b", "+ c", "every occurrence"],
    ),
    (
        "vibe: an edit of one occurrence",
        {"filePath": "/w/a", "oldString": "a", "newString": "b", "replaceAll": False},
        ["edit a (+1 -1)", "- a", "+ b"],
    ),
    (
        "cline: files with lines",
        {"files": [{"path": "/w/a", "start_line": 3}, {"path": "b"}]},
        [OTHER, "a", "start_line: 3", "b"],
    ),
    ("a table on one line", {"a": {"b c": [1, {"d": "e"}]}}, [OTHER, 'a: {"b c": [1, {d: "e"}]}']),
    (
        "a file's text",
        {"path": "/h/c.json", "content": '{"a": 1}'},
        ["write /h/c.json (+1)", '+ {"a": 1}'],
    ),
    (
        "several edits",
        {
            "file_path": "/w/a",
            "edits": [
                {"old_string": "a", "new_string": "b"},
                {"oldText": "c", "newText": "d", "all": True},
            ],
        },
        ["edit a (+2 -2)", "a +1 -1", "- a", "+ b", "a +1 -1", "- c", "+ d", "all: true"],
    ),
    (
        "a tool that edits",
        {"command": "create", "path": "/w/a", "file_text": "x"},
        ["write a (+1)", "+ x", 'command: "create"'],
    ),
    ("a search", {"pattern": "x.*", "path": "/w/src"}, [OTHER, "src", 'pattern: "x.*"']),
    (
        "an address",
        {"url": "https://e.x/?q=1", "method": "POST"},
        [OTHER, "https://e.x/?q=1", 'method: "POST"'],
    ),
    ("files", {"paths": ["/etc/passwd", "b"]}, [OTHER, "/etc/passwd", "b"]),
    (
        "kimi: questions",
        {
            "questions": [
                {
                    "question": "Which?",
                    "header": "Colour",
                    "multi_select": False,
                    "options": [{"label": "Red", "description": "the red one"}, "Blue"],
                }
            ]
        },
        [OTHER, "? Colour: Which?", "  1. Red — the red one", "  2. Blue"],
    ),
    ("kimi: todos", {"todos": [{"title": "Look", "status": "done"}]}, [OTHER, "- Look (done)"]),
    ("claude: a plan", {"plan": "# Do\n1. this"}, [OTHER, "# Do", "1. this"]),
    (
        "code in something unknown",
        {"language": "python", "code": "import os\nos.remove('x')\n"},
        [OTHER, 'language: "python"', "code:", "│ import os", "│ os.remove('x')"],
    ),
    (
        "tables in something unknown",
        {"a": {"list": [1, None], "long": "x" * 60}},
        [
            OTHER,
            "a: {",
            "  list: [1, null]",
            '  long: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
            "}",
        ],
    ),
    ("a list", ["a", 1], [OTHER, '["a", 1]']),
    ("nothing", {"command": "", "env": {}, "x": None}, [OTHER]),
]


@pytest.mark.parametrize(("raw", "rows"), [s[1:] for s in SHAPES], ids=[s[0] for s in SHAPES])
def test_a_known_shape_of_input_is_shown_in_its_form(raw: Any, rows: list[str]) -> None:
    assert card(raw) == rows


def recorded() -> list[Any]:
    """Return raw inputs and titles of tool calls for which real agents asked."""
    found = {}
    for file in sorted(TRANSCRIPTS.glob("*.ndjson")):
        calls: dict[str, dict[str, Any]] = {}
        for line in file.read_text().splitlines():
            frame = json.loads(line).get("msg") or {}
            params = frame.get("params") or {}
            call = params.get("update") or params.get("toolCall") or {}
            if isinstance(call, dict) and "toolCallId" in call:
                given = {key: value for key, value in call.items() if value is not None}
                calls.setdefault(call["toolCallId"], {}).update(given)
            if frame.get("method") == "session/request_permission":
                name = f"{file.stem} {call['toolCallId'][-6:]}"
                found[name] = calls[call["toolCallId"]]
    return [pytest.param(call, id=name) for name, call in found.items()]


@pytest.mark.parametrize("call", recorded())
def test_a_recorded_question_shows_all_of_its_raw_input(call: dict[str, Any]) -> None:
    raw = call.get("rawInput") or {}
    floating, chat = both(raw, call["title"])
    for text in (" ".join(floating), " ".join(chat)):
        for key in ("old_string", "new_string", "content", "cwd", "description", "reason"):
            assert all(line in text for line in str(raw.get(key) or "").split("\n"))
        command = raw.get("command") or ""
        assert (command[-1] if isinstance(command, list) else command) in text
        for change in (raw.get("changes") or {}).values():
            lines = [line for line in change["unified_diff"].splitlines() if line[0] != "@"]
            assert all(f"{line[0]} {line[1:]}" in text for line in lines)


@pytest.mark.parametrize("title", ["rm -rf ~", "`rm -rf ~`", "Run rm -rf ~"])
def test_a_title_that_is_the_command_is_not_repeated(title: str) -> None:
    floating, _ = both({"command": "rm -rf ~"}, title)
    assert floating[:2] == ["The agent wants to run rm -rf ~", "  1. Allow"]


@pytest.mark.parametrize("title", ["List /w", "echo rm -rf ~ is bad", "rm -rf ~/x"])
def test_another_title_is_below_the_command(title: str) -> None:
    floating, _ = both({"command": "rm -rf ~"}, title)
    assert floating[:2] == ["The agent wants to run rm -rf ~", f"  {title}"]


def test_a_command_of_several_lines_keeps_them() -> None:
    title = "for i in 1\ndo  rm $i\ndone"
    for raw in (None, {"command": title}):
        floating, chat = both(raw, title, kind="execute")
        command = ["    do  rm $i", "    done"]
        assert floating[:3] == ["The agent wants to run for i in 1", *command]
        assert chat[:3] == ["○ The agent wants to run for i in 1", *command]


def content(text: str) -> list[Any]:
    return [schema.Content(schema.TextContent(text))]


def test_input_that_the_content_shows_is_not_repeated() -> None:
    diff = schema.Diff("/w/a.py", "x\nnew\n", old_text="x\nold\n")
    edit = {"file_path": "/w/a.py", "old_string": "old", "new_string": "new"}
    shown = ["edit a.py (+1 -1)", "  x", "- old", "+ new"]
    assert card(edit, content=[diff]) == shown
    assert card({"input": PATCH}, content=[diff]) == shown
    asked = card({"command": "ls", "description": "look"}, content=content("look"))
    assert asked == ["run ls", "look"]


def test_input_that_differs_from_the_content_is_shown() -> None:
    diff = schema.Diff("/w/a.py", "x\nnew\n", old_text="x\nold\n")
    edit = {"file_path": "/w/a.py", "old_string": "old", "new_string": "evil"}
    rows = card(edit, content=[diff])
    assert rows == ["edit a.py (+1 -1)", "- old", "+ evil", "  x", "- old", "+ new"]
    other = {"file_path": "/w/b.py", "old_string": "old", "new_string": "new"}
    assert card(other, content=[diff])[:2] == ["edit 2 files (+2 -2)", "b.py +1 -1"]
    assert "+ evil" in card({"input": PATCH.replace("+new", "+evil")}, content=[diff])
    assert card({"command": "ls; rm x"}, content=content("ls")) == ["run ls; rm x", "ls"]


def test_a_file_is_named_unless_the_title_names_that_very_file() -> None:
    for title, first in [
        ("Read /etc/hosts", []),
        ("Read /etc/hosts.bak", ["  Read /etc/hosts.bak"]),
        ("Read /w/etc/hosts", ["  Read etc/hosts"]),
    ]:
        floating, _ = both({"path": "/etc/hosts"}, title, kind="read")
        assert floating[:-2] == ["The agent wants to read /etc/hosts", *first]


def test_a_path_is_shown_to_its_end() -> None:
    path = "/" + "d/" * 400 + "a\nb"
    assert card({"path": path}) == [OTHER, path.replace("\n", "^J")]
    assert card({"path": path}, kind="read") == ["read " + path.replace("\n", "^J")]


def test_a_long_option_is_shown_to_its_end() -> None:
    entry, decision = asking(None)
    name = "Yes, and don't ask again for " + "x" * 900 + " rm -rf"
    decision.options = [Option("y", name, "allow_always")]
    assert f"  1. {name}" in [text for text, _, _ in float_rows(entry, decision, CWD)]


# -- for any command ------------------------------------------------------------------------------

COMMANDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).flatmap(
    lambda text: st.integers(1, 400).map(lambda count: text * count)
)
HARMFUL = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@given(COMMANDS, st.sampled_from(["Tool", "ls"]))
def test_both_ends_of_any_command_are_visible_without_control_characters(
    command: str, title: str
) -> None:
    for card in both({"command": command}, title):
        assert not any(HARMFUL.search(row) for row in card)
        shown = visible(command).strip("\n").split("\n")
        rows = [row.strip() for row in card]
        text = "\n".join(card)
        for line in (*shown[:60], *shown[-30:]):
            if len(line) <= MAX_WIDTH:
                assert any(line.strip() in row for row in rows)
            else:
                assert line[:200] in text
                assert line[-200:] in text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_raw_input_has_a_card(raw: Any) -> None:
    for card in both(raw):
        assert not any(HARMFUL.search(row) for row in card)
        assert card[-1] == "  2. Reject"


def test_the_keys_answer_from_every_row_of_the_card() -> None:
    entry, decision = asking({"command": "x\n" * 500, "path": "/w/a", "code": "a\nb"})
    rows = float_rows(entry, decision, CWD)
    assert all(isinstance(target, dict) and target["decision"] == "d1" for _, _, target in rows)
    first, last = rows[0][2], rows[-1][2]
    assert isinstance(first, dict)
    assert first["first"]
    assert isinstance(last, dict)
    assert last["last"]


@pytest.mark.parametrize(
    ("make", "ends"),
    [
        (lambda: {"input": "first\n" + "x\n" * 4_000_000 + "last"}, ("first", "last")),
        (lambda: {"command": "first" + "y" * 8_000_000 + "last"}, ("first", "last")),
        (lambda: {"first": [*range(1_000_000)], "last": 1}, ("first", "last: 1")),
        (
            lambda: {"edits": [{"old_string": "first", "new_string": "last"}] * 200_000},
            ("first", "last"),
        ),
        (lambda: {str(n): {"k": [n, [n]]} for n in range(100_000)}, ("0:", "99999:")),
        (lambda: {"a": [[[[[0, 1] * 9] * 30] * 30] * 9]}, ("a: [", "]")),
        (
            lambda: {"input": "*** Begin Patch\n" + "+x\n" * 2_000_000 + "*** End Patch"},
            ("Begin", "End"),
        ),
    ],
    ids=["text", "line", "list", "edits", "table", "deep", "patch"],
)
def test_of_a_very_large_input_both_ends_are_shown_at_little_cost(
    make: Callable[[], Any], ends: tuple[str, str]
) -> None:
    entry, decision = asking(make())
    begin = time.process_time()
    rows = float_rows(entry, decision, CWD)
    assert time.process_time() - begin < 1
    text = "\n".join(row for row, _, _ in rows)
    assert all(end in text for end in ends)
    assert len(rows) < 400
    assert len(text) < 100_000
    assert "<CR> shows all" in text or "characters …" in text
    again = time.process_time()
    float_rows(entry, decision, CWD)
    assert time.process_time() - again < 0.05


@pytest.mark.parametrize("raw", [shape[1] for shape in SHAPES], ids=[s[0] for s in SHAPES])
def test_a_call_that_runs_shows_the_commands_of_its_question(raw: Any) -> None:
    entry = ToolEntry(ToolCall("c", title="Tool", raw_input=raw))
    text = [row.strip() for row, _, _ in draw(entry, Style(100, CWD)) if row.startswith("  $ ")]
    title, *rows = card(raw)
    asked = [row for row in rows if row.startswith("$ ")]
    one = title.startswith("run ") and not asked
    assert text == ([f"$ {title.removeprefix('run ')}"] if one else asked)


@pytest.mark.parametrize(
    ("meta", "raw", "shown"),
    [
        ({"acme/run": {"command": "rm -rf x"}}, None, ["run rm -rf x"]),
        ({"commands": ["a", "b c"]}, {"note": "n"}, ["run 2 commands", "$ a", "$ b c"]),
        ({"tool": {"argv": ["rm", "a b"]}}, None, ["run rm 'a b'"]),
        ({"command": "make"}, {"command": "make"}, ["run make"]),
        ({"command": "make"}, {"command": ["bash", "-lc", "make"]}, ["run make"]),
        ({"command": "rm x"}, {"command": "ls"}, ["run 2 commands", "$ rm x", "$ ls"]),
    ],
)
def test_a_command_that_is_only_in_meta_is_shown(
    meta: dict[str, Any], raw: Any, shown: list[str]
) -> None:
    """The rules judge this command, so the user must see it before allowing it."""
    rows = card(raw, kind="execute", meta=meta)
    assert [row for row in rows if row.startswith(("$ ", "run "))] == shown


# -- patches outside of cards ---------------------------------------------------------------------


def drawn(limit: int = 8, **fields: Any) -> list[str]:
    """Return the rows below the line of a call without a question."""
    entry = ToolEntry(ToolCall("c", title="Tool", **fields))
    assert draw_short(entry, Style(limit, CWD)) is None
    return [text.removeprefix("  ") for text, _, _ in draw(entry, Style(limit, CWD))[1:]]


def test_a_call_shows_its_patch() -> None:
    assert drawn(raw_input={"input": PATCH}) == DRAWN
    assert drawn(raw_input={"input": PATCH}, content=content("Done.")) == [*DRAWN, "Done."]
    new = {"changes": {"/w/n": {"type": "add", "content": "1\n2\n3\n"}}}
    assert drawn(2, raw_input=new) == ["n +3 -0", "+ 1", "+ 2", "… +1 line"]


def test_a_patch_that_the_content_shows_is_not_shown_again() -> None:
    diff = schema.Diff("/w/a.py", "x\nnew\n", old_text="x\nold\n")
    shown = drawn(raw_input={"input": PATCH}, content=[diff])
    assert [text for text in shown if text != "  x"] == DRAWN
    fence = content(f"```diff\n{PATCH}\n```")
    assert drawn(raw_input={"input": PATCH}, content=fence) == DRAWN
    assert card({"input": PATCH}, content=fence) == ["edit a.py (+1 -1)", "- old", "+ new"]


FENCED = "Style:\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+new\n```\nGood?"


def test_a_fenced_diff_of_the_content_is_shown_as_a_diff() -> None:
    assert drawn(content=content(FENCED)) == ["Style:", *DRAWN, "Good?"]
    assert drawn(2, content=content(FENCED)) == ["Style:", DRAWN[0], "… +3 lines"]
    for card in both(None, content=content(FENCED)):
        assert card[0].endswith("wants to edit a.py (+1 -1)")
        assert [row.strip() for row in card if row.strip() in DRAWN] == DRAWN[1:]


def test_a_fenced_diff_without_a_head_belongs_to_the_file_of_the_call() -> None:
    text = content("```diff\n@@ -1 +1 @@\n-old\n+new\n```")
    at = [schema.ToolCallLocation("/w/a.py")]
    assert drawn(content=text, locations=at)[:3] == DRAWN
    assert drawn(content=text)[:3] == ["@@ -1 +1 @@", "-old", "+new"]


def test_only_a_closed_separate_fence_is_a_diff() -> None:
    for text in (FENCED.replace("\n```\n", "\n"), f"````markdown\n{FENCED}\n````"):
        assert "```diff" in drawn(99, content=content(text))


def test_a_patch_leads_to_its_file_and_each_row_of_it_to_diff_mode() -> None:
    entry = ToolEntry(
        ToolCall("c", title="Tool", content=content(FENCED.replace("-1 +1", "-5 +5")))
    )
    rows = draw(entry, Style(cwd=CWD))
    heads = [target for text, _, target in rows if "a.py +" in text]
    assert heads == [{"kind": "file", "path": "/w/a.py", "line": 5}]
    targets = [target for text, _, target in rows if text.strip() in ("+ new", "- old")]
    assert targets == [{"kind": "diff", "path": "/w/a.py", "call": 0}] * 2


@pytest.mark.parametrize("opening", ["```diff\n", "```diff\n@@\n", "~~~~patch\n-a\n"])
def test_many_unclosed_fences_cost_little(opening: str) -> None:
    begin = time.process_time()
    drawn(content=content(opening * 12_000))
    assert time.process_time() - begin < 1
