"""Lua code of tests, in `lua/NAME.lua` beside the module that uses it."""

from __future__ import annotations

from pathlib import Path


def lua_chunk(module: str, name: str) -> str:
    """Return the text of a chunk for `Editor.lua`, given the `__file__` of the module."""
    return lua_file(module, name).read_text(encoding="utf-8")


def lua_call(module: str, name: str, *arguments: str) -> str:
    """Return Lua that runs a chunk, to be part of other Lua: a statement or an expression.

    The arguments are Lua expressions.
    """
    return f"loadfile([[{lua_file(module, name)}]])({', '.join(arguments)})"


def lua_file(module: str, name: str) -> Path:
    """Return the path of a chunk."""
    return Path(module).resolve().parent / "lua" / f"{name}.lua"
