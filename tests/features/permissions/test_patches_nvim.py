"""Permissions whose edits are patches: on the card, in diff mode, and amended."""

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


class PatchProject:
    """Editor with files and an agent that asks with patches."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.path = editor.write("a.txt", "one\ntwo\nthree\n")
        editor.write("old.txt", "old\n")
        editor.write("from.txt", "moved\n")
        self.traffic = editor.agent("script")
        editor.open("a.txt")

    def ask(self, how: str, call: dict[str, Any], text: str | None = None) -> None:
        """Let the agent ask; when allowed, it writes this text."""
        texts = {} if text is None else {str(self.path): text}
        project = json.dumps({"call": call, "texts": texts})
        self.editor.prompt(f"propose_patch {how} {project}")
        self.editor.wait("#require('acp').state().sessions[1].permissions > 0")

    def wait_rows(self, *wanted: str) -> list[str]:
        """Wait until the chat has these rows, and return all rows without indent."""
        until(lambda: not {*wanted} - {row.strip() for row in self.editor.chat()})
        return [row.strip() for row in self.editor.chat()]

    def open(self) -> None:
        """Press `d` in the float."""
        self.editor.cmd("Acp permissions")
        self.editor.wait("require('acp.features.permissions.float').is_current()")
        self.editor.keys("d")
        self.editor.wait("#vim.api.nvim_list_tabpages() == 2")

    @property
    def sides(self) -> list[list[str]]:
        found: list[list[str]] = self.editor.lua(DIFF_WINDOWS)
        return found

    def codex(self) -> dict[str, Any]:
        """Return the raw input that Codex sends for an update."""
        return {"changes": {str(self.path): {"type": "update", "unified_diff": UNIFIED}}}


@pytest.fixture
def project(editor: Editor) -> PatchProject:
    return PatchProject(editor)


def test_a_patch_is_a_diff_in_chat_and_float_and_opens_with_d(project: PatchProject) -> None:
    project.ask("fs", {"rawInput": project.codex()}, "one\nTWO\nthree\n")
    editor = project.editor
    rows = project.wait_rows("○ Scripted wants to edit a.txt (+1 -1)", "- two")
    at = rows.index("one")
    assert rows[at : at + 4] == ["one", "- two", "+ TWO", "three"]
    project.open()
    assert project.sides == [["one", "two", "three"], ["one", "TWO", "three"]]
    editor.press("\\A")
    editor.wait_event("AcpTurnEnd")
    assert project.path.read_text() == "one\nTWO\nthree\n"


def test_the_proposal_is_made_from_the_live_text(project: PatchProject) -> None:
    project.editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'mine' })")
    project.ask("fs", {"rawInput": project.codex()})
    project.editor.cmd("Acp review")
    project.editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert project.sides == [["mine", "one", "two", "three"], ["mine", "one", "TWO", "three"]]


def test_all_files_of_an_envelope_are_proposed(project: PatchProject) -> None:
    project.ask("fs", {"rawInput": {"input": ENVELOPE}})
    heads = ("a.txt +1 -1", "new.txt +1 -0 new", "old.txt deleted", "from.txt → sub/to.txt +1 -1")
    project.wait_rows(*heads)
    project.open()
    seen = [project.sides]
    for _ in range(3):
        project.editor.keys("]f")
        seen.append(project.sides)
    assert seen == [
        [["one", "two", "three"], ["one", "TWO", "three"]],
        [[""], ["hello"]],
        [["old"], [""]],
        [["moved"], ["MOVED"]],
    ]
    project.editor.wait_screen("proposed, from")


def test_a_fenced_diff_is_proposed(project: PatchProject) -> None:
    text = {"type": "text", "text": f"This:\n```diff\n--- a/a.txt\n+++ b/a.txt\n{UNIFIED}```"}
    project.ask("fs", {"content": [{"type": "content", "content": text}]})
    project.wait_rows("This:", "- two", "+ TWO")
    project.open()
    assert project.sides == [["one", "two", "three"], ["one", "TWO", "three"]]


def test_a_patch_that_does_not_apply_gives_the_reason_on_the_card_and_in_the_proposal(
    project: PatchProject,
) -> None:
    project.editor.lua("vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'due' })")
    project.ask("fs", {"rawInput": project.codex()})
    why = "hunk 1 of 1 does not apply: line 2 is 'due', but the patch has 'two'"
    project.wait_rows(f"a.txt: {why}", "+ TWO")
    project.editor.cmd("Acp permissions")
    project.editor.wait_screen("line 2 is 'due'")
    project.editor.wait("require('acp.features.permissions.float').is_current()")
    project.editor.keys("d")
    project.editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert project.sides == [["one", "two", "three"], ["one", "TWO", "three"]]
    project.editor.wait_screen("the patch has 'two'")
    assert why in project.editor.messages()


def test_an_amended_patch_is_written_if_the_agent_writes_through_the_editor(
    project: PatchProject,
) -> None:
    project.ask("fs", {"rawInput": project.codex()}, "one\nTWO\nthree\n")
    project.open()
    project.editor.press("2GA!<Esc>\\A")
    project.editor.wait_event("AcpTurnEnd")
    assert project.path.read_text() == "one\nTWO!\nthree\n"


def test_an_amended_patch_is_merged_if_the_agent_writes_on_disk(project: PatchProject) -> None:
    project.ask("disk", {"rawInput": project.codex()}, "one\nTWO\nthree\n")
    project.open()
    project.editor.press("2GA!<Esc>\\A")
    project.editor.wait_event("AcpTurnEnd")
    project.editor.turn("say ok")
    prompt = project.traffic.received("session/prompt")[-1]["params"]["prompt"]
    text = "\n".join(block.get("text", "") for block in prompt)
    assert project.path.read_text() == "one\nTWO!\nthree\n"
    assert "The file has my version" in text
    assert "-TWO\n+TWO!\n" in text
