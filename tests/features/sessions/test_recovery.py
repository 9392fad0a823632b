"""Recovery from faults of agents, in a real Neovim: a lost session, a limit, silence."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.prompt_texts import transcript_in, words
from tests.support.waiting import until

MODES = {
    "modes": {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "lost", "name": "Lost"}],
    }
}


def lines_with(editor: Editor, text: str) -> list[str]:
    return [line for line in editor.chat(1) if text in line]


def notices(editor: Editor) -> list[str]:
    return [event["data"]["title"] for event in editor.events("AcpNotice")]


@pytest.mark.parametrize(
    ("how", "notice"),
    [
        ("resume", "It was resumed, and your prompt was sent again"),
        ("load", "It was loaded, and your prompt was sent again"),
        ("new", "A new one has the conversation, and your prompt was sent again"),
    ],
)
def test_a_lost_session_is_reopened_and_the_prompt_sent_again(
    editor: Editor, how: str, notice: str
) -> None:
    traffic = editor.agent("loses", how)
    editor.turn("remember the word plum")
    end = editor.turn("and lose")
    assert (end["stop_reason"], end.get("error")) == ("end_turn", None)
    assert len(editor.events("AcpTurnEnd")) == 2, "it is one turn"
    assert [text.rstrip().endswith("and lose") for text in traffic.prompts()] == [False, True, True]
    assert len(traffic.received(f"session/{how}")) == (2 if how == "new" else 1)
    assert len(lines_with(editor, notice)) == 1
    assert lines_with(editor, "and lose") == ["and lose"]
    assert editor.session(1)["status"] == "idle"
    assert not editor.session(1)["queue"]
    again = traffic.received("session/prompt")[2]
    assert words(again) == ["and lose"]
    if how != "new":
        assert transcript_in(again) == ""
        return
    assert "> remember the word plum" in transcript_in(again)
    assert "> Hello, world." in transcript_in(again)
    assert "lose" not in transcript_in(again), "the prompt itself stands before it"
    editor.turn("once more")
    assert traffic.prompts()[-1] == "once more"


def test_a_session_that_is_lost_again_at_once_is_reported_and_the_prompt_returns(
    editor: Editor,
) -> None:
    traffic = editor.agent("loses", "new", "2")
    end = editor.turn("lose")
    assert "session not found" in end["error"]
    assert traffic.prompts() == ["lose", "lose"]
    editor.wait("vim.fn.bufnr('acp://composer/1') > 0")
    assert editor.lines("acp://composer/1") == ["lose"]
    editor.turn("next")
    assert traffic.prompts()[-1] == "next", "the next prompt is another one"


def test_a_session_that_cannot_be_reopened_loses_no_prompt(editor: Editor) -> None:
    editor.agent("loses", "never")
    editor.turn("first")
    end = editor.turn("lose")
    assert "no more sessions" in end["error"]
    editor.wait("vim.fn.bufnr('acp://composer/1') > 0")
    assert editor.lines("acp://composer/1") == ["lose"]
    assert editor.session(1)["status"] == "failed"
    assert not editor.session(1)["queue"]


def test_a_session_that_is_lost_at_another_request_is_reopened(editor: Editor) -> None:
    traffic = editor.agent("loses", "new", new_session=MODES)
    editor.turn("first")
    editor.cmd("Acp mode lost")
    editor.wait("require('acp').state().sessions[1].modes.current == 'lost'")
    editor.wait(
        "#vim.tbl_filter(function(l) return l:find('had lost the session') end,"
        " vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, false)) == 1"
    )
    until(lambda: len(traffic.received("session/set_mode")) == 2)
    assert [f["params"]["sessionId"] for f in traffic.received("session/set_mode")] == ["s1", "s2"]
    editor.turn("second")
    assert "> first" in transcript_in(traffic.received("session/prompt")[-1])


def refuse_with(message: str, data: object = None) -> str:
    return "refuses_with -32000 " + json.dumps({"message": message, "data": data})


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_limit_is_not_a_login_and_is_reported_with_its_wait(
    editor: Editor, protocol: int
) -> None:
    traffic = editor.agent("script", protocol=protocol)
    end = editor.turn(refuse_with("Too many requests", {"retryAfter": 0.2}))
    assert end["error"].startswith("Scripted is at its rate limit for 1 s. :Acp queue run")
    assert not editor.events("AcpAuthRequired")
    assert lines_with(editor, "  Too many requests")
    assert len(editor.session(1)["queue"]) == 1
    editor.wait_event("AcpNotice")
    assert notices(editor) == ["Scripted should accept prompts again. :Acp queue run sends yours"]
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 2)
    assert traffic.prompts()[0] == traffic.prompts()[1]
    editor.cmd("Acp queue clear")
    editor.turn(refuse_with("HTTP 429"))
    assert "Scripted is at its rate limit. :Acp queue run" in "\n".join(editor.chat(1))


def test_at_a_limit_nothing_is_sent_until_the_user_wants_it(editor: Editor) -> None:
    traffic = editor.agent("script")
    go = editor.home / "go"
    editor.prompt(f"until_there {go}\n{refuse_with('HTTP 429')}")
    traffic.wait("session/prompt")
    for text in ("say one", "say two"):
        editor.prompt(text)
    editor.wait("#require('acp').state().sessions[1].queue == 2")
    go.touch()
    editor.wait_event("AcpTurnEnd")
    editor.turn(refuse_with("HTTP 429"))
    editor.turn("say three")
    assert editor.session(1)["queue"][2:] == ["say one", "say two"]
    assert len(traffic.received("session/prompt")) == 3
    editor.cmd("Acp queue clear")


def test_silence_is_reported_once_and_ends_nothing(editor: Editor) -> None:
    editor.setup({"timeouts": {"silent_s": 0.2}})
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpNotice")
    assert notices(editor) == [
        "script has been silent for 0.2 s. :AcpCancel or :Acp restart ends it"
    ]
    assert editor.session(1)["status"] == "running"
    assert lines_with(editor, "has been silent for")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
