"""Sessions in a real Neovim: several at once, stored ones, the picker, forgotten ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.stored_sessions import MODES, storing_agent
from tests.support.waiting import until

HISTORY = [["user", "what was it?"], ["agent", "It was **so**.\n"], ["tool", "t1"], ["agent", "x"]]


def test_the_list_has_every_page_with_titles_and_the_current_directory_first(
    picker: Editor,
) -> None:
    elsewhere = {"title": "Elsewhere", "cwd": "/", "updatedAt": "2026-03-01T00:00:00Z"}
    old = {"title": "Old", "updatedAt": "2026-01-01T00:00:00Z"}
    new = {"title": "New", "updatedAt": "2026-02-01T00:00:00+00:00"}
    odd = {"title": "Odd", "updatedAt": "yesterday"}
    traffic = storing_agent(picker, {"a": elsewhere, "b": old, "c": new, "d": odd, "e": {}})
    questions = pick(picker, "Acp sessions")
    titles = [item.split("  (")[0] for item in questions[0]["items"]]
    assert titles == ["New", "Old", "Odd", "untitled e", "Elsewhere"]
    assert questions[0]["kind"] == "acp_session"
    cursors = [f["params"].get("cursor") for f in traffic.received("session/list")]
    assert cursors == [None, "page-2", "page-4"]


def test_a_stored_session_is_loaded_and_its_history_shown(picker: Editor) -> None:
    traffic = storing_agent(picker, {"x1": {"title": "Old talk", "said": HISTORY}})
    questions = pick(picker, "Acp sessions", "Old talk", "load")
    assert {"load", "resume", "fork", "delete", "rename"} <= set(questions[1]["items"])
    assert questions[1]["prompt"] == "Old talk (saved)"
    picker.wait_event("AcpSession")
    picker.wait("require('acp').state().sessions[1].status == 'idle'")
    chat = picker.chat(1)
    lines = [line for line in chat if line]
    assert lines[:4] == ["## You", "what was it?", "## Scripted", "It was **so**."]
    assert sum("Old t1" in line for line in chat) == 1
    session = picker.session(1)
    assert (session["id"], session["title"]) == ("x1", "Old talk")
    assert [call["status"] for call in session["tool_calls"]] == ["completed"]
    assert not picker.events("AcpToolCall")
    picker.wait("#require('acp').state().sessions[1].commands == 1")
    servers = traffic.received("session/load")[0]["params"]["mcpServers"]
    assert [server["name"] for server in servers] == ["neovim"]
    assert picker.turn("say more")["stop_reason"] == "end_turn"
    assert picker.chat(1)[-2:] == ["more", ""] or picker.chat(1)[-1] == "more"


def test_a_replay_after_the_answer_is_shown_as_well(picker: Editor) -> None:
    storing_agent(picker, {"x1": {"title": "Late", "said": HISTORY}}, scenario="stores_late")
    pick(picker, "Acp sessions", "Late", "load")
    picker.wait(
        "require('acp').state().sessions[1].commands and vim.tbl_contains("
        "vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, false), '## You')"
    )
    assert [line for line in picker.chat(1) if line][:2] == ["## You", "what was it?"]


def test_a_resumed_session_has_no_history_and_takes_the_next_prompt(picker: Editor) -> None:
    traffic = storing_agent(
        picker, {"x1": {"title": "Old talk", "said": HISTORY}}, without="loadSession"
    )
    questions = pick(picker, "Acp sessions", "Old talk", "resume")
    assert "load" not in questions[1]["items"]
    picker.wait("require('acp').state().sessions[1].status == 'idle'")
    assert not any("what was it?" in line for line in picker.chat(1))
    picker.turn("hello")
    assert traffic.received("session/prompt")[0]["params"]["sessionId"] == "x1"


def test_a_fork_is_a_new_session_beside_the_first(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("hello")
    picker.wait("require('acp').state().sessions[1].status == 'idle'")
    questions = pick(picker, "Acp sessions", "hello", "fork")
    assert questions[1]["items"] == ["open", "fork", "rename", "close", "delete", "archive"]
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    assert picker.session(2)["id"] == "s2"
    assert picker.state()["current"] == 2
    picker.turn("say from the fork")
    assert [f["params"]["sessionId"] for f in traffic.received("session/prompt")] == ["s1", "s2"]
    assert any("from the fork" in line for line in picker.chat(2))
    assert not any("from the fork" in line for line in picker.chat(1))


def test_the_chat_of_a_fork_begins_with_the_earlier_conversation(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, without="title")
    picker.turn("say **one**\ntool_contents\nthink hmm")
    before = picker.chat(1)
    pick(picker, "Acp sessions", "say **one** tool_contents think hmm", "fork")
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    picker.wait("#require('acp').state().sessions[2].tool_calls == 0")
    chat = [line for line in picker.chat(2) if line]
    assert [line for line in before if line] == chat[:-1]
    assert chat[-1] == "— Forked. The agent remembers the conversation"
    picker.turn("say two")
    assert picker.chat(1) == before
    assert not traffic.received("session/load")


def test_a_fork_that_its_agent_replays_is_not_drawn_twice(picker: Editor) -> None:
    storing_agent(picker, {}, scenario="stores_and_tells_forks")
    picker.turn("say one")
    pick(picker, "Acp sessions", "say one", "fork")
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    assert picker.chat(2).count("say one") == 1
    assert picker.chat(2).count("answered") == 1
    assert not [e for e in picker.events("AcpToolCall") if e["data"]["session"] == 2]


def test_a_fork_of_a_stored_session_says_that_nothing_is_shown(picker: Editor) -> None:
    storing_agent(picker, {"x1": {"title": "Old talk", "said": HISTORY}})
    pick(picker, "Acp sessions", "Old talk", "fork")
    picker.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    assert [line for line in picker.chat(1) if line] == [
        "— Forked. The agent remembers the conversation, which is not shown here"
    ]


def test_a_fork_of_a_closed_session_shows_its_conversation(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("say one")
    before = [line for line in picker.chat(1) if line]
    pick(picker, "Acp sessions", "say one", "close")
    picker.wait("require('acp').state().sessions[1].status == 'closed'")
    pick(picker, "Acp sessions", "say one", "fork")
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    end = ["— Closed", "— Forked. The agent remembers the conversation"]
    assert [line for line in picker.chat(2) if line] == [*before, *end]


@pytest.mark.parametrize("action", ["load", "resume", "fork"])
def test_a_session_that_cannot_be_opened_is_not_current(picker: Editor, action: str) -> None:
    traffic = storing_agent(
        picker, {"x1": {"title": "Old", "said": HISTORY}}, scenario="stores_nothing"
    )
    picker.turn("say one")
    pick(picker, "Acp sessions", "Old", action)
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'failed'")
    picker.wait("require('acp').state().current == 1")
    assert any("the disk is full" in line for line in picker.chat(2))
    assert picker.turn("say two")["session"] == 1
    assert len(traffic.received("session/new")) == 1


def test_rename_shows_the_title_that_the_agent_returns(picker: Editor) -> None:
    storing_agent(picker, {})
    picker.turn("hello")
    questions = pick(picker, "Acp sessions", "hello", "rename", " my work ")
    assert questions[2]["prompt"] == "Title: "
    picker.wait("require('acp').state().sessions[1].title == 'My work'")


def test_without_the_capability_a_title_is_local(picker: Editor) -> None:
    traffic = storing_agent(picker, {}, without="title")
    picker.turn("hello")
    pick(picker, "Acp sessions", "hello", "rename", "mine")
    picker.wait("require('acp').state().sessions[1].title == 'mine'")
    assert not traffic.received("session/set_title")


def test_an_open_session_takes_the_title_from_its_agents_list(picker: Editor) -> None:
    picker.agent(
        "stores",
        str(picker.home / "stored.json"),
        capabilities={"sessionCapabilities": {"list": {}}},
    )
    picker.turn("say one")
    assert "title" not in picker.session(1)
    picker.cmd("AcpPrompt! say two")
    picker.wait_event("AcpTurnEnd", 2)
    pick(picker, "Acp sessions")
    picker.wait("require('acp').state().sessions[2].title == 'say two'")
    assert picker.session(1)["title"] == "say one"


def test_the_local_index_gives_no_title_to_an_open_session(picker: Editor) -> None:
    capabilities = {"loadSession": True}
    picker.agent("stores", str(picker.home / "stored.json"), capabilities=capabilities)
    picker.turn("say one")
    assert pick(picker, "Acp sessions")[0]["items"][0].startswith("say one  (")
    assert "title" not in picker.session(1)


def test_close_ends_the_turn_and_another_session_is_current(picker: Editor) -> None:
    traffic = storing_agent(picker, {})
    picker.turn("hello")
    picker.cmd("AcpPrompt! wait_for_cancel")
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'running'")
    pick(picker, "Acp sessions", "wait_for_cancel", "close")
    traffic.wait("session/close")
    picker.wait("require('acp').state().sessions[2].status == 'closed'")
    assert traffic.received("session/close")[0]["params"] == {"sessionId": "s2"}
    assert picker.state()["current"] == 1
    questions = pick(picker, "Acp sessions")
    assert len([item for item in questions[0]["items"] if "○ idle" in item]) == 1


def test_a_session_that_the_agent_has_forgotten_counts_as_deleted(picker: Editor) -> None:
    traffic = storing_agent(picker, {"x1": {"title": "Once"}})
    pick(picker, "Acp sessions", "Once", "resume")
    picker.wait("require('acp').state().sessions[1].status == 'idle'")
    (picker.home / "stored.json").write_text("{}")
    picker.cmd("Acp restart")
    picker.wait("require('acp').state().sessions[1].id == 's1'")
    traffic.wait("session/new")
    assert any("no longer knows the session" in line for line in picker.chat(1))
    pick(picker, "Acp sessions", "Once", "delete")
    traffic.wait("session/delete")
    picker.wait("require('acp').state().sessions[1].status == 'closed'")
    assert "delete:" not in picker.messages()


def test_stored_sessions_are_deleted_and_archived(picker: Editor) -> None:
    traffic = storing_agent(picker, {"x1": {"title": "One"}, "x2": {"title": "Two"}})
    pick(picker, "Acp sessions", "One", "delete")
    assert traffic.wait("session/delete")["params"] == {"sessionId": "x1"}
    pick(picker, "Acp sessions", "Two", "archive")
    traffic.wait("session/archive")
    questions = pick(picker, "Acp sessions", "Two", "unarchive")
    assert "archived" in questions[0]["items"][0]
    traffic.wait("session/unarchive")
    assert traffic.received("session/list")[0]["params"] == {"archived": "include"}


def test_a_dismissed_picker_does_nothing(picker: Editor) -> None:
    traffic = storing_agent(picker, {"x1": {"title": "One"}})
    pick(picker, "Acp sessions")
    pick(picker, "Acp sessions", "One", "no such action")
    methods = {frame["method"] for frame in traffic.received()}
    assert methods == {"initialize", "session/list", "session/status"}
    assert not picker.state()["sessions"]


def test_additional_directories_are_sent_in_full_and_only_if_supported(
    picker: Editor,
) -> None:
    other = picker.home / "other"
    other.mkdir()
    picker.setup({"files": {"directories": [str(other)]}})
    traffic = storing_agent(picker, {"x1": {"title": "Old talk", "cwd": "/"}})
    pick(picker, "Acp sessions", "Old talk", "load")
    picker.wait("require('acp').state().sessions[1].status == 'idle'")
    picker.cmd("Acp restart")
    params = [traffic.wait(f"session/{name}")["params"] for name in ("load", "resume")]
    assert [p["additionalDirectories"] for p in params] == [[str(other)]] * 2
    assert [p["cwd"] for p in params] == ["/", "/"]
    plain = picker.agent("script", name="plain")
    picker.cmd("Acp new")
    assert "additionalDirectories" not in plain.wait("session/new")["params"]


def test_sessions_are_found_again_after_a_restart_of_neovim(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for again in (False, True):
        editor = Editor(home)
        try:
            install_picker(editor)
            traffic = editor.agent(
                "stores", str(home / "s.json"), capabilities={"loadSession": True}
            )
            if not again:
                editor.turn("say hello there")
                editor.wait("require('acp').state().sessions[1].status == 'idle'")
            else:
                pick(editor, "Acp sessions", "say hello there", "load")
                editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
                assert traffic.received("session/load")[0]["params"]["sessionId"] == "s1"
                assert "say hello there" in editor.chat(1)
        finally:
            editor.close()
    index = home / "data/nvim/acp/sessions.json"
    assert index.stat().st_mode & 0o777 == 0o600
    assert sorted(index.parent.glob("sessions*")) == [index, index.with_name("sessions.json.lock")]


def test_the_current_session_is_the_one_the_user_went_to(picker: Editor) -> None:
    picker.agent("script")
    picker.turn("hello")
    picker.cmd("Acp new")
    picker.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    assert picker.state()["current"] == 2
    picker.lua("require('acp').prompt([[runs \"kill -9 $PPID\"]], { session = 1 })")
    picker.wait_message("The prompt of session 1 is back in its composer. See :Acp overview")
    assert picker.turn("say in the second")["session"] == 2
    picker.lua("vim.cmd.buffer('acp://chat/1')")
    picker.wait("require('acp').state().current == 1")
    picker.turn("say in the first")
    assert any("in the first" in line for line in picker.chat(1))


def test_several_agents_and_sessions_work_at_once(picker: Editor) -> None:
    one = picker.agent("script", name="one")
    two = picker.agent("script", name="two")
    prompts = [("one", "say 1"), ("two", "say 2"), ("one", "say 3"), ("two", "say 4")]
    for name, text in prompts:
        picker.lua("require('acp').prompt(...)", text, {"new": True, "agent": name})
    picker.wait_event("AcpTurnEnd", 4)
    for n, (name, text) in enumerate(prompts, 1):
        assert picker.session(n)["agent"] == name
        assert text[4:] in picker.chat(n)
    assert len(one.pids()) == len(two.pids()) == 1
    assert len(one.received("session/new")) == len(two.received("session/new")) == 2


def test_defaults_of_an_agent_are_set_if_they_are_offered(picker: Editor) -> None:
    traffic = storing_agent(
        picker,
        {},
        new_session=MODES,
        mode="code",
        options={"model": "large", "fast": True, "none": "x"},
    )
    picker.turn("hello")
    session = picker.session(1)
    assert session["modes"]["current"] == "code"
    assert [option["currentValue"] for option in session["options"]] == ["large", True]
    assert traffic.received("session/set_mode")[0]["params"]["modeId"] == "code"
    assert any("no option none" in line for line in picker.chat(1))
    order = [frame["method"] for frame in traffic.received()]
    assert order.index("session/set_config_option") < order.index("session/prompt")


def test_a_long_history_is_loaded_while_the_editor_stays_responsive(picker: Editor) -> None:
    picker.agent(
        "long_history",
        "24",
        "3000",
        capabilities={"loadSession": True, "sessionCapabilities": {"list": {}}},
    )
    picker.lua(
        "_G.acp_frames = 0 local f = require('acp.frame') local apply = f.apply "
        "f.apply = function(ops) _G.acp_frames = math.max(_G.acp_frames, #ops) "
        "return apply(ops) end"
    )
    pick(picker, "Acp sessions", "A long story", "load")
    picker.wait("require('acp').state().sessions[1]")
    picker.keys("itext typed meanwhile<Esc>")
    assert picker.lua("return vim.api.nvim_get_current_line()") == "text typed meanwhile"
    picker.wait("require('acp').state().sessions[1].status == 'idle'", timeout=120)
    counted = (
        "local s = require('acp').state().sessions[1] return #s.tool_calls + s.more.tool_calls"
    )
    picker.wait(f"(function() {counted} end)() == 3000")
    # Reading all of it repeatedly would block Neovim.
    chat = picker.lua("return require('acp').state().sessions[1].chat_bufnr")
    size = f"vim.api.nvim_buf_get_offset({chat}, vim.api.nvim_buf_line_count({chat}))"
    picker.wait(f"{size} > {24 << 20}")
    until(lambda: picker.chat(1).count("## Scripted") == 3000)
    assert picker.chat(1).count("## You") == 3000
    assert not picker.events("AcpToolCall")
    assert picker.lua("return _G.acp_frames") < 1500


def test_an_agent_that_cannot_list_shows_the_open_sessions(picker: Editor) -> None:
    picker.agent("script")
    picker.turn("hello")
    questions = pick(picker, "Acp sessions", "hello", "no such action")
    assert questions[0]["items"] == ["hello  (script, ○ idle)"]
    assert picker_questions(picker)[-1]["items"] == ["open", "rename", "close"]


def test_an_open_session_shows_its_state_and_its_questions(picker: Editor) -> None:
    picker.agent("permission")
    picker.prompt("ask me")
    picker.wait("#require('acp').state().sessions[1].permissions == 1")
    (question,) = pick(picker, "Acp sessions")
    assert question["items"] == ["ask me  (permission, ● running · 1 question)"]
    picker.answer("Acp allow")
    picker.wait_event("AcpTurnEnd")


def test_a_named_action_is_applied_to_the_picked_session(picker: Editor) -> None:
    picker.agent("script")
    picker.turn("hello")
    picker.cmd("Acp chat")
    shown = "vim.fn.bufwinid('acp://chat/1') > 0"
    assert not picker.lua(f"return {shown}")
    assert len(pick(picker, "Acp sessions open", "hello")) == 1
    picker.wait(shown)
    pick(picker, "Acp sessions rename", "hello", "mine")
    picker.wait("require('acp').state().sessions[1].title == 'mine'")
    pick(picker, "Acp sessions load", "mine")
    picker.wait_message("mine cannot load. It can: open, rename, close")
    pick(picker, "Acp sessions close", "mine")
    picker.wait("require('acp').state().sessions[1].status == 'closed'")
