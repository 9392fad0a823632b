"""Permissions whose proposed edits are opened and amended before the answer, in a real Neovim."""

from __future__ import annotations

import pytest

from tests.agents.loop import EARLIER_SESSION
from tests.support.editor import Editor
from tests.support.traffic import Traffic
from tests.support.waiting import until
from tests.support.windows import DIFF_WINDOWS

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"


class Project:
    """Editor with `a.txt` open and an agent that asks before it edits."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.path = editor.write("a.txt", TEXT)
        self.traffic: Traffic = editor.agent("script")
        editor.open("a.txt")

    def ask(self, how: str, *diffs: str, path: str = "") -> None:
        """Let the agent ask, and open its proposal."""
        words = " ".join(f"'{word}'" for word in diffs)
        self.editor.prompt(f"propose {how} {path or self.path} {words}")
        self.editor.wait("#require('acp').state().sessions[1].permissions > 0")
        self.open()

    def open(self) -> None:
        tabs = self.editor.lua("return #vim.api.nvim_list_tabpages()")
        self.editor.cmd("Acp permissions")
        self.editor.wait("require('acp.features.permissions.float').is_current()")
        self.editor.keys("d")
        self.editor.wait(f"#vim.api.nvim_list_tabpages() == {tabs + 1}")

    @property
    def sides(self) -> list[list[str]]:
        found: list[list[str]] = self.editor.lua(DIFF_WINDOWS)
        return found

    def wait_ended(self, turns: int = 1) -> None:
        self.editor.wait_event("AcpTurnEnd", turns)
        self.editor.wait("#vim.api.nvim_list_tabpages() == 1")

    def next_prompt(self, text: str = "say ok") -> str:
        """Send a prompt and return its text."""
        self.editor.turn(text)
        prompts = self.traffic.received("session/prompt")
        blocks = prompts[-1]["params"]["prompt"]
        texts = [block.get("text", "") for block in blocks]
        return "\n".join(text for text in texts if EARLIER_SESSION not in text)

    def edits(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.editor.session(1).get("edits", [])
        return found

    def disk(self) -> str:
        return self.path.read_text()


@pytest.fixture
def project(editor: Editor) -> Project:
    return Project(editor)


def test_a_review_with_nothing_pending_shows_the_proposal(project: Project) -> None:
    project.editor.prompt(f"propose fs {project.path} 'line 3' three")
    project.editor.wait("#require('acp').state().sessions[1].permissions > 0")
    project.editor.cmd("Acp review")
    project.editor.wait("#vim.api.nvim_list_tabpages() == 2")
    assert project.sides == [LINES, [*LINES[:2], "three", *LINES[3:]]]
    project.editor.wait_screen("a.txt · Proposed (editable)")
    project.editor.answer("Acp allow")
    project.wait_ended()
    assert project.disk() == TEXT.replace("line 3", "three")


def test_the_proposed_text_of_a_permission_is_shown(project: Project) -> None:
    project.ask("fs", "line 3", "three", "line 9\\nline 10", "nine")
    wanted = [*LINES[:2], "three", *LINES[3:8], "nine", *LINES[10:]]
    assert project.sides == [LINES, wanted]
    assert project.disk() == TEXT
    project.editor.press("\\A")
    project.wait_ended()
    assert project.disk() == "\n".join(wanted) + "\n"
    assert project.next_prompt() == "say ok"


def test_the_amended_text_is_written_and_the_next_prompt_has_the_difference(
    project: Project,
) -> None:
    project.ask("fs", "line 3", "three")
    project.editor.keys("3GA!<Esc>GomineX<Esc>x")
    project.editor.press("\\A")
    project.wait_ended()
    assert project.disk() == "\n".join([*LINES[:2], "three!", *LINES[3:], "mine"]) + "\n"
    assert project.traffic.answers("fs/write_text_file")[-1]["result"] is not None
    assert [edit["hunks"] for edit in project.edits()] == [1], "the user's own line is not pending"
    prompt = project.next_prompt()
    assert prompt.startswith("say ok\n\nI changed your edit of a.txt before I allowed it.")
    assert "-three\n+three!\n" in prompt
    assert "+mine\n" in prompt
    assert "Remarks" not in prompt
    assert project.next_prompt().endswith("say ok"), "it is told once"


def test_a_reject_restores_the_text_without_the_users_own_line(project: Project) -> None:
    project.ask("fs", "line 3", "three")
    project.editor.keys("3GA!<Esc>Gomine<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    project.editor.cmd("Acp reject all")
    until(lambda: project.disk() == TEXT + "mine\n")


def test_a_command_and_a_key_in_the_float_send_the_amendment(project: Project) -> None:
    project.ask("fs", "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.answer("Acp allow always")
    project.wait_ended()
    assert "three!\n" in project.disk()
    project.ask("fs", "line 4", "four")
    project.editor.keys("4GA!<Esc>")
    project.editor.cmd("Acp permissions")
    project.editor.press("y")
    project.wait_ended(2)
    assert "four!\n" in project.disk()


def test_allow_answers_the_permission_that_is_open(project: Project) -> None:
    """Of two pending permissions the later one is open."""
    editor, other = project.editor, project.editor.write("b.txt", TEXT)
    editor.prompt(f"propose_two {project.path} {other} 'line 1' one")
    editor.wait("#require('acp').state().sessions[1].permissions == 2")
    editor.lua(
        "local s = require('acp').state().sessions[1] "
        "require('acp.features.review.proposal').ask(s.permissions[2].id)"
    )
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    editor.keys("ggA!<Esc>")
    editor.answer("Acp allow")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.wait("#vim.api.nvim_list_tabpages() == 1")
    editor.answer("Acp deny")
    project.wait_ended()
    assert other.read_text().startswith("one!\n")
    assert project.disk() == TEXT
    assert "a/b.txt" in project.next_prompt()


def test_a_new_file_is_amended(project: Project) -> None:
    path = project.editor.work / "new.txt"
    project.ask("fs", "-", "one\\ntwo\\n", path=str(path))
    assert project.sides == [[""], ["one", "two"]]
    project.editor.keys("ggdd")
    project.editor.press("\\A")
    project.wait_ended()
    assert path.read_text() == "two\n"
    project.editor.cmd("Acp reject all")
    until(lambda: not path.exists())


def test_a_write_that_differs_from_the_proposal_keeps_the_changes_of_both(project: Project) -> None:
    project.ask("more", "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    assert project.disk() == "\n".join([*LINES[:2], "three!", *LINES[3:], "more"]) + "\n"
    prompt = project.next_prompt()
    assert "-three\n+three!\n" in prompt
    assert "more" not in prompt


def test_the_agents_next_write_keeps_the_users_amendment(project: Project) -> None:
    """The agent assumes its own text and does not read again."""
    project.ask("twice", "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    assert project.disk() == "\n".join(["again", *LINES[:2], "three!", *LINES[3:]]) + "\n"


@pytest.mark.parametrize("how", ["disk", "both"])
def test_a_write_on_disk_by_the_agent_is_merged_with_the_amendment(
    project: Project, how: str
) -> None:
    project.ask(how, "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.keys("9GA, mine<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    wanted = [*LINES[:2], "three!", *LINES[3:8], "line 9, mine", *LINES[9:]]
    until(lambda: project.disk() == "\n".join(wanted) + "\n")
    assert project.editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == wanted
    until(lambda: any("Saved with your changes" in line for line in project.editor.chat()))
    prompt = project.next_prompt()
    assert "The file has my version" in prompt
    assert "-three\n+three!\n" in prompt
    [edit] = project.edits()
    assert (edit["hunks"], edit["kind"]) == (1, "modified")
    project.editor.cmd("Acp reject all")
    mine = [*LINES[:8], "line 9, mine", *LINES[9:]]
    until(lambda: project.disk() == "\n".join(mine) + "\n")


def test_a_later_edit_of_the_agent_and_the_users_change_both_remain(project: Project) -> None:
    project.ask("disk_more", "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    wanted = [*LINES[:2], "three!", *LINES[3:], "more"]
    until(lambda: project.disk() == "\n".join(wanted) + "\n")


def test_an_amendment_of_an_edit_that_is_not_made_is_sent_as_a_comment(
    project: Project,
) -> None:
    project.ask("none", "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    assert "three!" not in project.disk()
    prompt = project.next_prompt()
    assert "my changes could not be written to the file. Please make them" in prompt
    assert "-three\n+three!\n" in prompt
    assert any("Written without your changes" in line for line in project.editor.chat())


def test_a_fragment_that_is_not_in_the_file_is_shown_alone(project: Project) -> None:
    project.ask("none", "elsewhere", "here")
    assert project.sides == [["elsewhere"], ["here"]]
    project.editor.wait_message("Only the new text is shown")
    project.editor.keys("A!<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    assert "-here\n+here!\n" in project.next_prompt()


def test_the_proposal_is_made_from_the_live_text(project: Project) -> None:
    project.editor.keys("GAtyped<Esc>")
    project.ask("fs", "line 3", "three")
    live = [*LINES[:-1], "line 12typed"]
    assert project.sides == [live, [*live[:2], "three", *live[3:]]]
    project.editor.keys("3GA!<Esc>")
    project.editor.press("\\A")
    project.wait_ended()
    assert project.editor.lines(str(project.path)) == [*live[:2], "three!", *live[3:]]
    assert project.disk() == TEXT, "unsaved edits of the user's are not saved along"


def test_a_denied_proposal_leaves_nothing(project: Project) -> None:
    project.ask("fs", "line 3", "three")
    project.editor.keys("3GA!<Esc>")
    project.editor.press("\\R")
    project.wait_ended()
    assert project.disk() == TEXT
    assert project.next_prompt() == "say ok"


def test_a_permission_without_edits_is_reported(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.cmd("Acp permissions")
    editor.wait("require('acp.features.permissions.float').is_current()")
    editor.keys("d")
    editor.wait_message("This permission has no edits to show")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
