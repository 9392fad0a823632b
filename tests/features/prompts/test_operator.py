"""`<Plug>(acp-operator)`: a prompt about the lines of a motion, which `.` repeats."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.traffic import Traffic

TEXT = "one\ntwo\n\nthree\n\nfour\nfive\nsix\n"


@pytest.fixture
def agent(editor: Editor) -> Traffic:
    agent = editor.agent("hello", capabilities={"promptCapabilities": {"embeddedContext": True}})
    editor.open(editor.write("a.txt", TEXT))
    editor.cmd("nmap gm <Plug>(acp-operator)")
    editor.cmd("xmap gm <Plug>(acp-operator)")
    return agent


def sent(agent: Traffic, count: int) -> tuple[str, str]:
    """Return text and attached lines of the prompt with this number."""
    blocks: list[dict[str, Any]] = agent.wait("session/prompt", count)["params"]["prompt"]
    texts = [block["resource"]["text"] for block in blocks if block["type"] == "resource"]
    return blocks[0]["text"].rstrip("\n"), "\n".join(texts).rstrip("\n")


def write(editor: Editor, text: str) -> None:
    """Write and send the prompt in the composer, and go back to the file."""
    editor.wait("vim.bo.filetype == 'acpcomposer' and vim.fn.mode() == 'i'")
    before = len(editor.events("AcpTurnEnd"))
    editor.keys(f"{text}<Esc><C-s>")
    editor.wait_event("AcpTurnEnd", before + 1)
    editor.cmd("exe bufwinnr('a.txt') 'wincmd w'")
    editor.wait("not pcall(vim.api.nvim_get_autocmds, { group = 'acp.operator' })")
    editor.lua("vim.schedule(function() _G.prepared = true end)")
    editor.wait("_G.prepared")
    editor.lua("_G.prepared = nil")


@pytest.mark.parametrize(
    ("keys", "lines"), [("gmip", "one\ntwo"), ("gmj", "one\ntwo"), ("Vgm", "one"), ("gm_", "one")]
)
def test_the_lines_go_with_the_prompt_of_the_composer(
    editor: Editor, agent: Traffic, keys: str, lines: str
) -> None:
    editor.keys(f"gg{keys}")
    write(editor, "explain")
    assert sent(agent, 1) == ("explain", lines)


def test_dot_repeats_the_prompt_on_the_next_motion(editor: Editor, agent: Traffic) -> None:
    editor.keys("gggmip")
    write(editor, "explain<CR>in short")
    editor.keys("Gk.")
    assert sent(agent, 2) == ("explain\nin short", "four\nfive\nsix")
    editor.wait_event("AcpTurnEnd", 2)
    editor.keys("4G.")
    assert sent(agent, 3) == ("explain\nin short", "three")
    assert editor.lines(str(editor.work / "a.txt")) == TEXT.splitlines()


def test_dot_after_visual_mode_takes_as_many_lines(editor: Editor, agent: Traffic) -> None:
    editor.keys("ggVjgm")
    write(editor, "explain")
    editor.keys("6G.")
    assert sent(agent, 2) == ("explain", "four\nfive")


def test_the_operator_asks_for_another_prompt_each_time(editor: Editor, agent: Traffic) -> None:
    editor.keys("gggmip")
    write(editor, "explain")
    editor.keys("GgmipA")
    write(editor, "shorten")
    assert sent(agent, 2)[1] == "four\nfive\nsix"
    editor.keys("gg.")
    assert sent(agent, 3) == (sent(agent, 2)[0], "one\ntwo")


def test_the_cursor_stays_and_nothing_is_sent_by_the_preparation(
    editor: Editor, agent: Traffic
) -> None:
    editor.keys("2G$gmip")
    at = editor.lua("return vim.api.nvim_win_get_cursor(vim.fn.bufwinid('a.txt'))")
    write(editor, "explain")
    assert editor.lua("return vim.api.nvim_win_get_cursor(0)") == at
    assert len(agent.received("session/prompt")) == 1


def test_dot_repeats_a_later_change_by_the_user(editor: Editor, agent: Traffic) -> None:
    editor.keys("gggmip")
    write(editor, "explain")
    editor.keys("4GAx<Esc>6G.")
    assert editor.lines(str(editor.work / "a.txt"))[5] == "fourx"
    assert len(agent.received("session/prompt")) == 1


def test_an_operator_that_is_left_sends_nothing(editor: Editor, agent: Traffic) -> None:
    editor.keys("gggm<Esc>")
    editor.keys("x")
    assert editor.lines(str(editor.work / "a.txt"))[0] == "ne"
    assert editor.state()["sessions"] in ({}, [])
