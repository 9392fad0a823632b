"""Sessions that an agent cannot reopen: the conversation so far is sent with the next prompt."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.prompt_texts import transcript_in, words
from tests.support.stored_sessions import storing_agent


def test_the_transcript_is_not_sent_again_after_the_end_of_a_process(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say the answer is 42")
    editor.cmd("Acp restart")
    agent.wait("session/new", 2)
    editor.wait("table.concat(vim.fn.getbufline('acp://chat/1', 1, '$')):find('New session')")
    assert "does not remember" in " ".join(" ".join(editor.chat()).split())
    editor.turn("say and now")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["say and now"], "")


def test_the_transcript_is_sent_again_after_the_agent_refused_it(editor: Editor) -> None:
    agent = storing_agent(editor, {}, without="fork")
    editor.turn("say the answer is 42")
    editor.turn("say more")
    editor.cmd("Acp rewind 2")
    editor.wait("require('acp').state().current == 2")
    agent.wait("session/new", 2)
    editor.turn("stop error")
    assert "the answer is 42" in transcript_in(agent.received("session/prompt")[-1])
    editor.turn("/compact now")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["/compact now"], ""), (
        "a command takes no more text"
    )
    editor.turn("say and now")
    prompt = agent.received("session/prompt")[-1]
    assert words(prompt) == ["say and now"]
    assert "the answer is 42" in transcript_in(prompt)
    editor.turn("say the rest")
    prompt = agent.received("session/prompt")[-1]
    assert (words(prompt), transcript_in(prompt)) == (["say the rest"], "")
