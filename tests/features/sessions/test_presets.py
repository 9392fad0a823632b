"""Presets: named agent, model, mode, options, tools, rules and system prompt."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.git import repository
from tests.support.killed_host import kill_host
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.stored_sessions import MODES, storing_agent
from tests.support.traffic import Traffic
from tests.support.windows import chat_bar

BAR = f"{chat_bar()}.str"
ALLOW_EDITS = {"action": "allow", "kind": "edit"}
DENY_EDITS = {"action": "deny", "kind": "edit"}
EDIT = "permission_json " + json.dumps(
    {
        "toolCall": {"toolCallId": "t", "title": "Edit", "kind": "edit"},
        "options": [
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ],
    }
)
"""Line of a prompt: ask for an edit."""


def two_agents(editor: Editor, **other: Any) -> Traffic:
    """Use a scripted agent, and another one `other` with modes and options."""
    traffic = editor.agent("chooser", name="other", new_session=MODES, **other)
    editor.agent("script")
    return traffic


def new(editor: Editor, name: str) -> dict[str, Any]:
    """Start a session by `:Acp new` and return its snapshot once it is open."""
    editor.keys(f":Acp new {name}<CR>")
    before = editor.lua("return vim.tbl_count(require('acp').state().sessions)")
    editor.wait(
        "local s = require('acp').state() local n = s.sessions[s.current]"
        " return n and n.status == 'idle' and n.preset == ...",
        name,
    )
    assert before <= 1
    return editor.session()


def set_values(traffic: Traffic) -> dict[str, Any]:
    params = [it["params"] for it in traffic.received("session/set_config_option")]
    return {it["configId"]: it["value"] for it in params}


def test_a_session_starts_with_the_values_of_its_preset(editor: Editor) -> None:
    traffic = two_agents(editor, mode="ask", options={"fast": False})
    preset = {"agent": "other", "model": "large", "mode": "code", "options": {"fast": True}}
    editor.setup({"presets": {"work": preset}})
    session = new(editor, "work")
    assert session["agent"] == "other"
    editor.wait("require('acp').state().sessions[1].model.value == 'large'")
    assert set_values(traffic) == {"model": "large", "fast": True}
    assert traffic.received("session/set_mode")[0]["params"]["modeId"] == "code"
    editor.wait(f"{BAR}:find(' Scripted (work) · idle', 1, true)")
    assert editor.turn("say hello")["stop_reason"] == "end_turn"
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    assert "session 1: idle, agent other, preset work" in editor.lines("acp://info")


def test_the_mode_of_a_preset_is_a_config_option_in_version_2(editor: Editor) -> None:
    mode = {
        "id": "how",
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}],
    }
    choices = {"configOptions": [mode, *MODES["configOptions"]]}
    traffic = editor.agent("chooser", name="other", new_session=choices, protocol=2)
    preset = {"model": "large", "mode": "code", "options": {"fast": True}}
    editor.setup({"presets": {"work": preset}})
    assert new(editor, "work")["modes"]["current"] == "code"
    assert set_values(traffic) == {"how": "code", "model": "large", "fast": True}


def test_a_model_or_mode_that_the_agent_lacks_is_named_in_the_chat(editor: Editor) -> None:
    two_agents(editor)
    preset = {"agent": "other", "model": "huge", "mode": "plan", "options": {"slow": True}}
    editor.setup({"presets": {"work": preset}})
    new(editor, "work")
    assert editor.turn("say hello")["stop_reason"] == "end_turn"
    chat = "\n".join(editor.chat())
    assert "Could not set mode plan: no mode plan. Modes: ask, code" in chat
    assert "Could not set model huge: model has no value huge. Values: small, large" in chat
    assert "Could not set option slow = true" in chat
    assert "hello" in chat


def test_an_agent_without_models_is_named_in_the_chat(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"presets": {"work": {"model": "huge"}}})
    assert new(editor, "work")["agent"] == "script"
    editor.turn("say hello")
    assert "Could not set model huge: the session has no models" in "\n".join(editor.chat())


def test_a_name_of_an_agent_means_the_agent(editor: Editor) -> None:
    two_agents(editor)
    editor.setup({"presets": {"other": {"agent": "script"}}})
    editor.cmd("Acp new other")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    assert editor.session()["agent"] == "other"
    assert "preset" not in editor.session()


def test_a_running_session_takes_model_mode_options_and_rules(editor: Editor) -> None:
    editor.agent("script", name="third")
    traffic = editor.agent("chooser", name="other", new_session=MODES)
    preset = {
        "agent": "third",
        "model": "large",
        "mode": "plan",
        "options": {"fast": True},
        "tools": False,
        "system_prompt": "Be brief.",
        "rules": [ALLOW_EDITS],
    }
    editor.setup({"presets": {"work": preset, "plain": {"mode": "code"}}})
    editor.turn("say hello")
    editor.keys(":Acp preset work<CR>")
    editor.wait("require('acp').state().sessions[1].preset == 'work'")
    editor.wait_message(
        "Preset: work. Not available: mode plan. Only by :Acp new work: agent, tools, system_prompt"
    )
    assert set_values(traffic) == {"model": "large", "fast": True}
    assert "no mode plan. Modes: ask, code" in "\n".join(editor.chat())
    editor.wait(f"{BAR}:find(' Scripted (work) · ', 1, true)")
    assert editor.turn(EDIT)["stop_reason"] == "end_turn"
    editor.cmd("Acp preset plain")
    editor.wait_message("Preset: plain")
    editor.wait("require('acp').state().sessions[1].preset == 'plain'")
    assert editor.session()["modes"]["current"] == "code"
    editor.write("a.txt", "one\n")
    repository(editor.work)
    settings = ("trust all", "preset work", "mode ask", "model small", "option fast false")
    commands = [f"Acp {command}" for command in ("new!", *settings)]
    editor.lua("for _, command in ipairs(...) do vim.cmd(command) end", commands)
    editor.wait("(require('acp').state().sessions[2] or {}).worktree")
    assert "Not set: :Acp new! is still preparing its session" in editor.messages()
    hold = (
        "vim.ui.select = function(items, _, done) _G.choose = function(i) done(items[i], i) end end"
    )
    editor.lua(hold)
    editor.cmd("Acp trust")
    editor.cmd("Acp new")
    editor.wait("require('acp').state().current == 3")
    editor.lua("_G.choose(3)")
    editor.wait_message("Not set: session 3 became the current one")
    sessions = editor.state()["sessions"]
    assert not any("trust" in session for session in sessions)
    assert (editor.session(1)["preset"], editor.session(1)["modes"]["current"]) == ("plain", "code")
    assert "preset" not in editor.session(2)
    assert set_values(traffic) == {"model": "large", "fast": True}


def test_without_a_session_a_preset_starts_one(editor: Editor) -> None:
    two_agents(editor)
    editor.setup({"presets": {"work": {"agent": "other"}, "script": {"agent": "other"}}})
    editor.cmd("Acp preset work")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    assert (editor.session()["agent"], editor.session()["preset"]) == ("other", "work")


def test_a_prompt_of_lua_names_the_preset_of_its_session(editor: Editor) -> None:
    agent = editor.agent("hello")
    editor.setup({"presets": {"strict": {}}})
    editor.turn("hi")
    for count in (2, 3):
        editor.lua("require('acp').prompt('judge', { preset = 'strict' })")
        editor.wait_event("AcpTurnEnd", count)
        assert editor.session()["preset"] == "strict"
    assert len(agent.received("session/new")) == 2
    editor.lua("require('acp').prompt('judge', { preset = 'strickt' })")
    editor.wait_message("Unknown preset 'strickt', did you mean 'strict'")
    editor.lua("require('acp').prompt('judge', { session = 1, preset = 'strict' })")
    editor.wait_message("Session 1 belongs to hello, not to strict")
    assert len(agent.received("session/prompt")) == 3


def test_the_choice_of_a_preset_has_a_mark_at_the_current_one(editor: Editor) -> None:
    two_agents(editor)
    presets = {"work": {"agent": "other", "model": "large"}, "read": {"rules": [DENY_EDITS]}}
    editor.setup({"presets": presets})
    install_picker(editor)
    pick(editor, "Acp preset", "  work: other, large")
    editor.wait("(require('acp').state().sessions[1] or {}).preset == 'work'")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    pick(editor, "Acp preset", "  read: 1 rule")
    editor.wait("require('acp').state().sessions[1].preset == 'read'")
    assert picker_questions(editor)[-1]["items"] == ["  read: 1 rule", "* work: other, large"]
    assert picker_questions(editor)[-1]["kind"] == "acp_preset"


def test_without_presets_the_message_names_the_option(editor: Editor) -> None:
    editor.agent("script")
    editor.keys(":Acp preset<CR>")
    editor.wait_screen("No presets. :help acp-option-presets has an example")
    with pytest.raises(EditorError, match=r"Unknown preset 'strict'. See :Acp preset"):
        editor.cmd("Acp preset strict")
    assert not editor.state()["sessions"]


@pytest.mark.parametrize(
    ("own", "every", "answer"),
    [
        ([ALLOW_EDITS], [], "allow"),
        ([ALLOW_EDITS], [DENY_EDITS], "reject"),
        ([DENY_EDITS], [ALLOW_EDITS], "reject"),
        ([{"action": "ask", "kind": "edit"}], [ALLOW_EDITS], None),
        ([{"action": "allow", "kind": "read"}], [ALLOW_EDITS], "allow"),
    ],
)
def test_rules_of_a_preset_hold_for_its_sessions(
    editor: Editor, own: list[Any], every: list[Any], answer: str | None
) -> None:
    traffic = editor.agent("script")
    editor.setup({"presets": {"work": {"rules": own}}, "permission": {"rules": every}})
    new(editor, "work")
    if answer is None:
        editor.prompt(EDIT)
        editor.answer("Acp deny")
        editor.wait_event("AcpTurnEnd")
        return
    editor.turn(EDIT)
    assert traffic.answers("session/request_permission")[0]["result"] == {
        "outcome": {"outcome": "selected", "optionId": answer}
    }
    if not every:  # another session is asked
        editor.cmd("AcpPrompt! " + EDIT)
        editor.wait("require('acp').state().current == 2")
        editor.answer("Acp deny")
        editor.wait_event("AcpTurnEnd", 2)


def test_tools_and_system_prompt_go_with_the_session(editor: Editor) -> None:
    capabilities: dict[str, Any] = {"sessionCapabilities": {"systemPrompt": {}}}
    traffic = editor.agent("script", capabilities=capabilities, system_prompt="The agent's.")
    presets = {"brief": {"tools": False, "system_prompt": "Be brief."}, "more": {"tools": True}}
    editor.setup({"presets": presets})
    new(editor, "brief")
    params = traffic.received("session/new")[0]["params"]
    assert params["mcpServers"] == []
    assert params["systemPrompt"]["content"] == [{"type": "text", "text": "Be brief."}]
    editor.cmd("Acp new more")
    editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    params = traffic.received("session/new")[1]["params"]
    assert [it["name"] for it in params["mcpServers"]] == ["neovim"]
    assert params["systemPrompt"]["content"] == [{"type": "text", "text": "The agent's."}]


def test_an_agent_without_system_prompts_is_named_in_the_chat(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"presets": {"brief": {"system_prompt": "Be brief."}}})
    new(editor, "brief")
    editor.turn("say hello")
    assert "The system prompt was left out" in "\n".join(editor.chat())


def test_a_preset_survives_the_host_and_the_agent(editor: Editor) -> None:
    traffic = storing_agent(editor, {}, new_session=MODES)
    editor.setup({"presets": {"work": {"model": "large", "rules": [DENY_EDITS], "tools": False}}})
    new(editor, "work")
    editor.turn("say one")
    editor.cmd("Acp restart")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    kill_host(editor)
    editor.turn("say two")
    assert editor.session()["preset"] == "work"
    assert all(it["params"]["mcpServers"] == [] for it in traffic.received("session/resume"))
    assert traffic.received("session/resume")
    editor.turn(EDIT)
    assert not editor.session().get("permissions")


def test_a_fork_and_a_stored_session_have_the_preset_of_their_session(editor: Editor) -> None:
    storing_agent(editor, {}, new_session=MODES)
    editor.setup({"presets": {"work": {"rules": [DENY_EDITS]}}})
    install_picker(editor)
    new(editor, "work")
    editor.turn("say one")
    title = picker_title(editor)
    pick(editor, "Acp sessions fork", title)
    editor.wait("(require('acp').state().sessions[2] or {}).preset == 'work'")
    editor.wait("require('acp').state().sessions[2].status == 'idle'")
    pick(editor, "Acp sessions close", title)


def picker_title(editor: Editor) -> str:
    """Return the entry of the only session in the choice of `:Acp sessions`."""
    pick(editor, "Acp sessions")
    items: list[str] = picker_questions(editor)[-1]["items"]
    return items[0].partition("  (")[0]


def test_agents_and_presets_complete(editor: Editor) -> None:
    two_agents(editor)
    editor.setup({"presets": {"overnight": {}, "read": {}}})
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert editor.lua(complete, "Acp preset ") == ["overnight", "read"]
    assert editor.lua(complete, "Acp new o") == ["opencode", "openhands", "other", "overnight"]
    message = "Unknown agent or preset 'overnigt', did you mean 'overnight'?"
    with pytest.raises(EditorError, match=re.escape(message)):
        editor.cmd("Acp new overnigt")


SHOULD = "Option 'presets.work."
ALLOW = ", did you mean 'allow'?"
MISTAKES = lua_chunk(__file__, "preset_mistakes")


PRESETS: list[tuple[str, list[str]]] = [
    ("{ work = {} }", []),
    ("{}", []),
    ("{ { agent = 'tutor' } }", ["Option 'presets' should be a table with names as keys"]),
    ("1", ["Option 'presets' should be a table with names as keys"]),
    ("{ work = 1 }", ["Option 'presets.work' should be a table with names as keys"]),
    (
        "{ work = { agent = 'tutr' } }",
        ["Unknown agent of preset 'work': 'tutr', did you mean 'tutor'?"],
    ),
    (
        "{ work = { modek = 'x' } }",
        ["Unknown option 'presets.work.modek', did you mean 'presets.work.mode'?"],
    ),
    ("{ work = { model = 1 } }", ["Option 'presets.work.model' should be a string"]),
    (
        "{ work = { rules = { { action = 'alow' } } } }",
        [f"{SHOULD}rules[1].action' should be one of 'allow', 'deny', 'ask'{ALLOW}"],
    ),
    (
        "{ work = { rules = { kind = 'edit' } } }",
        ["Option 'presets.work.rules' should be a list"],
    ),
    (
        "{ work = { options = { fast = {} } } }",
        [f"{SHOULD}options' should be a table in which 'fast' is a string or a boolean"],
    ),
]


def test_each_mistake_in_a_preset_is_one_line(front: Editor) -> None:
    for value, mistakes in PRESETS:
        assert front.lua(MISTAKES, value) == [mistakes, not mistakes and value != "{}"], value
