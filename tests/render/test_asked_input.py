"""What a card tells of a tool call by its raw input, before anyone can say yes."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.protocol import schema
from acp_nvim.render.rows import WIDEST, Row
from acp_nvim.render.text import visible
from acp_nvim.render.tools import Look, draw, float_rows, words
from acp_nvim.session.entries import ToolEntry
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.tool_calls import ToolCall

CWD = "/w"
TRANSCRIPTS = Path(__file__).parent.parent / "data" / "transcripts"
OPTIONS = [Option("y", "Allow", "allow_once"), Option("n", "Reject", "reject_once")]


def asking(raw: Any, title: str = "Tool", **fields: Any) -> tuple[ToolEntry, Decision]:
    """A tool call that asks."""
    call = ToolCall("c", title=title, raw_input=raw, **fields)
    decision = Decision("d1", "permission", title, tool_call_id="c", options=OPTIONS)
    entry = ToolEntry(call)
    entry.decisions.append(decision)
    return entry, decision


def both(raw: Any, title: str = "Tool", **fields: Any) -> list[list[str]]:
    """The card in the float, and the call in the chat."""
    entry, decision = asking(raw, title, **fields)
    rows: tuple[list[Row], ...] = (
        float_rows(entry, decision, CWD),
        draw(entry, Look(cwd=CWD)),
    )
    return [[text for text, _, _ in each] for each in rows]


def told(raw: Any, title: str = "Tool", **fields: Any) -> list[str]:
    """What the card in the float tells between its title and its options, without the indent."""
    floating, chat = both(raw, title, **fields)
    rows = floating[1 : next(at for at, text in enumerate(floating) if "[1] " in text)]
    stripped = [row.removeprefix("  ") for row in rows]
    in_chat = [row.removeprefix("    ") for row in chat]
    assert [row for row in stripped if row not in in_chat] == [], "the chat tells less"
    return stripped


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** End Patch"
DRAWN = ["a.py +1 -1", "- old", "+ new"]
UNIFIED = "@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA (edited)\n gamma\n"

SHAPES: list[tuple[str, Any, list[str]]] = [
    ("codex: a patch", {"input": PATCH + "\n"}, DRAWN),
    ("a patch as a command", {"command": ["apply_patch", PATCH]}, DRAWN),
    ("a patch alone", PATCH, DRAWN),
    ("a patch with more", {"input": PATCH + "\nmore"}, [*PATCH.split("\n"), "more"]),
    ("a patch beside its file", {"path": "/w/a.py", "diff": "@@ -1 +1 @@\n-old\n+new"}, DRAWN),
    (
        "a patch of several files",
        {
            "patch": "*** Begin Patch\n*** Add File: new\n+one\n*** Delete File: gone\n"
            "*** Update File: old\n*** Move to: sub/moved\n@@ class A\n-x\n+y\n@@\n z\n+w\n"
        },
        [
            *("new +1 -0 new", "+ one", "gone deleted", "old → sub/moved +2 -1"),
            *("@@ class A", "- x", "+ y", "⋮", "  z", "+ w"),
        ],
    ),
    (
        "git's head without hunks",
        {"diff": "diff --git a/x b/x\n-a\n+b"},
        ["diff --git a/x b/x", "-a", "+b"],
    ),
    (
        "codex: changes",
        {
            "changes": {
                "/w/notes.txt": {"type": "update", "unified_diff": UNIFIED, "move_path": "/e"}
            }
        },
        ["notes.txt → /e +1 -1", "  alpha", "- beta", "+ BETA (edited)", "  gamma"],
    ),
    (
        "codex: what no diff is",
        {"changes": {"/w/notes.txt": {"type": "update", "unified_diff": "what?"}}},
        ["update /w/notes.txt", "what?"],
    ),
    (
        "codex: a new file",
        {"changes": {"/w/n": {"type": "add", "content": "one\n"}}},
        ["n +1 -0", "+ one"],
    ),
    (
        "codex: a file taken away",
        {"changes": {"/w/n": {"type": "delete", "content": "one\n"}}},
        ["n +0 -1", "- one"],
    ),
    ("claude: a command", {"command": "touch a", "timeout": 1}, ["$ touch a", '"timeout": 1']),
    ("argv", {"argv": ["ls", "a b"]}, ["$ ls 'a b'"]),
    (
        "codex: for a shell",
        {"command": ["/bin/bash", "-lc", "a && b"], "cwd": "/x"},
        ["$ a && b", "in /x"],
    ),
    ("cmd and args", {"cmd": "npm", "args": ["run", "x y"]}, ["$ npm run 'x y'"]),
    ("several lines", {"script": "if a\nthen rm b\nfi"}, ["$ if a", "  then rm b", "  fi"]),
    (
        "several commands",
        {"commands": ["a b", ["c", "d e"], {"command": "f", "cwd": "/y"}]},
        ["$ a b", "$ c 'd e'", "$ f", "in /y"],
    ),
    (
        "variables",
        {"command": "make", "env": {"LD_PRELOAD": "./e.so"}},
        ["$ make", "with LD_PRELOAD=./e.so"],
    ),
    (
        "variables as a list",
        {"command": "m", "env": [{"name": "A", "value": "b\nc"}]},
        ["$ m", "with A=b", "    c"],
    ),
    ("inside", {"tool": "sh", "arguments": {"command": "rm x"}}, ["$ rm x", '"tool": "sh"']),
    (
        "claude: an edit",
        {"file_path": "/w/a", "old_string": "a\nb", "new_string": "a\nc", "replace_all": True},
        ["a +1 -1", "- b", "+ c", '"replace_all": true'],
    ),
    (
        "a file's text",
        {"path": "/h/c.json", "content": '{"a": 1}'},
        ["/h/c.json +1 -0", '+ {"a": 1}'],
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
        ["a +1 -1", "- a", "+ b", "a +1 -1", "- c", "+ d", '"all": true'],
    ),
    (
        "a tool that edits",
        {"command": "create", "path": "/w/a", "file_text": "x"},
        ["a +1 -0", "+ x", '"command": "create"'],
    ),
    ("a search", {"pattern": "x.*", "path": "/w/src"}, ["src", '"pattern": "x.*"']),
    (
        "an address",
        {"url": "https://e.x/?q=1", "method": "POST"},
        ["https://e.x/?q=1", '"method": "POST"'],
    ),
    ("files", {"paths": ["/etc/passwd", "b"]}, ["/etc/passwd", "b"]),
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
        ["? Which?", "  1. Red — the red one", "  2. Blue", '"header": "Colour"'],
    ),
    ("kimi: todos", {"todos": [{"title": "Look", "status": "done"}]}, ["- Look (done)"]),
    ("claude: a plan", {"plan": "# Do\n1. this"}, ["# Do", "1. this"]),
    (
        "code in something unknown",
        {"language": "python", "code": "import os\nos.remove('x')\n"},
        ['"language": "python"', '"code":', "│ import os", "│ os.remove('x')"],
    ),
    (
        "tables in something unknown",
        {"a": {"list": [1, None], "long": "x" * 60}},
        ['"a": {', '  "list": [1, null]', f'  "long": "{"x" * 60}"', "}"],
    ),
    ("a list", ["a", 1], ['["a", 1]']),
    ("nothing", {"command": "", "env": {}, "x": None}, []),
]


@pytest.mark.parametrize(("raw", "rows"), [s[1:] for s in SHAPES], ids=[s[0] for s in SHAPES])
def test_a_shape_is_told_as_what_it_is(raw: Any, rows: list[str]) -> None:
    assert told(raw) == rows


def recorded() -> list[Any]:
    """Raw inputs of tool calls for which real agents asked, with their titles."""
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
def test_a_recorded_question_tells_all_of_its_raw_input(call: dict[str, Any]) -> None:
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


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("rm -rf ~", False),
        ("`rm -rf ~`", False),
        ("List /w", True),
        ("echo rm -rf ~ is bad", True),
        ("rm -rf ~/x", True),
    ],
)
def test_a_title_stands_for_the_command_only_where_it_is_the_command(
    title: str, said: bool
) -> None:
    assert ("$ rm -rf ~" in told({"command": "rm -rf ~"}, title)) is said


def test_a_title_that_is_a_command_of_several_lines_keeps_them() -> None:
    floating, chat = both(None, "for i in 1\ndo  rm $i\ndone")
    assert floating[:3] == ["Permission: for i in 1", "    do  rm $i", "    done"]
    assert "      do  rm $i" in chat


def content(text: str) -> list[Any]:
    return [schema.Content(schema.TextContent(text))]


def test_what_the_content_shows_is_not_told_again() -> None:
    diff = schema.Diff("/w/a.py", "x\nnew\n", old_text="x\nold\n")
    edit = {"file_path": "/w/a.py", "old_string": "old", "new_string": "new"}
    assert told(edit, content=[diff]) == []
    assert told({"input": PATCH}, content=[diff]) == []
    assert told({"command": "ls", "description": "look"}, content=content("look")) == ["$ ls"]
    assert told({"command": "ls"}, content=content("```sh\nls\n```")) == []


def test_what_differs_from_the_content_is_told() -> None:
    diff = schema.Diff("/w/a.py", "x\nnew\n", old_text="x\nold\n")
    edit = {"file_path": "/w/a.py", "old_string": "old", "new_string": "evil"}
    assert told(edit, content=[diff]) == ["a.py +1 -1", "- old", "+ evil"]
    other = {"file_path": "/w/b.py", "old_string": "old", "new_string": "new"}
    assert told(other, content=[diff])[0] == "b.py +1 -1"
    assert "+ evil" in told({"input": PATCH.replace("+new", "+evil")}, content=[diff])
    assert told({"command": "ls; rm x"}, content=content("ls")) == ["$ ls; rm x"]


def test_a_file_is_named_unless_the_title_names_that_very_file() -> None:
    assert told({"path": "/etc/hosts"}, "Read /etc/hosts") == []
    assert told({"path": "/etc/hosts"}, "Read /etc/hosts.bak") == ["/etc/hosts"]
    assert told({"path": "/etc/hosts"}, "Read /w/etc/hosts") == ["/etc/hosts"]


def test_a_path_is_shown_to_its_end() -> None:
    path = "/" + "d/" * 400 + "a\nb"
    assert told({"path": path}) == [path.replace("\n", "^J")]


def test_a_long_option_is_shown_to_its_end() -> None:
    entry, decision = asking(None)
    name = "Yes, and don't ask again for " + "x" * 900 + " rm -rf"
    decision.options = [Option("y", name, "allow_always")]
    assert f"  [1] {name}  Y" in [text for text, _, _ in float_rows(entry, decision, CWD)]


# -- for any command ------------------------------------------------------------------------------

COMMANDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).flatmap(
    lambda text: st.integers(1, 400).map(lambda count: text * count)
)
HARMFUL = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@given(COMMANDS, st.sampled_from(["Tool", "ls"]))
def test_beginning_and_end_of_any_command_are_seen_and_nothing_that_hides(
    command: str, title: str
) -> None:
    for card in both({"command": command}, title):
        assert not any(HARMFUL.search(row) for row in card)
        shown = visible(command).strip("\n").split("\n")
        rows = [row.strip() for row in card]
        text = "\n".join(card)
        for line in (*shown[:60], *shown[-30:]):
            if len(line) <= WIDEST:
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
        assert "[2] Reject  n" in card[-1] or "[2] Reject  n" in "".join(card)


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
    ("raw", "ends"),
    [
        ({"input": "first\n" + "x\n" * 4_000_000 + "last"}, ("first", "last")),
        ({"command": "first" + "y" * 8_000_000 + "last"}, ("first", "last")),
        ({"first": [*range(1_000_000)], "last": 1}, ("first", '"last": 1')),
        ({"edits": [{"old_string": "first", "new_string": "last"}] * 200_000}, ("first", "last")),
        ({str(n): {"k": [n, [n]]} for n in range(100_000)}, ('"0"', '"99999"')),
        ({"a": [[[[[0, 1] * 9] * 30] * 30] * 9]}, ('"a"', "]")),
        ({"input": "*** Begin Patch\n" + "+x\n" * 2_000_000 + "*** End Patch"}, ("Begin", "End")),
    ],
    ids=["text", "line", "list", "edits", "table", "deep", "patch"],
)
def test_a_very_large_input_is_beginning_and_end_and_costs_little(
    raw: Any, ends: tuple[str, str]
) -> None:
    entry, decision = asking(raw)
    begin = time.perf_counter()
    rows = float_rows(entry, decision, CWD)
    assert time.perf_counter() - begin < 1
    text = "\n".join(row for row, _, _ in rows)
    assert all(end in text for end in ends)
    assert len(rows) < 400
    assert len(text) < 100_000
    assert "<CR> shows all" in text or "characters …" in text
    again = time.perf_counter()
    float_rows(entry, decision, CWD)
    assert time.perf_counter() - again < 0.05


@pytest.mark.parametrize("raw", [shape[1] for shape in SHAPES], ids=[s[0] for s in SHAPES])
def test_a_call_that_runs_shows_the_commands_of_its_question(raw: Any) -> None:
    entry = ToolEntry(ToolCall("c", title="Tool", raw_input=raw))
    text = [row for row, _, _ in draw(entry, Look(100, CWD))]
    assert [row.strip() for row in text if row.startswith("  $ ")] == [
        row for row in told(raw) if row.startswith("$ ")
    ]


@pytest.mark.parametrize(
    ("meta", "raw", "shown"),
    [
        ({"acme/run": {"command": "rm -rf x"}}, None, ["$ rm -rf x"]),
        ({"commands": ["a", "b c"]}, {"note": "n"}, ["$ a", "$ b c"]),
        ({"tool": {"argv": ["rm", "a b"]}}, None, ["$ rm 'a b'"]),
        ({"command": "make"}, {"command": "make"}, ["$ make"]),
        ({"command": "make"}, {"command": ["bash", "-lc", "make"]}, ["$ make"]),
    ],
)
def test_a_command_that_stands_only_in_meta_is_shown(
    meta: dict[str, Any], raw: Any, shown: list[str]
) -> None:
    """The rules judge it, so the user sees it before they say yes."""
    rows = told(raw, kind="execute", meta=meta)
    assert [row for row in rows if row.startswith("$ ")] == shown


# -- patches outside of cards ---------------------------------------------------------------------


def drawn(limit: int = 8, **fields: Any) -> list[str]:
    """The rows under the line of a call that does not ask."""
    entry = ToolEntry(ToolCall("c", title="Tool", **fields))
    assert words(entry, Look(limit, CWD)) is None
    return [text.removeprefix("  ") for text, _, _ in draw(entry, Look(limit, CWD))[1:]]


def test_a_call_shows_the_patch_that_it_is_given() -> None:
    assert drawn(raw_input={"input": PATCH}) == DRAWN
    assert drawn(raw_input={"input": PATCH}, content=content("Done.")) == [*DRAWN, "Done."]
    new = {"changes": {"/w/n": {"type": "add", "content": "1\n2\n3\n"}}}
    assert drawn(2, raw_input=new) == ["n +3 -0", "+ 1", "+ 2", "… +1 line"]


def test_a_patch_that_the_content_shows_is_not_shown_again() -> None:
    diff = schema.Diff("/w/a.py", "x\nnew\n", old_text="x\nold\n")
    assert drawn(raw_input={"input": PATCH}, content=[diff]) == DRAWN
    fence = content(f"```diff\n{PATCH}\n```")
    assert drawn(raw_input={"input": PATCH}, content=fence) == DRAWN
    assert told({"input": PATCH}, content=fence) == []


FENCED = "Look:\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+new\n```\nGood?"


def test_a_fenced_diff_of_the_content_is_shown_as_a_diff() -> None:
    assert drawn(content=content(FENCED)) == ["Look:", *DRAWN, "Good?"]
    assert drawn(2, content=content(FENCED)) == ["Look:", DRAWN[0], "… +3 lines"]
    for card in both(None, content=content(FENCED)):
        assert [row.strip() for row in card if row.strip() in DRAWN] == DRAWN


def test_a_fenced_diff_without_a_head_is_of_the_file_that_the_call_is_at() -> None:
    text = content("```diff\n@@ -1 +1 @@\n-old\n+new\n```")
    at = [schema.ToolCallLocation("/w/a.py")]
    assert drawn(content=text, locations=at)[:3] == DRAWN
    assert drawn(content=text)[0] == "```diff"


def test_only_a_diff_that_is_closed_and_stands_for_itself_is_one() -> None:
    for text in (FENCED.replace("\n```\n", "\n"), f"````markdown\n{FENCED}\n````"):
        assert "```diff" in drawn(99, content=content(text))


def test_rows_of_a_patch_lead_to_their_lines() -> None:
    entry = ToolEntry(
        ToolCall("c", title="Tool", content=content(FENCED.replace("-1 +1", "-5 +5")))
    )
    targets = [target for text, _, target in draw(entry, Look(cwd=CWD)) if "+ new" in text]
    assert targets == [{"kind": "file", "path": "/w/a.py", "line": 5}]


@pytest.mark.parametrize("opening", ["```diff\n", "```diff\n@@\n", "~~~~patch\n-a\n"])
def test_many_fences_that_do_not_close_cost_little(opening: str) -> None:
    begin = time.perf_counter()
    drawn(content=content(opening * 12_000))
    assert time.perf_counter() - begin < 1
