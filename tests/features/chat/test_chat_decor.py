"""Highlights, targets and folds of chat rows in Neovim, compared with the host's model of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.chat_histories import HISTORIES, Act, Chat
from tests.support.editor import Editor
from tests.support.front_without_host import HOST, Start, session
from tests.support.lua import lua_chunk

APPLY = "return require('acp.frame').apply(...).errors"
DRAWN = lua_chunk(__file__, "drawn_chat")


class RecordedChat(Chat):
    """Chat that records its frames."""

    def __init__(self, thoughts: str) -> None:
        super().__init__(thoughts)
        self.frames: list[Any] = []

    def draw(self, budget: int) -> None:
        ops, _ = self.document.draw(self.session.transcript, budget)
        self.frames.append(ops)
        self.picture.apply(ops)


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host, with an empty chat."""
    editor = edit(init=HOST, screen=(100, 30))
    session(editor)
    editor.lua(
        "require('acp.features.chat.view').begin(1) require('acp.features.chat.view').open(1)"
    )
    return editor


def spans(spans_of_row: list[Any] | None) -> set[tuple[Any, ...]]:
    return set(zip(*[iter(spans_of_row or [])] * 3, strict=True))


def last_target(targets: list[Any]) -> Any:
    """Return the target of a row that `<CR>` uses: the last one."""
    data = targets[-1] if targets else None
    return {"kind": "tool", "call": data} if isinstance(data, int) else data


@settings(
    deadline=None,
    database=None,
    max_examples=150,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(HISTORIES, st.sampled_from(["fold", "show"]))
def test_rows_and_folds_match_the_hosts_model(
    front: Editor, history: list[Act], thoughts: str
) -> None:
    chat = RecordedChat(thoughts)
    for act in history:
        act(chat)
    chat.finish()
    for ops in [[["reset_chat", 1]], *chat.frames]:
        assert front.lua(APPLY, ops) == []
    shown, picture = front.lua(DRAWN), chat.picture
    assert shown["lines"] == picture.lines
    assert [spans(spans_of_row) for spans_of_row in shown["highlights"]] == picture.spans
    assert shown["targets"] == [last_target(targets) for targets in picture.targets]
    folds = [*chat.at_once().fold_lines(), *picture.group_lines()]
    assert sorted(map(tuple, shown["folds"])) == sorted(folds)
    rows = range(len(picture.lines))
    assert shown["levels"] == [sum(a <= row <= b for a, b in folds) for row in rows]


COLOURS = lua_chunk(__file__, "first_row_colours")


def colours(front: Editor) -> str:
    """Return a letter for each column of the first chat row; equal letters are equal colours."""
    found = front.lua(COLOURS)
    return "".join("abcdefghi"[found.index(colour)] for colour in found)


def test_highlights_are_drawn_in_a_closed_fold_too(front: Editor) -> None:
    decor = [[[0, 2, "AcpError", 4, 6, "AcpHeading"]], [0, 1], []]
    replace = "require('acp.frame').apply({ { 'chat', 1, 0, 1, ... } })"
    front.lua(replace, ["abcdefgh", "more", ""], decor)
    front.lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid('acp://chat/1'), { 1, 0 })")
    assert colours(front) == "aacceeccc"
    front.lua("require('acp.features.chat.view').set_folds(1, { 't1', 0, 2, false })")
    closed = "vim.fn.win_execute(vim.fn.bufwinid('acp://chat/1'), 'echon foldclosed(1)')"
    assert front.lua(f"return {closed}") == "1"
    assert colours(front) == "aacceeccc"
    front.lua("require('acp.frame').apply({ { 'text', 1, 0, { 'x' }, { {}, {}, {} } } })")
    assert colours(front) == "aaaaaaaaa"


def test_a_deleted_chat_buffer_loses_its_highlights(front: Editor) -> None:
    apply = "require('acp.frame').apply({ { 'chat', 1, 0, 1, { 'abc' }, ... } })"
    front.lua(apply, [[[0, 2, "AcpError"]], [0, 1], [0, 7]])
    front.cmd("bwipeout! acp://chat/1")
    front.lua(
        "require('acp.features.chat.view').begin(1) require('acp.features.chat.view').open(1)"
    )
    shown = front.lua(DRAWN)
    assert (shown["lines"], shown["highlights"], shown["targets"]) == ([""], [None], [None])
