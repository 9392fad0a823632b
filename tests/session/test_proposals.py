"""The text that a permission would write, by its diffs and with the user's changes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from acp_nvim.edits import unified
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.merge import Merged, merge
from acp_nvim.edits.text import EMPTY, Text, from_lines, parse
from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import tool_input
from acp_nvim.session.questions.patches import patches_of
from acp_nvim.session.questions.proposals import (
    Change,
    PlacedPatch,
    Proposal,
    amended_text,
    changes_of,
    merge_amendment,
    propose,
    propose_patches,
)

texts = st.builds(
    from_lines, st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=9), st.booleans()
)


def change(old: str, new: str, line: int | None = None, everywhere: bool = False) -> Change:
    return Change("/f", old, new, line, everywhere)


def made(live: str | None, *changes: Change, known: str = "") -> Proposal:
    """Return the proposal for a file with that content."""
    others = [parse(known)] if known else []
    return propose("/f", None if live is None else parse(live), changes, others)


def content(live: str | None, *changes: Change, known: str = "") -> str:
    proposal = made(live, *changes, known=known)
    assert proposal.is_whole
    return str(proposal.text)


# ---- texts by diffs


@pytest.mark.parametrize(
    ("live", "old", "new", "wanted"),
    [
        ("a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n"),
        ("a\nb\n", "", "all\n", "all\n"),
        (None, "", "new\n", "new\n"),
        (None, "", "", ""),
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
        ("one two\n", "two", "2", "one 2\n"),
        ("a\nb\n", "a\nb", "x", "x\n"),
        ("a\nb", "b\n", "B\n", "a\nB"),
        ("a\nb\n", "b\n", "", "a\n"),
        ("a\n", "a\n", "", ""),
        ("a\nb\n", "a\r\nb\r\n", "a\r\nB\r\n", "a\nB\n"),
        ("a\nb\n", "b\r\n", "B\r\nC\r\n", "a\nB\nC\n"),
        ("a\r\nb\n", "a\r\n", "A\r\n", "A\r\nb\n"),
    ],
)
def test_a_diff_gives_the_proposed_text(live: str | None, old: str, new: str, wanted: str) -> None:
    assert content(live, change(old, new)) == wanted


def test_diffs_of_one_file_are_applied_in_order() -> None:
    assert content("a\nb\nc\n", change("a", "x\nb"), change("b\nb", "B")) == "x\nB\nc\n"
    assert content(None, change("", "a\nb\n"), change("b", "B")) == "a\nB\n"


def test_two_diffs_of_the_whole_file_are_merged() -> None:
    live = "a\nb\nc\nd\n"
    both = content(live, change(live, "A\nb\nc\nd\n"), change(live, "a\nb\nc\nD\n"))
    assert both == "A\nb\nc\nD\n"


def test_text_typed_since_the_read_stays() -> None:
    read = "a\nb\nc\nd\n"
    assert content("a\nb\nc\nd!\n", change(read, "A\nb\nc\nd\n"), known=read) == "A\nb\nc\nd!\n"


def test_overlapping_edits_are_shown_in_the_agents_form() -> None:
    read = "a\nb\n"
    proposal = made("a!\nb\n", change(read, "A\nb\n"), known=read)
    assert (proposal.is_whole, str(proposal.base), str(proposal.text)) == (False, read, "A\nb\n")


@pytest.mark.parametrize("live", ["nothing of it\n", None, ""])
def test_a_piece_that_the_file_lacks_is_shown_alone(live: str | None) -> None:
    proposal = made(live, change("nothing", "some"), change("lost", "found"))
    if live and "nothing" in live:
        assert (str(proposal.base), str(proposal.text)) == ("nothing\nlost\n", "some\nfound\n")
    assert not proposal.is_whole
    assert proposal.text == parse("some\nfound\n")


def test_an_ambiguous_piece_is_placed_by_its_line() -> None:
    live = "x\n1\nx\n2\nx\n"
    assert content(live, change("x", "y")) == "y\n1\nx\n2\nx\n"
    assert content(live, change("x", "y", line=3)) == "x\n1\ny\n2\nx\n"
    assert content(live, change("x", "y", line=99)) == "x\n1\nx\n2\ny\n"
    assert content(live, change("x", "y", everywhere=True)) == "y\n1\ny\n2\ny\n"


def test_the_diffs_of_a_call_are_changes() -> None:
    diff, at = schema.Diff("/f", "new"), schema.ToolCallLocation("/f", 7)
    call = ToolCall("c", content=[diff], locations=[at], raw_input={"replace_all": True})
    assert changes_of(call) == [Change("/f", "", "new", 7, True)]
    assert changes_of(ToolCall("d")) == []


# ---- texts by patches

ENVELOPE = """*** Begin Patch
*** Update File: a
@@
-x
+y
*** Add File: new
+1
*** Delete File: old
*** Update File: from
*** Move to: to
@@
-m
+M
*** End Patch
"""
UNIFIED = "@@ -1 +1 @@\n-x\n+y\n"


def patched(call: ToolCall, live: dict[str, str]) -> dict[str, Proposal]:
    """Return the proposals of a call in a project with these files."""
    placed = [PlacedPatch(one, one.path, one.origin) for one in patches_of(call)]
    paths = {path for one in placed for path in (one.path, one.origin) if path}
    there = {path: parse(live[path]) if path in live else None for path in paths}
    return {it.path: it for it in propose_patches(placed, there)}


def test_a_patch_gives_the_texts_of_all_its_files() -> None:
    live = {"a": "w\nx\n", "old": "gone\n", "from": "m\n"}
    found = patched(ToolCall("c", raw_input={"input": ENVELOPE}), live)
    assert list(found) == ["a", "new", "old", "to"]
    assert (found["a"].base, str(found["a"].text)) == (parse("w\nx\n"), "w\ny\n")
    assert (found["new"].base, str(found["new"].text)) == (None, "1\n")
    assert (found["old"].is_deletion, found["old"].base) == (True, parse("gone\n"))
    assert (found["to"].origin, found["to"].base) == ("from", parse("m\n"))
    assert str(found["to"].text) == "M\n"
    assert all(it.is_whole and not it.problem for it in found.values())


def test_changes_in_the_form_of_codex_are_patches() -> None:
    changes = {
        "/a": {"type": "update", "unified_diff": UNIFIED, "move_path": None},
        "/from": {"type": "update", "unified_diff": UNIFIED, "move_path": "/to"},
        "/new": {"type": "add", "content": "1\n2"},
        "/old": {"type": "delete", "content": "gone\n"},
    }
    live = {"/a": "x\n", "/from": "x\n", "/old": "gone\n"}
    found = patched(ToolCall("c", raw_input={"changes": changes}), live)
    assert {path: str(it.text) for path, it in found.items()} == {
        "/a": "y\n",
        "/to": "y\n",
        "/new": "1\n2",
        "/old": "",
    }
    assert found["/to"].origin == "/from"
    assert found["/old"].is_deletion


def test_more_changes_than_a_card_shows_are_all_proposed() -> None:
    changes = {f"/{n}": {"type": "update", "unified_diff": UNIFIED} for n in range(99)}
    assert len(patches_of(ToolCall("c", raw_input={"changes": changes}))) == 99


def test_a_fenced_diff_of_the_content_is_a_patch() -> None:
    text = schema.Content(schema.TextContent(f"Like this:\n```diff\n{UNIFIED}```"))
    call = ToolCall("c", content=[text], locations=[schema.ToolCallLocation("/a")])
    assert str(patched(call, {"/a": "x\n"})["/a"].text) == "y\n"


def test_a_repeated_patch_is_applied_once() -> None:
    patch = f"--- a/a\n+++ b/a\n{UNIFIED}"
    text = schema.Content(schema.TextContent(f"```diff\n{patch}```"))
    call = ToolCall("c", raw_input={"patch": patch}, content=[text])
    assert str(patched(call, {"a": "x\nx\n"})["a"].text) == "y\nx\n"


@pytest.mark.parametrize("key", ["fileName", "path"])
def test_a_patch_may_name_an_absolute_path_without_its_slash(key: str) -> None:
    """Copilot puts Git's prefixes in place of the slash."""
    text = "diff --git a/w/x b/w/x\n--- a/w/x\n+++ b/w/x\n@@ -1 +1 @@\n-a\n+b\n"
    call = ToolCall("c", raw_input={key: "/w/x", "diff": text})
    assert [one.path for one in patches_of(call)] == ["/w/x"]
    assert list(tool_input.parts(call.raw_input)) == [tool_input.Patch(text, path="/w/x")]
    other = ToolCall("c", raw_input={key: "/w/y", "diff": text})
    assert [one.path for one in patches_of(other)] == ["w/x"]
    assert tool_input.Place("/w/y") in tool_input.parts(other.raw_input)


def test_patches_of_one_file_are_applied_in_order() -> None:
    text = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Update File: a\n@@\n-y\n+z\n"
    found = patched(ToolCall("c", raw_input=text), {"a": "x\n"})
    assert [str(it.text) for it in found.values()] == ["z\n"]


def test_a_patch_that_does_not_apply_is_shown_alone_with_the_reason() -> None:
    live = {"a": "w\n", "old": "gone\n"}
    found = patched(ToolCall("c", raw_input={"input": ENVELOPE}), live)
    assert (found["a"].is_whole, str(found["a"].base), str(found["a"].text)) == (
        False,
        "x\n",
        "y\n",
    )
    assert found["a"].problem.startswith(
        "hunk 1 of 1 does not apply: its lines are not in the file"
    )
    assert found["to"].problem == "there is no such file"
    assert found["new"].is_whole
    assert found["old"].is_deletion


def test_line_ends_of_a_patch_are_those_of_the_file() -> None:
    crlf = "--- a/a\r\n+++ b/a\r\n@@ -1 +1 @@\r\n-x\r\n+y\r\n"
    found = patched(ToolCall("c", raw_input={"patch": crlf}), {"a": "x\n"})
    assert [str(it.text) for it in found.values()] == ["y\n"]


@given(texts, texts)
def test_a_patch_gives_the_text_from_which_it_was_made(live: Text, new: Text) -> None:
    assume(live != new)
    found = patched(
        ToolCall("c", raw_input={"p": unified.format_patch("f", live, new)}), {"f": str(live)}
    )
    assert (found["f"].base, found["f"].text) == (live, new)


# ---- texts by diffs


@given(texts, texts)
def test_a_diff_of_the_whole_file_gives_its_new_text(live: Text, new: Text) -> None:
    assume(str(live))
    proposal = propose("/f", live, [change(str(live), str(new))])
    assert (proposal.base, proposal.text, proposal.is_whole) == (live, new, True)


@given(texts, texts, st.data())
def test_pieces_give_the_text_from_which_they_were_made(
    live: Text, new: Text, data: st.DataObject
) -> None:
    """Hunks with lines around them, like the diffs of agents that send pieces."""
    rows = [f"{row} {line}" for row, line in enumerate(live.lines)]
    live = Text(tuple(rows))
    new = Text(tuple(rows[: data.draw(st.integers(0, len(rows)))]) + new.lines)
    hunks = diff(live.lines, new.lines)
    if not all(hunk.end > hunk.start for hunk in hunks):
        return
    pieces = [
        change(
            "\n".join(live.lines[hunk.start : hunk.end]) + "\n",
            "".join(f"{line}\n" for line in hunk.lines),
        )
        for hunk in hunks
    ]
    proposal = propose("/f", live, pieces)
    assert proposal.is_whole
    assert str(proposal.text) == ("".join(f"{line}\n" for line in new.lines))


# ---- the user's changes


def test_the_amended_text_is_written() -> None:
    assert merge_amendment(parse("a\nb\n"), parse("a\nmine\n"), parse("a\nb\n")) == parse(
        "a\nmine\n"
    )


def test_the_users_lines_win_in_a_conflict() -> None:
    proposal, amendment = parse("a\nb\nc\nd\ne\n"), parse("a\nmine\nc\nd\ne\n")
    other = parse("a\ntheirs\nc\nd\nE\n")
    assert merge_amendment(proposal, amendment, other) == parse("a\nmine\nc\nd\nE\n")


def test_an_emptied_buffer_is_an_empty_file() -> None:
    assert amended_text(parse("a\n"), "\n") == EMPTY
    assert amended_text(parse("\n"), "\n") == parse("\n")
    assert amended_text(parse("a\n"), "a\n\n") == parse("a\n\n")
    assert merge_amendment(parse("a\n"), EMPTY, parse("a\n")) == EMPTY


@given(texts, texts, texts)
def test_an_overlay_keeps_the_users_changes(proposal: Text, amendment: Text, other: Text) -> None:
    assert merge_amendment(proposal, amendment, proposal) == amendment
    assert merge_amendment(proposal, proposal, other) == other
    merged = merge(proposal, amendment, other)
    result = merge_amendment(proposal, amendment, other)
    if isinstance(merged, Merged):
        assert result == merged.text
    for hunk in diff(proposal.lines, amendment.lines):
        found = [result.lines[row : row + len(hunk.lines)] for row in range(len(result.lines) + 1)]
        assert hunk.lines in found


@given(texts, texts)
def test_a_unified_diff_can_be_read_again(before: Text, after: Text) -> None:
    patch = unified.format_patch("f.txt", before, after)
    if before == after:
        assert patch == ""
        return
    [file] = PatchSet(patch)
    assert file.path == "f.txt"
    rows = [
        (
            hunk.source_start,
            hunk.source_length,
            [line.value.rstrip("\n") for line in hunk.target_lines()],
        )
        for hunk in file
    ]
    lines = list(before.lines) if before != EMPTY else []
    for start, count, target in reversed(rows):
        first = start - 1 if count else start
        lines[first : first + count] = target
    assert lines == (list(after.lines) if after != EMPTY else [])


def test_a_missing_last_newline_shows_in_a_diff() -> None:
    patch = unified.format_patch("f", parse("a\nb"), parse("a\nb\n"))
    assert patch.endswith("-b\n\\ No newline at end of file\n+b\n")
