"""The winbar of a chat."""

from __future__ import annotations

import re

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until
from tests.support.windows import chat_bar

BAR = f"{chat_bar()}.str"
ONE_ROW = "{ 'relative': 'editor', 'row': 0, 'col': 0, 'width': 9, 'height': 1 }"
ENDED = re.compile(r" Scripted · done in \d+ s( |$)")


def wait_bar(editor: Editor, *texts: str) -> None:
    """Wait until the bar contains each text; `0 s` matches any number of seconds."""
    for text in texts:
        editor.wait(f"{BAR}:find((vim.pesc(...):gsub('0 s', '%%d+ s')))", text)


def bar(editor: Editor) -> str:
    found: str = editor.lua(f"return {BAR}")
    return found


def test_the_bar_shows_the_state_of_the_session_and_for_how_long(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    wait_bar(editor, " Scripted · running 0 s")
    wait_bar(editor, "running 1 s")
    editor.cmd("AcpPrompt say more")
    wait_bar(editor, "1 queued")
    editor.cmd("AcpCancel!")
    wait_bar(editor, "cancelled after ")
    assert "queued" not in bar(editor)
    editor.turn("say done")
    wait_bar(editor, "done in 0 s")
    editor.turn("stop error")
    wait_bar(editor, "error after 0 s")
    editor.turn("stop max_tokens")
    wait_bar(editor, "max tokens after 0 s")


def test_the_bar_shows_for_how_long_an_agent_has_been_starting(editor: Editor) -> None:
    editor.agent("mute")
    editor.prompt("say hi")
    wait_bar(editor, "starting 0 s · 1 queued")
    wait_bar(editor, "starting 1 s · 1 queued")
    editor.cmd("Acp stop")
    editor.wait(f"not {BAR}:find('starting', 1, true)")


def test_the_bar_shows_a_question_until_it_is_answered(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permissions 2")
    wait_bar(editor, "waiting for you · 2 questions")
    editor.cmd(f"let float = nvim_open_win(0, 0, {ONE_ROW})")
    editor.cmd("silent! call setwinvar(float, '&winbar', 'without room')")
    editor.answer("Acp allow")
    editor.wait(f"{BAR}:find('waiting for you', 1, true) and not {BAR}:find('question')")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    wait_bar(editor, "done in")
    assert "waiting" not in bar(editor)
    assert "E36" not in editor.messages(), "Neovim lays out the bars of all windows"


def test_the_bar_counts_changes_to_review(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "".join(f"line {number}\n" for number in range(20)))
    editor.open(path)
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 12' twelve")
    wait_bar(editor, "done in 0 s · 2 to review ")
    editor.cmd("normal! gg")
    editor.keys("]h\\a")
    wait_bar(editor, "· 1 to review ")
    editor.cmd("Acp reject all")
    editor.wait(f"not {BAR}:find('review', 1, true)")


def test_the_bar_also_counts_a_question_that_no_agent_waits_for(editor: Editor) -> None:
    editor.write(".mcp.json", '{"mcpServers": {"db": {"command": "db", "args": []}}}')
    editor.agent("script")
    editor.turn("say hi")
    wait_bar(editor, "1 question")
    editor.answer("Acp deny")
    editor.wait(f"not {BAR}:find('question', 1, true)")


def test_percent_signs_in_a_title_or_mode_are_shown_as_text(editor: Editor) -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "%{1+1}%m"}]}
    editor.agent("script", new_session={"modes": modes})
    editor.cmd("set columns=160")
    editor.turn("title 100%{2+2}")
    wait_bar(editor, "100%{2+2} · %{1+1}%m")


def test_an_option_turns_the_bar_off(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    wait_bar(editor, "done in")
    editor.setup({"chat": {"bar": False}})
    assert bar(editor) == ""


def test_the_bar_stays_with_the_chat_buffer(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hi")
    wait_bar(editor, "done in")
    editor.cmd("wincmd l")
    editor.cmd("setlocal nowinfixbuf")
    editor.cmd("enew")
    assert editor.lua("return vim.wo.winbar") == ""
    editor.cmd("buffer acp://chat/1")
    wait_bar(editor, "done in")


def test_a_narrow_bar_drops_the_title_first_and_cuts_no_word(
    editor: Editor,
) -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "Ask first"}]}
    used = '{"sessionUpdate": "usage_update", "used": 34000, "size": 200000}'
    editor.agent("script", new_session={"modes": modes})
    editor.turn(f"title {'a long title ' * 8}\nupdate {used}")
    wait_bar(editor, "17%")
    editor.cmd("wincmd l")
    for width, right in (
        (57, " a long title… · Ask first · 17% "),
        (41, "  Ask first · 17% "),
        (37, "  Ask first "),
        (31, "  17% "),
    ):
        editor.cmd(f"vertical resize {width}")
        editor.wait(f"vim.endswith({BAR}, ...)", right)
        assert ENDED.match(bar(editor))
        assert len(bar(editor)) == width
    editor.cmd("vertical resize 25")
    editor.wait(f"not {BAR}:find('%', 1, true) and not {BAR}:find('Ask', 1, true)")
    assert ENDED.match(bar(editor))


def test_the_bar_begins_with_the_name_of_the_agent_and_its_state(editor: Editor) -> None:
    editor.agent("script", name="claude")
    editor.prompt("permissions 1")
    wait_bar(editor, " waiting for you ")
    name = bar(editor).split(" · ")[0]
    assert name == " Scripted", "as it names itself"
    editor.cmd("wincmd l")
    for width, command, left in (
        (27, "", " Scripted · waiting for you"),
        (24, "", " waiting for you"),
        (30, "Acp trust edits", " trust edits · waiting for you"),
        (60, "Acp trust off", f"{name} · waiting for you "),
    ):
        editor.cmd(f"vertical resize {width} | {command}")
        editor.wait(f"vim.startswith({BAR}, ...)", left)
    editor.answer("Acp allow")
    wait_bar(editor, f"{name} · done in ")


NOTE_PERMISSION = lua_chunk(__file__, "note_permission")
"""`AcpState` is sent shortly after the screen is drawn. Until then the time counts as the agent's.
"""


def test_time_in_which_the_user_thinks_does_not_count_as_the_agents(editor: Editor) -> None:
    editor.lua("_G.ms = 0; local now = vim.uv.now; vim.uv.now = function() return now() + ms end")
    editor.lua(NOTE_PERMISSION)
    editor.agent("script")
    editor.prompt("permissions 1")
    wait_bar(editor, "waiting for you")
    editor.wait("_G.has_permission")
    editor.lua("_G.ms = 3600e3")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    wait_bar(editor, "done in 0 s")


def test_the_bar_shows_usage_and_cost(editor: Editor) -> None:
    editor.agent("script")
    used = '{"sessionUpdate": "usage_update", "used": %d, "size": 200000, "cost": %s}'
    editor.turn("update " + used % (1, '{"amount": 0.123, "currency": "USD"}'))
    wait_bar(editor, "$0.12 · 1% ")
    groups = f"vim.iter({chat_bar()}.highlights):map(function(it) return it.group end):totable()"
    assert "AcpWarning" not in editor.lua(f"return {groups}")
    editor.turn("update " + used % (170_000, '{"amount": 3, "currency": "credits"}'))
    wait_bar(editor, "3.00 credits · 85% ")
    assert "AcpWarning" in editor.lua(f"return {groups}")


def wait_rows(editor: Editor, state: str) -> None:
    """Wait until the bar and the statusline contain agent and state, in their orders."""
    orders = f"Scripted · {state}", f"{state} · Scripted"
    until(lambda: all(any(re.search(it, row) for row in editor.screen()) for it in orders))


def test_statusline_and_bar_change_together(editor: Editor) -> None:
    editor.cmd("set laststatus=3 statusline=%{v:lua.require'acp'.statusline()}")
    editor.agent("script")
    editor.prompt("permissions 1")
    wait_bar(editor, "waiting for you")
    wait_rows(editor, "waiting for you")
    editor.answer("Acp allow")
    wait_bar(editor, "done in 0 s")
    wait_rows(editor, r"done in \d+ s")
