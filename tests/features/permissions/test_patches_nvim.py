"""Permissions whose edits are given as patches: on the card, in diff mode, amended; in Neovim."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.waiting import until
from tests.support.windows import DIFF_WINDOWS

UNIFIED = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
ENVELOPE = """*** Begin Patch
*** Update File: a.txt
@@
-two
+TWO
*** Add File: new.txt
+hello
*** Delete File: old.txt
*** Update File: from.txt
*** Move to: sub/to.txt
@@
-moved
+MOVED
*** End Patch
"""


class Asked:
    """An editor with files and an agent that asks by patches."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.path = editor.write("a.txt", "one\ntwo\nthree\n")
        editor.write("old.txt", "old\n")
        editor.write("from.txt", "moved\n")
        self.traffic = editor.agent("script")
        editor.open("a.txt")

    def ask(self, how: str, call: dict[str, Any], text: str | None = None) -> None:
        """The agent asks; when allowed it writes that text."""
        texts = {} if text is None else {str(self.path): text}
        asked = json.dumps({"call": call, "texts": texts})
        self.editor.prompt(f"propose_patch {how} {asked}")
        self.editor.wait("#require('acp').state().sessions[1].permissions > 0")

    def rows(self, *wanted: str) -> list[str]:
        """The chat's rows without their indent, once these are among them."""
        until(lambda: not {*wanted} - {row.strip() for row in self.editor.chat()})
        return [row.strip() for row in self.editor.chat()]

    def open(self) -> None:
        """The user presses `d` in the float."""
        self.editor.cmd("Acp permissions")
        self.editor.wait("require('acp.features.permissions.float').is_current()")
        self.editor.keys("d")
        self.editor.wait("#vim.api.nvim_list_tabpages() == 2")

    @property
    def sides(self) -> list[list[str]]:
        found: list[list[str]] = self.editor.lua(DIFF_WINDOWS)
        return found

    def codex(self) -> dict[str, Any]:
        """What Codex sends of an update."""
        return {"changes": {str(self.path): {"type": "update", "unified_diff": UNIFIED}}}


@pytest.fixture
def asked(editor: Editor) -> Asked:
    return Asked(editor)


def test_a_patch_is_a_diff_in_chat_and_float_and_opens_by_d(asked: Asked) -> None:
    asked.ask("fs", {"rawInput": asked.codex()}, "one\nTWO\nthree\n")
    editor = asked.editor
    rows = asked.rows("○ Scripted wants to edit a.txt (+1 -1)", "- two")
    at = rows.index("one")
    assert rows[at : at + 4] == ["one", "- two", "+ TWO", "three"]
    asked.open()
    assert asked.sides == [["one", "two", "three"], ["one", "TWO", "three"]]
    editor.press("\\A")
    editor.wait_event("AcpTurnEnd")
    assert asked.path.read_text() == "one\nTWO\nthree\n"


def test_the_proposal_is_of_the_live_text(asked: Asked) -> None:
    asked.editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'mine' })")
    asked.ask("fs", {"rawInput": asked.codex()})
    asked.editor.cmd("Acp review")
    asked.editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert asked.sides == [["mine", "one", "two", "three"], ["mine", "one", "TWO", "three"]]


def test_all_files_of_an_envelope_are_proposed(asked: Asked) -> None:
    asked.ask("fs", {"rawInput": {"input": ENVELOPE}})
    heads = ("a.txt +1 -1", "new.txt +1 -0 new", "old.txt deleted", "from.txt → sub/to.txt +1 -1")
    asked.rows(*heads)
    asked.open()
    seen = [asked.sides]
    for _ in range(3):
        asked.editor.keys("]f")
        seen.append(asked.sides)
    assert seen == [
        [["one", "two", "three"], ["one", "TWO", "three"]],
        [[""], ["hello"]],
        [["old"], [""]],
        [["moved"], ["MOVED"]],
    ]
    asked.editor.wait_screen("proposed, from")


def test_a_fenced_diff_is_proposed(asked: Asked) -> None:
    text = {"type": "text", "text": f"This:\n```diff\n--- a/a.txt\n+++ b/a.txt\n{UNIFIED}```"}
    asked.ask("fs", {"content": [{"type": "content", "content": text}]})
    asked.rows("This:", "- two", "+ TWO")
    asked.open()
    assert asked.sides == [["one", "two", "three"], ["one", "TWO", "three"]]


def test_a_patch_that_does_not_apply_says_why_on_the_card_and_in_the_proposal(asked: Asked) -> None:
    asked.editor.lua("vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'due' })")
    asked.ask("fs", {"rawInput": asked.codex()})
    why = "hunk 1 of 1 does not apply: line 2 is 'due', the patch has 'two'"
    asked.rows(f"a.txt: {why}", "+ TWO")
    asked.editor.cmd("Acp permissions")
    asked.editor.wait_screen("line 2 is 'due'")
    asked.editor.wait("require('acp.features.permissions.float').is_current()")
    asked.editor.keys("d")
    asked.editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert asked.sides == [["one", "two", "three"], ["one", "TWO", "three"]]
    asked.editor.wait_screen("the patch has 'two'")
    assert why in asked.editor.messages()


def test_an_amended_patch_is_written_where_the_agent_writes_through_the_editor(
    asked: Asked,
) -> None:
    asked.ask("fs", {"rawInput": asked.codex()}, "one\nTWO\nthree\n")
    asked.open()
    asked.editor.press("2GA!<Esc>\\A")
    asked.editor.wait_event("AcpTurnEnd")
    assert asked.path.read_text() == "one\nTWO!\nthree\n"


def test_an_amended_patch_that_the_agent_applies_itself_is_merged_with_it(asked: Asked) -> None:
    asked.ask("disk", {"rawInput": asked.codex()}, "one\nTWO\nthree\n")
    asked.open()
    asked.editor.press("2GA!<Esc>\\A")
    asked.editor.wait_event("AcpTurnEnd")
    asked.editor.turn("say ok")
    prompt = asked.traffic.received("session/prompt")[-1]["params"]["prompt"]
    told = "\n".join(block.get("text", "") for block in prompt)
    assert asked.path.read_text() == "one\nTWO!\nthree\n"
    assert "The file has my version" in told
    assert "-TWO\n+TWO!\n" in told
