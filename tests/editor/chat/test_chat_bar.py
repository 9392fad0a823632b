"""The line above a chat, in a real Neovim."""

from __future__ import annotations

from tests.support.editor import Editor

BAR = """
(function()
  local win = vim.fn.win_findbuf(require('acp').state().sessions[1].chat_bufnr)[1]
  return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str
end)()
"""


def shows(editor: Editor, *texts: str) -> None:
    """Wait until the bar holds each of these."""
    for text in texts:
        editor.wait(f"{BAR}:find(..., 1, true)", text)


def bar(editor: Editor) -> str:
    """What stands there now."""
    found: str = editor.lua(f"return {BAR}")
    return found


def test_the_bar_says_what_the_session_is_at_and_for_how_long(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    shows(editor, "running 0 s", "script")
    shows(editor, "running 1 s")
    editor.cmd("AcpPrompt say more")
    shows(editor, "1 waiting")
    editor.cmd("AcpCancel!")
    shows(editor, "cancelled after ")
    assert "waiting" not in bar(editor)
    editor.turn("say done")
    shows(editor, "done after 0 s")
    editor.turn("stop error")
    shows(editor, "error after 0 s")
    editor.turn("stop max_tokens")
    shows(editor, "max tokens after 0 s")


def test_the_bar_says_for_how_long_an_agent_has_been_starting(editor: Editor) -> None:
    editor.agent("mute")
    editor.prompt("say hi")
    shows(editor, "starting 0 s · 1 waiting")
    shows(editor, "starting 1 s · 1 waiting")
    editor.cmd("Acp stop")
    editor.wait(f"not {BAR}:find('starting', 1, true)")


def test_a_question_stands_in_the_bar_until_it_is_answered(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permissions 2")
    shows(editor, "2 questions")
    editor.cmd("Acp allow")
    shows(editor, "1 question ")
    editor.cmd("Acp allow")
    editor.wait_event("AcpTurnEnd")
    shows(editor, "done after")
    assert "question" not in bar(editor)


def test_changes_that_wait_for_a_word_stand_in_the_bar(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "".join(f"line {number}\n" for number in range(20)))
    editor.open(path)
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 12' twelve")
    shows(editor, "done after 0 s · 2 to review ")
    editor.cmd("normal! gg")
    editor.keys("]h\\a")
    shows(editor, "· 1 to review ")
    editor.cmd("Acp reject all")
    editor.wait(f"not {BAR}:find('review', 1, true)")


def test_a_question_that_no_agent_waits_for_is_counted_too(editor: Editor) -> None:
    editor.write(".mcp.json", '{"mcpServers": {"db": {"command": "db", "args": []}}}')
    editor.agent("script")
    editor.turn("say hi")
    shows(editor, "1 question")
    editor.cmd("Acp deny")
    editor.wait(f"not {BAR}:find('question', 1, true)")


def test_a_title_and_a_mode_are_text(editor: Editor) -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "%{1+1}%m"}]}
    editor.agent("script", new_session={"modes": modes})
    editor.turn("title 100%{2+2}")
    shows(editor, "100%{2+2} · %{1+1}%m")


def test_the_bar_can_be_left_out(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    shows(editor, "done after")
    editor.setup({"chat": {"bar": False}})
    assert bar(editor) == ""


def test_the_bar_stays_with_the_chat(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    shows(editor, "done after")
    editor.cmd("wincmd l")
    editor.cmd("setlocal nowinfixbuf")
    editor.cmd("enew")
    assert editor.lua("return vim.wo.winbar") == ""
    editor.cmd("buffer acp://chat/1")
    shows(editor, "done after")


def test_in_a_narrow_window_the_title_gives_way_first_and_no_word_is_cut_in_its_middle(
    editor: Editor,
) -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "Ask first"}]}
    used = '{"sessionUpdate": "usage_update", "used": 34000, "size": 200000}'
    editor.agent("script", new_session={"modes": modes})
    editor.turn(f"title {'a long title ' * 8}\nupdate {used}")
    shows(editor, "34k/200k")
    editor.cmd("wincmd l")
    for width, right in (
        (60, " a long title a lo… · Ask first · 34k/200k "),
        (44, "  Ask first · 34k/200k "),
        (36, "  34k/200k "),
    ):
        editor.cmd(f"vertical resize {width}")
        editor.wait(f"vim.endswith({BAR}, ...)", right)
        assert bar(editor).startswith(" done after 0 s ")
        assert len(bar(editor)) == width
    editor.cmd("vertical resize 20")
    editor.wait(f"not {BAR}:find('200k', 1, true)")
    assert bar(editor).startswith(" done after 0 s ")
