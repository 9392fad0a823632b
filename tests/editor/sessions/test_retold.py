"""A session that the agent can't take up again goes on as a new one that is told what was said."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor


def _texts(prompt: dict[str, Any]) -> list[str]:
    return [block["text"] for block in prompt["params"]["prompt"] if block["type"] == "text"]


def test_the_next_prompt_takes_the_conversation_along(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say the answer is 42")
    editor.cmd("Acp restart")
    editor.wait("table.concat(vim.fn.getbufline('acp://chat/1', 1, '$')):find('A new session')")
    assert "takes the conversation so far" in " ".join(editor.chat()).replace("   ", "")
    agent.wait("session/new", 2)
    editor.turn("/compact now")
    assert _texts(agent.received("session/prompt")[-1]) == ["/compact now"], "a command stays first"
    editor.turn("say and now")
    told, words = _texts(agent.received("session/prompt")[-1])
    assert words == "say and now"
    assert "the answer is 42" in told
    assert "A new session" not in told
    editor.turn("say the rest")
    assert _texts(agent.received("session/prompt")[-1]) == ["say the rest"]


def test_it_is_told_again_where_the_agent_has_refused_it(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say the answer is 42")
    editor.cmd("Acp restart")
    agent.wait("session/new", 2)
    editor.turn("stop error")
    assert len(_texts(agent.received("session/prompt")[-1])) == 2
    editor.turn("say and now")
    told, _ = _texts(agent.received("session/prompt")[-1])
    assert "the answer is 42" in told
