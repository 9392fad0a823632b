"""Real agents that get the editor's own tools over HTTP (option `tools_http`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real import kit
from tests.support.editor import Editor
from tests.support.traffic import Traffic

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]


@pytest.fixture
def model(tmp_path: Path) -> Iterator[kit.Model]:
    try:
        served = kit.Model(tmp_path / "model.log")
    except kit.Missing as missing:
        pytest.skip(str(missing))
    yield served
    served.close()


def begun(edit: Callable[..., Editor], name: str, model: kit.Model) -> tuple[Editor, Traffic]:
    """An editor whose agent is that one."""
    agent = kit.agent(name)
    if not agent.installed():
        pytest.skip(f"{name} is not installed")
    editor = edit()
    traffic = agent.configure(editor, model.url)
    editor.setup({"tools_http": True})
    return editor, traffic


@pytest.mark.parametrize("name", ["claude-old", "gemini", "kimi-code"])
def test_unsaved_text_is_read(edit: Callable[..., Editor], name: str, model: kit.Model) -> None:
    editor, traffic = begun(edit, name, model)
    buffer = editor.open(editor.write("notes.txt", "alpha\nbeta\n"))
    editor.lua("vim.api.nvim_buf_set_lines(..., 0, 1, false, { 'alpha unsaved' })", buffer)
    kit.see_through(editor, 'SCRIPT:mcp read {"path": "notes.txt"}')
    (server,) = traffic.received("session/new")[0]["params"]["mcpServers"]
    assert (server["type"], server["name"]) == ("http", "neovim")
    text = kit.chat_text(editor)
    assert "alpha unsaved" in text[text.index("Tool said:") :]
    use = editor.session()["tools"]
    assert (use["connected"] > 0, use["calls"], use["failed"]) == (True, 1, 0)
    assert not editor.events("AcpPermission")
