"""The reading tools with language servers of other people, where they are on PATH:
`pip install basedpyright`.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.tool_caller import Caller

pytestmark = [pytest.mark.agents, pytest.mark.timeout(150)]

START = """
local command, pattern = ...
vim.api.nvim_create_autocmd('FileType', {
  pattern = pattern,
  callback = function(args)
    vim.lsp.start({ name = command[1], cmd = command, root_dir = vim.fn.getcwd() })
  end,
})
"""
LIB = '''
class Box:
    """Holds a number."""

    def __init__(self, size: int) -> None:
        self.size = size

    def grow(self, by: int) -> int:
        """Make it larger."""
        self.size += by
        return self.size
'''.lstrip()
APP = """
from lib import Box


def main() -> None:
    box = Box(3)
    naïve = "🦆"; print(naïve, box.grow(2))
""".lstrip()


@pytest.fixture
def caller(editor: Editor) -> Caller:
    if shutil.which("basedpyright-langserver") is None:
        pytest.skip("basedpyright-langserver is not on PATH")
    editor.write("lib.py", LIB)
    editor.write("app.py", APP)
    editor.write("pyrightconfig.json", json.dumps({"typeCheckingMode": "standard"}))
    editor.lua(START, ["basedpyright-langserver", "--stdio"], "python")
    editor.open("lib.py")
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1", timeout=60)
    return Caller(editor)


def lines(caller: Caller, tool: str, **arguments: Any) -> list[str]:
    return caller.text(tool, **arguments).split("\n")


def test_basedpyright_answers_each_tool(caller: Caller) -> None:
    assert lines(caller, "definition", path="app.py", line=6, symbol="box.grow") == [
        "lib.py:7:9 def grow(self, by: int) -> int:"
    ]
    assert lines(caller, "references", path="lib.py", line=7, symbol="grow") == [
        'app.py:6:35 naïve = "🦆"; print(naïve, box.grow(2))',
        "lib.py:7:9 def grow(self, by: int) -> int:",
    ]
    assert "Make it larger" in caller.text("hover", path="app.py", line=6, symbol="grow")
    assert lines(caller, "symbols", path="lib.py", kinds=["class", "method"])[0] == (
        "lib.py:1:7 class Box: class Box:"
    )
    assert "lib.py:1:7" in caller.text("symbols", query="Box")
    assert "in main:" in caller.text("calls", path="lib.py", line=7, symbol="grow")


def test_basedpyright_says_what_an_edit_breaks(editor: Editor, caller: Caller) -> None:
    path = editor.work / "app.py"
    assert "error" not in caller.text("diagnostics", path="app.py", wait_ms=30_000)
    text = json.dumps(APP.replace("Box(3)", "Box('3')"))
    asked = json.dumps({"path": "app.py", "severity": "error", "wait_ms": 30_000})
    editor.turn(f"write {path} {text}\nmcp nvim_diagnostics {asked}", timeout=60)
    said = caller.told("diagnostics")[-1]["content"][0]["text"]
    assert said.startswith("app.py:5:15 error: Argument of type")
