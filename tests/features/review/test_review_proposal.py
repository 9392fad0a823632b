"""Proposals of permissions: shown and amended before the answer; comments; the count."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import last, sent
from tests.support.review_frames import (
    BUFFERS,
    LINES,
    SIDES,
    TABS,
    apply,
    changed,
    edits,
    entry,
    opened,
)

CARD = {
    "id": "p1",
    "lines": ["Edit a.txt"],
    "spans": [],
    "options": [
        {"id": "yes", "name": "Yes", "kind": "allow_once"},
        {"id": "no", "name": "No", "kind": "reject_once"},
    ],
}


def open_proposal(front: Editor) -> None:
    """Show a permission with two diffs, and open it by its key."""
    front.cmd("edit mine.txt")
    apply(front, ["cards", 1, [CARD]])
    front.cmd("Acp permissions")
    front.keys("d")
    assert last(front) == ["review", {"permission": "p1"}]
    files = [
        {"path": "/p/a.txt", "base": ["one", "two"], "proposal": ["one", "TWO"]},
        {"path": "/p/new.txt", "base": None, "proposal": ["new"], "proposal_eol": False},
    ]
    apply(front, ["propose", "p1", files, CARD["options"]])


def test_a_permission_is_shown_before_it_is_answered(front: Editor) -> None:
    open_proposal(front)
    assert [side[0] for side in front.lua(SIDES)][:3] == [
        "acp://present/p1.1/Current a.txt",
        "acp://proposal/p1.1/Proposed a.txt",
        "acp://review",
    ]
    front.press("\\A")
    assert last(front) == ["choose", {"id": "p1", "option": "yes"}]
    assert front.lua(TABS) == 1
    assert not any("proposal" in name for name in front.lua(BUFFERS))


def test_its_windows_and_its_tab_have_readable_titles(front: Editor) -> None:
    open_proposal(front)
    front.wait_screen("a//p/p/Proposed a.txt")
    front.wait_screen("a.txt · Proposed (editable) ")
    rows = front.screen()
    assert any(" Current " in row and "Proposed (editable)" in row for row in rows)
    front.keys("]f<C-w>h")
    front.wait_screen("a//p/p/Current new.txt")
    front.cmd("Acp comment why?")
    assert last(front)[1]["path"] == "/p/new.txt"


def test_its_keys_are_described_as_answers_to_the_permission(front: Editor) -> None:
    open_proposal(front)
    front.wait_screen("\\A allow · \\R deny · g? keys")
    front.keys("g?")
    lines = "\n".join(front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "allow, with the text on the right" in lines
    assert "deny" in lines
    assert "accept the file" not in lines
    front.keys("q")
    front.keys("\\q")
    opened(front)
    front.keys("g?")
    front.wait_screen("accept the file")


def test_the_users_amendment_is_sent(front: Editor) -> None:
    open_proposal(front)
    front.keys("ggOmine<Esc>]fAer<Esc>:w<CR>")
    front.press("\\A")
    amended = {"/p/a.txt": "mine\none\nTWO\n", "/p/new.txt": "newer"}
    assert last(front) == ["choose", {"id": "p1", "option": "yes", "amended": amended}]


def test_an_answer_in_the_float_sends_the_amendment_too(front: Editor) -> None:
    open_proposal(front)
    front.keys("ggOmine<Esc>")
    front.cmd("Acp permissions")
    front.press("y")
    assert last(front)[1]["amended"] == {"/p/a.txt": "mine\none\nTWO\n"}


def test_a_permission_that_is_answered_elsewhere_closes_its_review(front: Editor) -> None:
    open_proposal(front)
    front.lua(
        "vim.api.nvim_exec_autocmds('User', {pattern = 'AcpPermissionDone', data = {id = 'p1'}})"
    )
    assert front.lua(TABS) == 1
    assert [verb for verb, _ in sent(front)] == ["review"]


def test_a_denied_proposal_sends_no_text(front: Editor) -> None:
    open_proposal(front)
    front.press("ggdd\\R")
    assert last(front) == ["choose", {"id": "p1", "option": "no"}]


def test_a_comment_stays_at_its_line_until_it_is_sent(front: Editor) -> None:
    path = opened(front)
    front.keys("]c<C-w>h")
    front.cmd("Acp comment why twice?")
    verb, args = last(front)
    assert (verb, args["text"], args["line"]) == ("comment", "why twice?", 11)
    assert args["path"] == str(path.resolve())
    front.wait_screen("new 1 » why twice?")
    front.lua("require('acp.frame').apply({ { 'remarked', 1, { ... } } })", args["id"])
    assert not any("why twice?" in row for row in front.screen())


def test_the_statusline_counts_pending_hunks(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    edits(front, entry(path, LINES), entry(front.work / "x", [], kind="deleted", hunks=0))
    assert front.lua("return require('acp').statusline()") == "idle · 4 to review · A"


@pytest.mark.parametrize(
    ("flag", "proposal", "warning"),
    [
        ("iwhiteall", ["o ne", "two"], True),
        ("iwhite", ["one", "two  "], True),
        ("iblank", ["one", "", "two"], True),
        ("icase", ["ONE", "two"], True),
        ("iwhiteall", ["one", "three"], False),
        ("filler", ["o ne", "two"], False),
    ],
)
def test_changes_that_diffopt_hides_are_announced(
    front: Editor, flag: str, proposal: list[str], warning: bool
) -> None:
    front.cmd(f"set diffopt+={flag}")
    front.cmd("edit mine.txt")
    apply(front, ["cards", 1, [CARD]])
    front.cmd("Acp permissions")
    front.keys("d")
    files = [{"path": "/p/a.txt", "base": ["one", "two"], "proposal": proposal}]
    apply(front, ["propose", "p1", files, CARD["options"]])
    assert any("changes hidden by 'diffopt'" in row for row in front.screen()) == warning
