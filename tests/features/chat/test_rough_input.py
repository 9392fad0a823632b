"""Malformed and unusual input from agents: survived, counted, and listed by `:Acp info`."""

from __future__ import annotations

import json

import pytest

from acp_nvim import wording
from tests.support.editor import Editor
from tests.support.front_without_host import Start
from tests.support.lua import lua_chunk
from tests.support.waiting import until

COUNTED = {
    "not_json": "json",
    "not_objects": "message",
    "not_utf8": "utf8",
    "unknown_updates": "unknown update (brand_new_update)",
    "missing_fields": "forgiven",
    "unknown_tool": "tool_call_update for an unknown id (ghost)",
    "strange_responses": "response",
    "unknown_request": "unknown request",
    "unknown_notification": "unknown notification",
    "batch": "batch",
    "other_session": "update for a session not known yet",
    "bad_requests": "bad params",
}


def info(editor: Editor) -> list[str]:
    """Run `:Acp info` and return its lines."""
    editor.cmd("Acp info")
    editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://info')) > 0")
    return editor.lines("acp://info")


@pytest.mark.parametrize(("scenario", "kind"), COUNTED.items())
def test_malformed_input_is_survived_and_counted(editor: Editor, scenario: str, kind: str) -> None:
    editor.agent("script")
    editor.turn(scenario)
    assert editor.turn("say still here")["stop_reason"] == "end_turn"
    assert "still here" in editor.chat(1)
    assert any(kind in line for line in info(editor)), info(editor)


def test_two_requests_with_one_id_get_an_answer_each(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.prompt(f"one_id_twice {editor.write('a.txt', 'one')}")
    editor.wait_event("AcpPermission")
    until(lambda: any(line.startswith("first ") for line in editor.chat(1)))
    assert len(agent.answers("fs/read_text_file")) == 1, "the question is still open"
    editor.answer("Acp allow")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    first, then = (line for line in editor.chat(1) if line.startswith(("first ", "then ")))
    assert "-32600" in first
    assert "request 'same' is already open" in first
    assert '"optionId": "allow"' in then
    assert any("duplicate" in line for line in info(editor))


def test_a_line_over_the_limit_is_skipped_and_counted(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"limits": {"message_bytes": 200_000}})
    editor.turn("oversize 300000")
    assert editor.turn("say still here")["stop_reason"] == "end_turn"
    assert any("oversize" in line for line in info(editor))


def test_a_line_of_megabytes_is_cut_in_the_chat_and_exported_whole(editor: Editor) -> None:
    editor.agent("script")
    size = 5_000_000
    editor.turn(f"chunks 1 {size}")
    line = "word 0 ".ljust(size, ".")
    beginning = editor.chat(1)[-1].removesuffix(wording.PART_LINE_CUT)
    assert len(beginning) < size
    assert line.startswith(beginning)
    editor.cmd("Acp chat")
    editor.cmd("Acp chat")
    linebreak = "return vim.wo[vim.fn.bufwinid('acp://chat/1')].linebreak"
    assert editor.lua(linebreak) is False, "it is slow in a long row"
    editor.cmd("Acp export out.md")
    editor.wait_message("Exported to")
    assert line in (editor.work / "out.md").read_text().split("\n")


def test_a_notice_does_not_split_text_that_streams(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"limits": {"message_bytes": 200_000}})
    editor.turn("say one wo\noversize 300000\nsay rd")
    chat = editor.chat(1)
    remark = next(line for line in chat if "limits.message_bytes" in line)
    assert chat[chat.index("## Scripted") :] == ["## Scripted", "", "one word", "", remark]


def test_control_and_bidirectional_characters_are_made_visible(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("surrogates")
    chat = "\n".join(editor.chat(1))
    assert "nul ^@ bell ^G escape ^[[31m rtl <U+202E> end" in chat
    assert not any(ord(letter) < 32 and letter != "\n" for letter in chat)


def test_early_updates_wait_for_their_session(editor: Editor) -> None:
    editor.agent("early_updates")
    editor.turn("hello")
    assert [command["name"] for command in editor.session(1)["commands"]]
    assert any("not known yet" in line for line in info(editor))


def test_late_updates_are_shown(editor: Editor) -> None:
    editor.agent("late_updates")
    editor.turn("hello")
    editor.wait("#require('acp').state().sessions[1].tool_calls == 1")
    chat = editor.chat(1)
    assert any("early" in line for line in chat)
    assert any("late" in line for line in chat)
    assert any("update outside of a turn" in line for line in info(editor))


def test_messages_split_over_several_writes_are_read(editor: Editor) -> None:
    editor.agent("split_writes")
    assert editor.turn("hello")["stop_reason"] == "end_turn"


def test_reading_stops_while_the_editor_is_behind(editor: Editor) -> None:
    """While no frames are taken, a flood of updates stays in the agent's pipe."""
    editor.agent("chunks", "20000", "100")
    editor.setup({"limits": {"pending_bytes": 100_000}})
    end = editor.turn("hello")
    assert end["stop_reason"] == "end_turn"
    words = " ".join(" ".join(editor.chat(1)).split())
    assert words.count("word ") == 20000


def test_requests_are_answered_before_the_session_is_open(editor: Editor) -> None:
    """The agent sends them before and right after its answer to `session/new`."""
    path = editor.write("a.txt", "one\n")
    agent = editor.agent("early_requests", str(path))
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    answers = agent.answers("fs/read_text_file")
    assert [answer.get("result") for answer in answers] == [{"content": "one\n"}] * 2


def test_a_prompt_may_contain_invalid_utf8(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.lua(r"require('acp').prompt('say caf\xe9 and \xff')")
    editor.wait_event("AcpTurnEnd")
    editor.turn("say two")
    assert agent.prompts()[0] == "say caf\ufffd and \ufffd"
    assert editor.session()["checkpoints"][0]["label"] == "say caf\ufffd and \ufffd"
    assert not editor.events("AcpNotice")


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
@pytest.mark.parametrize("version", [1, 2])
def test_an_emoji_split_over_two_chunks_is_shown_whole(
    edit: Start, kind: str, version: int
) -> None:
    editor = edit()
    editor.agent("script", protocol=version)
    chunks = [
        {"sessionUpdate": kind, "messageId": "m", "content": {"type": "text", "text": text}}
        for text in ("so \ud83d", "\ude00 nice", " end\ud83d")
    ]
    editor.turn("\n".join(f"update {json.dumps(chunk)}" for chunk in chunks))
    editor.wait(
        "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, true), ' ')"
        ":find('so \U0001f600 nice end\ufffd', 1, true)"
    )


def test_output_of_a_command_is_shown_as_a_terminal_would_print_it(editor: Editor) -> None:
    editor.agent("script")
    text = "\x1b[31mred\x1b[0m\r\n 10 %\r 99 %\r100 %\x1b[K\nold text\rnew\n"
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "make",
        "kind": "execute",
        "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": text}}],
    }
    editor.turn(f"update {json.dumps(call)}")
    lines = [line.strip() for line in editor.chat(1)]
    at = lines.index("red")
    assert lines[at : at + 3] == ["red", "100 %", "new text"]


COLOURED_OUTPUT = lua_chunk(__file__, "coloured_output")


@pytest.mark.parametrize("part", ["content", "rawOutput"])
def test_output_of_a_command_keeps_its_colours(editor: Editor, part: str) -> None:
    editor.agent("script")
    text = "\x1b[31mred\x1b[0m \x1b[1;92mé green\n 10 %\r100 %\nstill\x1b[m plain\n"
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "make",
        "kind": "execute",
        "status": "completed",
        part: content if part == "content" else {"output": text},
    }
    editor.turn(f"update {json.dumps(call)}")
    lines = [line.strip() for line in editor.chat(1)]
    at = lines.index("red é green")
    assert lines[at : at + 3] == ["red é green", "100 %", "still plain"]
    assert editor.lua(COLOURED_OUTPUT) == ["red AcpRed", "é green AcpGreen", "still AcpGreen"]


def test_the_name_of_an_agent_is_on_one_line(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hello")
    editor.lua(
        "require('acp.base.state').set({ 'agents', 'script', 'info', 'title' }, ...)",
        "two\nlines\x1b",
    )
    statusline = editor.lua("return require('acp').statusline()")
    assert "\n" not in statusline
    assert statusline.isprintable()
