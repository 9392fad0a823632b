"""Calls of the editor's own tools, with agents' names for them."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.session.calls.own_tools import needs_no_question, own_tool
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.calls.tool_use import Offered, ToolUse

USE = ToolUse(lambda: Offered(["nvim_read", "nvim_edit"], {"nvim_edit"}))


def call(title: str = "Tool", **fields: Any) -> ToolCall:
    return ToolCall("c", title, **{"kind": "other", **fields})


@pytest.mark.parametrize(
    "named",
    [
        call("nvim_read"),
        call("mcp__neovim__nvim_read"),
        call("mcp__neovim-2__nvim_read"),
        call("neovim_2_nvim_read"),
        call("nvim_read (neovim-2 MCP Server)"),
        call("mcp_neovim_nvim_read"),
        call("neovim/nvim_read"),
        call("neovim.nvim_read"),
        call("neovim - nvim_read"),
        call("Tool: neovim/nvim_read"),
        call("nvim_read (neovim MCP Server)"),
        call(name="mcp__neovim__nvim_read"),
        call(meta={"claudeCode": {"toolName": "mcp__neovim__nvim_read"}}),
        call(meta={"tool_name": "nvim_read"}),
    ],
)
def test_a_call_names_the_tool_in_the_forms_of_agents(named: ToolCall) -> None:
    assert own_tool(named, USE) == "nvim_read"
    assert needs_no_question(named, USE)


@pytest.mark.parametrize(
    "other",
    [
        call("nvim_read and more"),
        call("rm -rf / # nvim_read"),
        call("nvim_write"),
        call("mcp__other__nvim_read"),
        call("NVIM_READ"),
        call(meta={"note": "nvim_read"}),
        call("nvim_read\nrm"),
    ],
)
def test_other_calls_are_not_taken_for_editor_tools(other: ToolCall) -> None:
    assert own_tool(other, USE) is None
    assert own_tool(call("nvim_read"), None) is None
    assert own_tool(call("nvim_read"), ToolUse()) is None


@pytest.mark.parametrize("kind", ["edit", "delete", "move", "execute", "switch_mode"])
def test_a_changing_kind_asks(kind: str) -> None:
    assert not needs_no_question(call("nvim_read", kind=kind), USE)
    assert needs_no_question(call("nvim_edit", kind=kind), USE) is (kind == "edit")


def test_a_call_with_a_diff_a_terminal_or_a_command_asks() -> None:
    diff = schema.Diff("/w/a", "new")
    changes = FileChanges(schema.TextContent("modify /w/a"), paths=("/w/a",))
    for item in (diff, changes):
        assert not needs_no_question(call("nvim_edit", kind="edit", content=[item]), USE)
    assert not needs_no_question(call("nvim_read", content=[schema.Terminal("t1")]), USE)
    assert not needs_no_question(call("nvim_read", raw_input={"command": "rm -rf /"}), USE)
    edit = {"path": "a", "old_string": "a", "new_string": "b"}
    assert not needs_no_question(call("nvim_read", raw_input=edit), USE)
    assert needs_no_question(call("nvim_edit", raw_input=edit), USE)


@pytest.mark.parametrize(
    "named", [call("mcp__neovim__bash"), call("bash (neovim MCP Server)"), call("neovim/bash")]
)
def test_a_tool_of_the_user_is_known_by_the_servers_name_with_it(named: ToolCall) -> None:
    use = ToolUse(lambda: Offered(["nvim_read", "bash"]))
    assert own_tool(named, use) == "bash"
    assert needs_no_question(named, use)


def test_an_agents_own_tool_of_the_same_name_is_distinguished() -> None:
    use = ToolUse(lambda: Offered(["nvim_read", "bash"]))
    for other in (call("bash"), call(name="bash"), call(meta={"toolName": "bash"})):
        assert own_tool(other, use) is None
        assert not needs_no_question(other, use)
