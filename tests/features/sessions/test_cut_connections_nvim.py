"""Connections that end at any moment: no prompt is lost, and none is sent twice."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.editor import Editor
from tests.support.remote_server import RemoteServer
from tests.support.waiting import until

PROMPTS = 8
CUT_AS_IT_ARRIVES = (1, 4, 6)
CUT_AS_IT_IS_SENT = (2, 5)


def word_of(frame: Any) -> str:
    """Return the word of a prompt; in a new session, blocks with the conversation so far precede
    it.
    """
    texts = [str(block.get("text", "")) for block in frame["params"]["prompt"]]
    return next(text for text in reversed(texts) if text.startswith("say ")).split()[1]


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_each_prompt_is_sent_once_or_returns(editor: Editor, scheme: str) -> None:
    with ExitStack() as stack:
        proxies: list[CuttingProxy] = []

        def serve(command: list[str], env: dict[str, str]) -> str:
            server = stack.enter_context(RemoteServer(command, env))
            proxies.append(stack.enter_context(CuttingProxy(server.port)))
            return f"{scheme}://127.0.0.1:{proxies[0].port}/acp"

        traffic = editor.agent("script", elsewhere=serve)

        def sent() -> list[str]:
            return [word_of(frame) for frame in traffic.received("session/prompt")]

        def words() -> set[str]:
            """Return the words that arrived and those that are back in the composer."""
            sessions = editor.state()["sessions"]
            composer = editor.session().get("composer_bufnr") if sessions else None
            code = "return vim.api.nvim_buf_get_lines(..., 0, -1, true)"
            lines = editor.lua(code, composer) if composer else []
            return {*sent(), *(line.split()[1] for line in lines if line.startswith("say "))}

        def has(n: int) -> bool:
            return f"word{n}" in words()

        for n in range(PROMPTS):
            editor.lua("require('acp').prompt(...)", f"say word{n}\nsay more{n}")
            if n in CUT_AS_IT_ARRIVES:
                until(partial(has, n))
            if n in (*CUT_AS_IT_ARRIVES, *CUT_AS_IT_IS_SENT):
                proxies[0].cut()
        until(lambda: words() >= {f"word{n}" for n in range(PROMPTS)})
        editor.wait("require('acp').state().sessions[1].status == 'idle'")
        assert len(sent()) == len(set(sent()))
        assert editor.session()["queue"] == []
        assert editor.events("AcpAgentExit") == []
        editor.turn("say done", 30)
        assert "done" in editor.chat()
        editor.quit()
