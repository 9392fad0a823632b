"""Declarations of features in Lua name functions that exist and signals that are sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

ROOT = Path(__file__).resolve().parent.parent.parent
FEATURES = ROOT / "lua/acp/features"
LUA = [path.read_text(encoding="utf-8") for path in ROOT.glob("lua/**/*.lua")]

DECLARED = lua_chunk(__file__, "declarations")


@pytest.fixture
def features() -> list[str]:
    names = (FEATURES / "init.lua").read_text(encoding="utf-8").partition("NAMES = {")[2]
    return re.findall(r"^  '(\w+)',$", names.partition("}")[0], re.MULTILINE)


@pytest.fixture
def declared(edit: Callable[..., Editor], features: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = edit(screen=None).lua(DECLARED, features)
    return found


def test_the_list_has_a_line_for_each_folder(features: list[str]) -> None:
    assert sorted(features) == sorted(path.name for path in FEATURES.iterdir() if path.is_dir())


def test_a_declaration_names_functions_of_its_folder(declared: dict[str, Any]) -> None:
    assert declared["missing"] == []


def test_all_signals_are_described(declared: dict[str, Any]) -> None:
    text = (ROOT / "lua/acp/base/signals.lua").read_text(encoding="utf-8")
    described = set(re.findall(r"^---   (\w+) \(", text, re.MULTILINE))
    sent = {name for it in LUA for name in re.findall(r"\bemit\(\s*'(\w+)'", it)}
    afterwards = {name for it in LUA for name in re.findall(r"\(emit, '(\w+)'", it)}
    assert described == sent | afterwards | {"composer_wanted", "cancel_pressed"}
    assert set(declared["signals"]) <= described


DEFAULT_ACTIONS = lua_chunk(__file__, "default_actions")


def test_every_action_has_a_default_key(
    declared: dict[str, Any], edit: Callable[..., Editor]
) -> None:
    """The default keys are the list of the names that the option `keymaps` may have."""
    defaults = edit(screen=None).lua(DEFAULT_ACTIONS)
    for window, actions in declared["windows"].items():
        assert set(actions) - {"help"} == set(defaults[window]) - {"help"}, window
    assert defaults.keys() == declared["windows"].keys() | {"view"}


LOADED = lua_chunk(__file__, "loaded_declarations")


LATER = {
    "acp.features.permissions.float",
    "acp.features.plan.view",
    "acp.features.prompts.composer",
    "vim.lsp",
}
"""Modules that hold the editor for a millisecond or more while they are loaded."""


def test_a_first_turn_loads_only_the_modules_it_needs(edit: Callable[..., Editor]) -> None:
    editor = edit(screen=None)
    editor.lua(LOADED)
    editor.agent("hello")
    editor.turn("hello")
    # The declarations of other features would delay the first prompt by a third.
    assert editor.lua("return _G.at_start") == ["prompts"]
    assert LATER.isdisjoint(editor.lua("return vim.tbl_keys(package.loaded)"))


def test_setup_loads_no_declaration_and_no_text_of_a_mistake(edit: Callable[..., Editor]) -> None:
    editor = edit(screen=None)
    loaded = editor.lua(
        "require('acp').setup({ agent = 'tutor', chat = { size = 0.5 } }) "
        "return vim.tbl_filter(function(name) return name:match('^acp') end, "
        "vim.tbl_keys(package.loaded))"
    )
    assert [name for name in loaded if name.startswith("acp.features.")] == []
    assert "acp.base.text.nearest" not in loaded
