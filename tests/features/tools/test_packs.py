"""Tools for nvim-dap and neotest, with stand-ins that follow their documentation, and with the
plugins themselves if they are there (`ACP_PLUGINS`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from acp_nvim.tools.server.user_tools import input_schema
from tests.support.editor import ROOT, Editor
from tests.support.lua import lua_chunk
from tests.support.plugins import add_plugins
from tests.support.tool_caller import Caller
from tests.support.tool_schemas import faults

KINDS = ["stand-in", "plugin"]
APP = "def add():\n    total = 3\n    return total\n\nadd()\n"

DAP_STAND_IN = lua_chunk(__file__, "fake_dap")
DAP_PLUGIN = lua_chunk(__file__, "start_dap")
NEOTEST_STAND_IN = lua_chunk(__file__, "fake_neotest")
NEOTEST_PLUGIN = lua_chunk(__file__, "start_neotest")


@pytest.fixture
def on_path(editor: Editor) -> Callable[[str], None]:
    def prepare(kind: str) -> None:
        if kind == "plugin":
            add_plugins(editor, "nvim-dap", "neotest", "nvim-nio", "plenary.nvim")

    return prepare


def names(editor: Editor) -> list[str]:
    return [
        name for name in editor.session(1)["tools"]["names"] if "debug" in name or "test" in name
    ]


def structured(caller: Caller, tool: str, **arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = caller.call(tool, **arguments)["structuredContent"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_debugger_reports_its_state(
    editor: Editor, on_path: Callable[[str], None], kind: str
) -> None:
    path = str(editor.write("app.py", APP))
    editor.open("app.py")
    caller = Caller(editor)
    editor.turn("say hello")
    assert names(editor) == []
    on_path(kind)
    if kind == "plugin":
        editor.lua(DAP_PLUGIN, path, sys.executable, str(ROOT))
        editor.wait("require('dap').session() and require('dap').session().current_frame ~= nil")
    else:
        editor.lua(DAP_STAND_IN, path)
    tools = [f"nvim_debug_{name}" for name in ("breakpoints", "stack", "state", "variables")]
    editor.wait("#require('acp').state().sessions[1].tools.names >= ...", len(tools))
    editor.wait("vim.tbl_contains(require('acp').state().sessions[1].tools.names, ...)", tools[0])
    assert names(editor) == tools
    assert caller.text("debug_state") == "1 Launch: stopped at app.py:2 in add"
    assert caller.text("debug_stack") == "app.py:2 add [frame 10]\napp.py:5 main [frame 11]"
    assert caller.text("debug_variables") == (
        "Locals · total: int = 3\nLocals · box: Box = <Box> [reference 2]"
    )
    assert caller.text("debug_variables", reference=2) == "size: int = 7"
    assert "... and 1 more" in caller.text("debug_stack", limit=1)
    assert caller.text("debug_breakpoints") == "app.py:2 total = 3 (condition: total > 2)"
    assert structured(caller, "debug_stack")["frames"][0]["path"] == "app.py"
    assert "session: expected" in caller.error("debug_stack", session="one")
    assert "no debug session 99" in caller.error("debug_variables", session=99)
    if kind == "plugin":
        editor.lua("require('dap').terminate() require('dap').close()")
        editor.wait("not next(require('dap').sessions())")
        assert caller.text("debug_state") == "there is no debug session"


@pytest.mark.parametrize("kind", KINDS)
def test_tests_are_listed_and_run_once_the_user_agrees(
    editor: Editor, on_path: Callable[[str], None], kind: str
) -> None:
    file = str(
        editor.write("test_app.py", "def good():\n    pass\n\ndef bad():\n    assert 1 == 2\n")
    )
    on_path(kind)
    editor.lua(NEOTEST_PLUGIN if kind == "plugin" else NEOTEST_STAND_IN, str(editor.work))
    caller = Caller(editor)
    listed = caller.text("tests_list")
    assert listed == (f"test_app.py:1 good (id: {file}::good)\ntest_app.py:4 bad (id: {file}::bad)")
    assert names(editor) == ["nvim_tests_list", "nvim_tests_results", "nvim_tests_run"]
    assert "no result is known" in caller.text("tests_results")

    editor.prompt(f"mcp nvim_tests_run {json.dumps({'path': 'test_app.py'})}")
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    assert editor.session(1)["permissions"][0]["kind"] == "execute"
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 3)
    assert caller.results("tests_run")[-1]["content"][0]["text"] == "the user refused"
    assert editor.lua("return _G.runs") is None

    editor.prompt(f"mcp nvim_tests_run {json.dumps({'id': file})}")
    editor.wait("#require('acp').state().sessions[1].permissions > 0")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 4)
    result = caller.results("tests_run")[-1]
    assert result["content"][0]["text"] == (
        "1 passed, 1 failed, 0 skipped\n"
        "failed test_app.py:4 bad\n  test_app.py:5: no: 1 == 2\n"
        "passed test_app.py:1 good"
    )
    assert editor.lua("return _G.runs") == 1
    assert caller.text("tests_results", id=f"{file}::bad").startswith("0 passed, 1 failed")
    assert structured(caller, "tests_results")["counts"]["failed"] == 1
    assert "[failed]" in caller.text("tests_list", path="test_app.py")


@pytest.mark.parametrize("pack", ["debug", "tests"])
def test_no_argument_of_a_pack_has_a_reserved_name(editor: Editor, pack: str) -> None:
    code = "return vim.tbl_map(function(it) return vim.json.encode(it.schema) end, require(...))"
    schemas: dict[str, str] = editor.lua(code, f"acp.features.tools.packs.{pack}")
    assert len(schemas) > 2
    assert {name: faults(input_schema(it)) for name, it in schemas.items()} == {
        name: [] for name in schemas
    }


def test_a_list_of_tools_excludes_those_it_does_not_name(editor: Editor) -> None:
    path = str(editor.write("app.py", APP))
    editor.open("app.py")
    editor.lua(DAP_STAND_IN, path)
    editor.agent("script", tools=["nvim_read", "nvim_debug_state"])
    editor.turn("say hello")
    assert editor.session(1)["tools"]["names"] == ["nvim_read", "nvim_debug_state"]
