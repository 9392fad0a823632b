"""The line above a chat, in a real Neovim."""

from __future__ import annotations

import re

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until
from tests.support.windows import chat_bar

BAR = f"{chat_bar()}.str"
ENDED = re.compile(r" Scripted · done in \d+ s ")


def shows(editor: Editor, *texts: str) -> None:
    """Wait until the bar holds each of these; `0 s` is any time, a machine may be slow."""
    for text in texts:
        editor.wait(f"{BAR}:find((vim.pesc(...):gsub('0 s', '%%d+ s')))", text)


def bar(editor: Editor) -> str:
    """What stands there now."""
    found: str = editor.lua(f"return {BAR}")
    return found


def test_the_bar_says_what_the_session_is_at_and_for_how_long(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    shows(editor, " Scripted · running 0 s")
    shows(editor, "running 1 s")
    editor.cmd("AcpPrompt say more")
    shows(editor, "1 queued")
    editor.cmd("AcpCancel!")
    shows(editor, "cancelled after ")
    assert "queued" not in bar(editor)
    editor.turn("say done")
    shows(editor, "done in 0 s")
    editor.turn("stop error")
    shows(editor, "error after 0 s")
    editor.turn("stop max_tokens")
    shows(editor, "max tokens after 0 s")


def test_the_bar_says_for_how_long_an_agent_has_been_starting(editor: Editor) -> None:
    editor.agent("mute")
    editor.prompt("say hi")
    shows(editor, "starting 0 s · 1 queued")
    shows(editor, "starting 1 s · 1 queued")
    editor.cmd("Acp stop")
    editor.wait(f"not {BAR}:find('starting', 1, true)")


def test_a_question_stands_in_the_bar_until_it_is_answered(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permissions 2")
    shows(editor, "waiting for you · 2 questions")
    editor.answer("Acp allow")
    editor.wait(f"{BAR}:find('waiting for you', 1, true) and not {BAR}:find('question')")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    shows(editor, "done in")
    assert "waiting" not in bar(editor)


def test_changes_that_wait_for_a_word_stand_in_the_bar(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "".join(f"line {number}\n" for number in range(20)))
    editor.open(path)
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 12' twelve")
    shows(editor, "done in 0 s · 2 to review ")
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
    editor.answer("Acp deny")
    editor.wait(f"not {BAR}:find('question', 1, true)")


def test_a_title_and_a_mode_are_text(editor: Editor) -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "%{1+1}%m"}]}
    editor.agent("script", new_session={"modes": modes})
    editor.cmd("set columns=160")
    editor.turn("title 100%{2+2}")
    shows(editor, "100%{2+2} · %{1+1}%m")


def test_the_bar_can_be_left_out(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    shows(editor, "done in")
    editor.setup({"chat": {"bar": False}})
    assert bar(editor) == ""


def test_the_bar_stays_with_the_chat(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    shows(editor, "done in")
    editor.cmd("wincmd l")
    editor.cmd("setlocal nowinfixbuf")
    editor.cmd("enew")
    assert editor.lua("return vim.wo.winbar") == ""
    editor.cmd("buffer acp://chat/1")
    shows(editor, "done in")


def test_in_a_narrow_window_the_title_gives_way_first_and_no_word_is_cut_in_its_middle(
    editor: Editor,
) -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "Ask first"}]}
    used = '{"sessionUpdate": "usage_update", "used": 34000, "size": 200000}'
    editor.agent("script", new_session={"modes": modes})
    editor.turn(f"title {'a long title ' * 8}\nupdate {used}")
    shows(editor, "17%")
    editor.cmd("wincmd l")
    for width, right in (
        (57, " a long title… · Ask first · 17% "),
        (41, "  Ask first · 17% "),
        (31, "  17% "),
    ):
        editor.cmd(f"vertical resize {width}")
        editor.wait(f"vim.endswith({BAR}, ...)", right)
        assert ENDED.match(bar(editor))
        assert len(bar(editor)) == width
    editor.cmd("vertical resize 25")
    editor.wait(f"not {BAR}:find('%', 1, true) and not {BAR}:find('Ask', 1, true)")
    assert ENDED.match(bar(editor))


def test_the_agents_name_comes_first_then_who_waits_for_whom(editor: Editor) -> None:
    editor.agent("script", name="claude")
    editor.prompt("permissions 1")
    shows(editor, " waiting for you ")
    name = bar(editor).split(" · ")[0]
    assert name == " Scripted", "as it names itself"
    editor.answer("Acp allow")
    shows(editor, f"{name} · done in ")


TOLD = lua_chunk(__file__, "note_permission")
"""`AcpState` comes a moment after the screen; until then the time counts as the agent's."""


def test_the_time_in_which_the_user_thinks_is_none_of_the_agents(editor: Editor) -> None:
    editor.lua("_G.ms = 0; local now = vim.uv.now; vim.uv.now = function() return now() + ms end")
    editor.lua(TOLD)
    editor.agent("script")
    editor.prompt("permissions 1")
    shows(editor, "waiting for you")
    editor.wait("_G.told")
    editor.lua("_G.ms = 3600e3")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    shows(editor, "done in 0 s")


def test_how_much_is_used_and_what_it_has_cost(editor: Editor) -> None:
    editor.agent("script")
    used = '{"sessionUpdate": "usage_update", "used": %d, "size": 200000, "cost": %s}'
    editor.turn("update " + used % (1, '{"amount": 0.123, "currency": "USD"}'))
    shows(editor, "$0.12 · 1% ")
    groups = f"vim.iter({chat_bar()}.highlights):map(function(it) return it.group end):totable()"
    assert "AcpWarning" not in editor.lua(f"return {groups}")
    editor.turn("update " + used % (170_000, '{"amount": 3, "currency": "credits"}'))
    shows(editor, "3.00 credits · 85% ")
    assert "AcpWarning" in editor.lua(f"return {groups}")


def rows_with(editor: Editor, text: str) -> None:
    """Wait until the bar and the statusline say it, and no other row."""
    until(lambda: sum(text in row for row in editor.screen()) == 2)


def test_a_statusline_says_the_same_at_the_same_moment(editor: Editor) -> None:
    editor.cmd("set laststatus=3 statusline=%{v:lua.require'acp'.statusline()}")
    editor.agent("script")
    editor.prompt("permissions 1")
    shows(editor, "waiting for you")
    rows_with(editor, "Scripted · waiting for you")
    editor.answer("Acp allow")
    shows(editor, "done in 0 s")
    rows_with(editor, "Scripted · done in")
