"""Scripted language servers (`language_server`) in a test's Neovim, and requests to them."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

from tests.support.editor import ROOT, Editor
from tests.support.lua import lua_chunk

SERVE = lua_chunk(__file__, "start_server")
BEGIN = "require('acp.base.host.async_calls').begin(...)"
REPLY = """
for _, sent in ipairs(_G.sent) do
  if sent[1] == 'async_reply' and sent[2].id == ... then return sent[2] end
end
"""
_numbers = itertools.count(1)


class LuaError(Exception):
    """Error of a Lua function."""


def serve(editor: Editor, pattern: str = "*.txt", **script: Any) -> None:
    """Start a server for all files that match a pattern, as a user's configuration does.
    `language_server` documents the script.
    """
    name = script.setdefault("name", "words")
    argv = [sys.executable, "-m", "tests.support.language_server", json.dumps(script)]
    editor.lua(SERVE, name, argv, str(ROOT), pattern)


def wait_attached(editor: Editor, name: str, count: int = 1) -> None:
    """Wait until this number of servers serve the buffer of a file of the project."""
    path = str(editor.work / name)
    there = "#vim.lsp.get_clients({ bufnr = vim.fn.bufnr((...)) }) >= select(2, ...)"
    editor.wait(f"return {there}", path, count)


def received(log: Path, method: str) -> list[dict[str, Any]]:
    """Return the messages with this method that a server has got so far."""
    # the last line may be incomplete
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [message for line in lines if (message := json.loads(line)).get("method") == method]


def begin(editor: Editor, module: str, function: str, *args: Any) -> int:
    """Begin a Lua function that answers later, in an editor without a host; return its number."""
    number = next(_numbers)
    editor.lua(BEGIN, number, module, function, *args)
    return number


def answer(editor: Editor, number: int) -> Any:
    """Wait for its answer. Raise LuaError with the message of an error."""
    reply = editor.wait(REPLY, number)
    if reply.get("error") is not None:
        raise LuaError(reply["error"])
    return reply.get("value")


def call(editor: Editor, module: str, function: str, *args: Any) -> Any:
    """Begin the function and wait for its answer."""
    return answer(editor, begin(editor, module, function, *args))
