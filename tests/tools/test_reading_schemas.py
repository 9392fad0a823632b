"""Descriptions of the reading tools for agents."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.features.tools.tool_list import reading_tools, writing_tools
from acp_nvim.tools.asking.read_file import read_tool
from acp_nvim.tools.server.arguments import input_schema
from acp_nvim.tools.server.tool import Tool
from tests.support.tool_schemas import faults

TOOLS: list[Tool[Any]] = reading_tools(*[None] * 4)  # type: ignore[arg-type]
ALL: list[Tool[Any]] = [
    *TOOLS,
    *writing_tools(*[None] * 3),  # type: ignore[arg-type]
    read_tool(None),  # type: ignore[arg-type]
]
NAMES = (
    *("diagnostics", "symbols", "definition", "references", "hover", "calls", "buffers", "search"),
    *("quickfix", "show"),
)


def test_the_tools_are_those_of_the_contract() -> None:
    assert [tool.name for tool in TOOLS] == [f"nvim_{name}" for name in NAMES]
    assert not any(tool.writes for tool in TOOLS)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_describes_its_result_with_an_example(tool: Tool[Any]) -> None:
    schema = input_schema(tool.arguments)
    assert schema["additionalProperties"] is False
    assert "Example" in tool.description
    assert len(tool.description) < 400
    described = [name for name, it in schema["properties"].items() if "description" in it]
    assert {"path", "line", "pattern"} & schema["properties"].keys() <= set(described)


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
def test_no_argument_has_a_reserved_name_and_schemas_are_plain(tool: Tool[Any]) -> None:
    assert faults(input_schema(tool.arguments)) == []


def test_the_argument_of_a_definition_is_called_target() -> None:
    (definition,) = [tool for tool in TOOLS if tool.name == "nvim_definition"]
    target = input_schema(definition.arguments)["properties"]["target"]
    assert target["enum"] == ["declaration", "definition", "implementation", "type"]
    assert "(default: definition)" in target["description"]
