"""Modes, config options and the models of older agents: shown at once, reverted on refusal."""

from __future__ import annotations

from typing import Any, cast

import anyio
import anyio.lowlevel
import msgspec
import pytest

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.choices import set_option
from acp_nvim.protocol import codec, schema
from acp_nvim.session.session import Session
from tests.support.editor import Editor
from tests.support.traffic import Traffic

MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}
MODELS = {
    "currentModelId": "small",
    "availableModels": [
        {"modelId": "small", "name": "Small", "description": None},
        {"modelId": "large"},
    ],
}


def select(id: str, values: list[Any], category: str | None = None) -> dict[str, Any]:
    first = values[0].get("value") or values[0]["options"][0]["value"]
    option = {"id": id, "name": id.title(), "type": "select", "currentValue": first}
    return {**option, "options": values, **({"category": category} if category else {})}


FLAT = select("level", [{"value": v, "name": v.title()} for v in ("low", "high")], "thought_level")
GROUPED = select(
    "llm",
    [
        {"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}]},
        {"group": "h", "name": "H", "options": [{"value": "b", "name": "B"}]},
    ],
    "model",
)
SWITCH = {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False}
SLIDER = {"id": "heat", "name": "Heat", "type": "slider", "currentValue": 0.5}
MODE = select("m", [{"value": v, "name": v.title()} for v in ("plan", "build")], "mode")


def open_session(editor: Editor, *refused: str, **new_session: Any) -> Traffic:
    agent = editor.agent("chooser", *refused, new_session=new_session)
    editor.turn("say hi")
    return agent


def value(editor: Editor, id: str) -> Any:
    return next(o for o in editor.session()["options"] if o["id"] == id)["currentValue"]


def wait_value(editor: Editor, id: str, wanted: str) -> None:
    editor.wait(
        "vim.iter(require('acp').state().sessions[1].options):any(function(o)"
        f" return o.id == '{id}' and o.currentValue == {wanted} end)"
    )


def test_without_choices_modes_and_models_have_one_message(editor: Editor) -> None:
    editor.agent("hello")
    editor.turn("go")
    for noun in ("mode", "model"):
        editor.keys(f":Acp {noun} zz<CR>")
        editor.wait_message(f"acp: No {noun} to choose from")


def test_a_mode_is_set_when_the_agent_accepts_it(editor: Editor) -> None:
    agent = open_session(editor, modes=MODES)
    editor.cmd("Acp mode code")
    assert agent.wait("session/set_mode")["params"] == {"sessionId": "s1", "modeId": "code"}
    editor.wait("require('acp').state().sessions[1].modes.current == 'code'")
    editor.wait_message("acp: Mode: Code")
    editor.turn('update {"sessionUpdate":"current_mode_update","currentModeId":"ask"}')
    assert editor.session()["modes"]["current"] == "ask"


def test_a_refused_mode_is_reverted_with_one_message(editor: Editor) -> None:
    agent = open_session(editor, "code", modes=MODES)
    editor.cmd("Acp mode code")
    agent.wait("session/set_mode")
    editor.wait_message("mode: no code today")
    assert "Mode: " not in editor.messages()
    assert editor.session()["modes"]["current"] == "ask"


def test_options_of_every_kind_can_be_set(editor: Editor) -> None:
    agent = open_session(editor, configOptions=[GROUPED, FLAT, SWITCH, SLIDER])
    assert [o["id"] for o in editor.session()["options"]] == ["llm", "level", "fast"]
    editor.cmd("Acp model b")
    editor.cmd("Acp option level high")
    editor.cmd("Acp option fast true")
    agent.wait("session/set_config_option", 3)
    sent = [f["params"] for f in agent.received("session/set_config_option")]
    assert sent == [
        {"sessionId": "s1", "configId": "llm", "value": "b"},
        {"sessionId": "s1", "configId": "level", "value": "high"},
        {"sessionId": "s1", "configId": "fast", "value": True, "type": "boolean"},
    ]
    for id, wanted in (("llm", "'b'"), ("level", "'high'"), ("fast", "true")):
        wait_value(editor, id, wanted)
    for message in ("acp: Llm: B", "acp: Level: High", "acp: Fast: on"):
        editor.wait_message(message)


def test_a_refused_option_is_reverted(editor: Editor) -> None:
    agent = open_session(editor, "high", configOptions=[FLAT, SWITCH])
    editor.cmd("Acp option level high")
    editor.cmd("Acp option fast true")
    agent.wait("session/set_config_option", 2)
    editor.wait_message("option: no high today")
    wait_value(editor, "fast", "true")
    assert value(editor, "level") == "low"


def test_pickers_offer_options_and_their_values(editor: Editor) -> None:
    agent = open_session(editor, configOptions=[GROUPED, FLAT, SWITCH])
    editor.lua(
        "_G.asked = {} vim.ui.select = function(items, opts, done)"
        " table.insert(_G.asked, vim.tbl_map(opts.format_item, items)) done(items[2], 2) end"
    )
    editor.cmd("Acp option")
    agent.wait("session/set_config_option")
    first, second = editor.lua("return _G.asked")
    assert len(first) == 3
    assert [row.strip("* ") for row in second] == ["Low", "High"]
    assert agent.received("session/set_config_option")[0]["params"]["value"] == "high"


def test_the_mode_of_config_options_comes_before_modes(editor: Editor) -> None:
    agent = open_session(editor, modes=MODES, configOptions=[MODE])
    assert editor.session()["modes"]["current"] == "plan"
    assert [m["id"] for m in editor.session()["modes"]["available"]] == ["plan", "build"]
    editor.cmd("Acp mode build")
    sent = agent.wait("session/set_config_option")["params"]
    assert (sent["configId"], sent["value"]) == ("m", "build")
    editor.wait("require('acp').state().sessions[1].modes.current == 'build'")
    assert agent.received("session/set_mode") == []


def test_the_older_models_look_like_an_option(editor: Editor) -> None:
    agent = open_session(editor, models=MODELS)
    [option] = editor.session()["options"]
    assert (option["id"], option["category"], option["currentValue"]) == ("model",) * 2 + ("small",)
    assert [o["name"] for o in option["options"]] == ["Small", "large"]
    editor.cmd("Acp model large")
    sent = agent.wait("session/set_model")["params"]
    assert sent == {"sessionId": "s1", "modelId": "large"}
    wait_value(editor, "model", "'large'")
    editor.turn('update {"sessionUpdate":"config_option_update","configOptions":[]}')
    assert value(editor, "model") == "large"


def test_a_config_option_for_the_model_hides_the_older_ones(editor: Editor) -> None:
    agent = open_session(editor, models=MODELS, configOptions=[GROUPED])
    assert [o["id"] for o in editor.session()["options"]] == ["llm"]
    editor.cmd("Acp model b")
    agent.wait("session/set_config_option")
    assert agent.received("session/set_model") == []


@pytest.mark.parametrize(
    ("verb", "args", "message"),
    [
        ("mode", {"id": "x"}, "mode: no mode x. Modes: ask, code"),
        ("option", {"id": "x", "value": "y"}, "option: no option x. Options: level"),
        ("option", {"id": "level", "value": "y"}, "option: level has no value y. Values: low"),
    ],
)
def test_a_value_that_is_not_offered_is_never_sent(
    editor: Editor, verb: str, args: dict[str, Any], message: str
) -> None:
    agent = open_session(editor, modes=MODES, configOptions=[FLAT])
    editor.lua("require('acp.base.host').notify(...)", verb, args)
    editor.wait(f"vim.fn.execute('messages'):find('{message}', 1, true)")
    assert not agent.received("session/set_mode") + agent.received("session/set_config_option")
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufname() == 'acp://info'")
    assert "problems" not in editor.lines("acp://info"), "the user's mistake is none of the host"


def test_an_option_update_of_the_agent_replaces_all(editor: Editor) -> None:
    open_session(editor, configOptions=[FLAT, SWITCH])
    editor.turn("updates")
    assert [o["id"] for o in editor.session()["options"]] == ["model"]
    assert editor.session()["commands"][1] == {
        "name": "edit",
        "description": "Edit a file",
        "hint": "path",
    }


class AnswersLast:
    """Agent that answers the later of two requests first."""

    def __init__(self) -> None:
        self.second = anyio.Event()

    async def set_config_option(self, session_id: str, option_id: str, value: Any) -> Any:
        if value == "high":
            await self.second.wait()
        else:
            self.second.set()
        return [decoded({**FLAT, "currentValue": value})]


def decoded(option: dict[str, Any]) -> Any:
    return codec.decode(schema.SessionConfigSelect, msgspec.json.encode(option))


async def test_the_last_value_that_was_set_remains() -> None:
    session, agent = Session(1, "a", "/"), AnswersLast()
    session.options = [decoded(FLAT)]
    async with anyio.create_task_group() as group:
        group.start_soon(set_option, session, cast("Agent", agent), "level", "high")
        await anyio.lowlevel.checkpoint()
        group.start_soon(set_option, session, cast("Agent", agent), "level", "low")
    assert [getattr(option, "current_value", None) for option in session.options] == ["low"]


# ---- the next mode


@pytest.mark.parametrize("choices", [{"modes": MODES}, {"configOptions": [MODE]}])
def test_a_key_in_chat_and_composer_goes_to_the_next_mode(
    editor: Editor, choices: dict[str, Any]
) -> None:
    agent = open_session(editor, **choices)
    modes = [mode["id"] for mode in editor.session()["modes"]["available"]]
    names = [mode["name"] for mode in editor.session()["modes"]["available"]]

    def at(number: int) -> None:
        editor.wait("require('acp').state().sessions[1].modes.current == ...", modes[number])
        editor.wait_message(f"Mode: {names[number]}")

    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("<S-Tab>")
    at(1)
    editor.cmd("messages clear")
    editor.keys("i")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.keys("<S-Tab>")
    at(0)
    editor.cmd("messages clear")
    editor.keys("<Esc><S-Tab>")
    at(1)
    editor.keys("<S-Tab><S-Tab>")
    method = "session/set_mode" if "modes" in choices else "session/set_config_option"
    agent.wait(method, 5)
    sent = [frame["params"] for frame in agent.received(method)]
    assert [it.get("modeId") or it.get("value") for it in sent[3:]] == modes


def test_the_key_says_if_there_is_no_other_mode(editor: Editor) -> None:
    open_session(editor)
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("<S-Tab>")
    editor.wait_message("The session has no other mode")
