"""What agents are told of the reading tools."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.tools.arguments import input_schema
from acp_nvim.tools.reading import reading_tools
from acp_nvim.tools.tool import Tool

TOOLS: list[Tool[Any]] = reading_tools(*[None] * 4)  # type: ignore[arg-type]
NAMES = (
    *("diagnostics", "symbols", "definition", "references", "hover", "calls", "buffers", "search"),
    *("quickfix", "show"),
)


def test_they_are_those_of_the_contract() -> None:
    assert [tool.name for tool in TOOLS] == [f"nvim_{name}" for name in NAMES]
    assert not any(tool.writes for tool in TOOLS)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_says_what_it_gives_with_an_example(tool: Tool[Any]) -> None:
    schema = input_schema(tool.arguments)
    assert schema["additionalProperties"] is False
    assert "Example" in tool.description
    assert len(tool.description) < 400
    described = [name for name, it in schema["properties"].items() if "description" in it]
    assert {"path", "line", "pattern"} & schema["properties"].keys() <= set(described)
