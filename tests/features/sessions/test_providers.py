"""Providers of an agent: listed, set and disabled by the user, in a real Neovim."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_provider_is_set_with_headers_that_are_never_shown(editor: Editor, protocol: int) -> None:
    install_picker(editor)
    editor.lua("vim.fn.inputsecret = function(p) _G.secret_prompt = p return 'Bearer abc-123' end")
    traffic = editor.agent("has_providers", protocol=protocol)
    editor.turn("hi")
    assert "provider" in editor.lua("return vim.fn.getcompletion('Acp option ', 'cmdline')")
    answers = ["main: anthropic https://api.example.com (required)", "Set its address and headers"]
    answers += ["openai", "https://here.example.com/v1", "Authorization"]
    questions = pick(editor, "Acp option provider", *answers)
    assert "spare: openai https://spare.example.com" in questions[0]["items"]
    assert questions[1]["items"] == ["Set its address and headers"], "a required one stays"
    assert questions[3]["items"] == ["https://api.example.com"]
    assert traffic.wait("providers/set")["params"] == {
        "providerId": "main",
        "apiType": "openai",
        "baseUrl": "https://here.example.com/v1",
        "headers": {"Authorization": "Bearer abc-123"},
    }
    editor.wait_message("main is at https://here.example.com/v1 for new sessions")
    assert "Authorization" in editor.lua("return _G.secret_prompt")
    editor.cmd(f"Acp log save {editor.home}/log.jsonl")
    editor.wait_message("lines of traffic to")
    log = (editor.home / "log.jsonl").read_text()
    assert "providers/set" in log
    assert "abc-123" not in log
    assert "abc-123" not in editor.messages()


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_provider_can_be_disabled_before_there_is_a_session(
    editor: Editor, protocol: int
) -> None:
    install_picker(editor)
    traffic = editor.agent("has_providers", protocol=protocol)
    pick(editor, "Acp option provider spare", "Disable it")
    assert traffic.wait("providers/disable")["params"] == {"providerId": "spare"}
    editor.wait_message("spare is disabled for new sessions")
    pick(editor, "Acp option provider")
    assert "spare: disabled" in picker_questions(editor)[-1]["items"]
    editor.cmd("Acp option provider nowhere")
    editor.wait_message("No provider nowhere. Known: main, spare")


def test_an_agent_without_providers_is_reported(editor: Editor) -> None:
    editor.agent("hello")
    editor.turn("hi")
    editor.cmd("Acp option provider")
    editor.wait_message("Scripted has no providers to set")
