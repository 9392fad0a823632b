"""A feature is a folder: it can be deleted, and a new one can be added."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim import wording
from tests.support.editor import Editor
from tests.support.rpc import EditorError
from tests.support.tree_copy import copy_tree, delete_feature


@pytest.mark.parametrize(("name", "verb"), [("history", "history_stats"), ("blame", "blame")])
def test_a_turn_works_without_a_feature(
    name: str, verb: str, edit: Callable[..., Editor], tmp_path: Path
) -> None:
    root = copy_tree(tmp_path / "copy")
    delete_feature(root, name)
    editor = edit(root=root)
    editor.agent("echo")
    editor.write("a.txt", "one\n")
    editor.open("a.txt")
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    assert "hello" in "\n".join(editor.chat())
    assert editor.messages() == ""
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    assert "problems" not in editor.lines("acp://info")
    editor.lua("require('acp.base.host').notify(...)", verb, {})
    editor.wait_message(wording.UNKNOWN_VERB.format(verb=verb))


@pytest.mark.parametrize("name", ["history", "blame"])
def test_commands_and_functions_of_a_deleted_feature_are_gone(
    name: str, edit: Callable[..., Editor], tmp_path: Path
) -> None:
    root = copy_tree(tmp_path / "copy")
    delete_feature(root, name)
    editor = edit(root=root)
    assert name not in editor.lua("return vim.fn.getcompletion('Acp ', 'cmdline')")
    with pytest.raises(EditorError, match=f"Unknown subcommand '{name}'"):
        editor.cmd(f"Acp {name}")
    editor.lua("vim.ui.select = function(rows) _G.rows = #rows end")
    editor.cmd("Acp")
    assert editor.lua("return _G.rows == #require('acp.features').names('subcommands')")
    assert editor.lua("return require('acp').history == nil") == (name == "history")
    editor.cmd("Acp chat")
