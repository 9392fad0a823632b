"""Initial values of options, and effects of a stored session (rfds/session-options)."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.stored_sessions import ALL, MODES, stored


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_session_starts_with_the_configured_values(editor: Editor, protocol: int) -> None:
    install_picker(editor)
    capabilities = json.loads(json.dumps(ALL))
    capabilities["sessionCapabilities"]["options"] = {}
    path = stored(editor, {"s1": {"title": "An old one"}})
    traffic = editor.agent(
        "stores",
        path,
        capabilities=capabilities,
        new_session={"configOptions": MODES["configOptions"]},
        options={"model": "large", "fast": True},
        protocol=protocol,
    )
    editor.turn("say one")
    given = traffic.received("session/new")[0]["params"]["configOptions"]
    first = {"configId": "model", "value": "large"}
    assert sorted(given, key=lambda it: it["configId"], reverse=True) == [
        first | ({} if protocol == 1 else {"type": "id"}),
        {"configId": "fast", "value": True, "type": "boolean"},
    ]
    assert not traffic.received("session/set_config_option")
    assert [it["currentValue"] for it in editor.session()["options"]] == ["large", True]
    pick(editor, "Acp sessions", "An old one")
    editor.wait("#_G.acp_asked == 2")
    assert "Large" in picker_questions(editor)[1]["prompt"]
    params = traffic.received("session/options")[0]["params"]
    assert params == {"cwd": str(editor.work), "sessionId": "s1"}


def test_an_agent_without_initial_options_gets_them_afterwards(editor: Editor) -> None:
    path = stored(editor, {})
    traffic = editor.agent(
        "stores", path, capabilities=ALL, new_session=MODES, options={"model": "large"}
    )
    editor.turn("say one")
    assert "configOptions" not in traffic.received("session/new")[0]["params"]
    assert traffic.received("session/set_config_option")[0]["params"]["value"] == "large"
