"""Facts that both Lua and Python contain are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import fields

from acp_nvim.agent import connection, settings
from acp_nvim.files.bytes import roots
from acp_nvim.session import session
from tests.support.editor import ROOT, Editor

FROM_NEOVIM = {"stdpath", "neovim", "extensions"}
"""Fields of `Settings` that are not options."""
ONLY_LUAS = {"agents", "files.secret", "files.executed"}
"""Options whose defaults Python does not need, since Lua always sends them."""


def leaves(value: msgspec.Struct, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield name, type and value of each option."""
    hints = get_type_hints(type(value))
    for field in fields(value):
        name, of = f"{prefix}{field.name}", getattr(value, field.name)
        if isinstance(of, msgspec.Struct):
            yield from leaves(of, f"{name}.")
        else:
            yield name, hints[field.name], of


OPTIONS = [it for it in leaves(settings.Settings()) if it[0] not in FROM_NEOVIM]


def test_options_and_paths_are_the_same_in_lua_and_in_python(editor: Editor) -> None:
    sent = editor.lua("return require('acp.config').for_host()")
    decoded = {name: of for name, _, of in leaves(settings.decode(sent))}
    usual = {name: of for name, _, of in OPTIONS if name not in ONLY_LUAS}
    assert {name: decoded[name] for name in usual} == usual
    absent = editor.lua("return require('acp.config').optional")
    for name, _, _ in OPTIONS:
        table = sent
        for part in name.split("."):
            assert part in table or name in absent, f"no option {name}"
            table = table.get(part)

    paths = ["/", "/home/me/a b", "/x" * 500, "/ä/日本", "/.git"]
    digits = editor.lua("return vim.tbl_map(require('acp.base.workspaces').digits, ...)", paths)
    assert digits == [roots.name(path) for path in paths]


def test_options_have_the_same_choices_in_lua_and_in_python(editor: Editor) -> None:
    choices = {name: get_args(kind) for name, kind, _ in OPTIONS if get_origin(kind) is Literal}
    assert "files.outside" in choices
    for name, values in choices.items():
        options: Any = "no such choice"
        for part in reversed(name.split(".")):
            options = {part: options}
        editor.lua("require('acp').setup(...)", options)
        (mistake,) = editor.lua("return require('acp.config').mistakes")
        assert "one of '" + "', '".join(values) + "'" in mistake


def test_lua_documents_the_states_that_python_sends() -> None:
    types = (ROOT / "lua/acp/types.lua").read_text(encoding="utf-8")
    for name, states in (("Agent", connection.Status), ("Session", session.Status)):
        (found,) = re.findall(rf"---@class acp\.{name}\n(?:---@.*\n)*?---@field status (.*)", types)
        assert found.replace("'", "").split("|") == list(get_args(states))
