"""A feature is a folder: it can be deleted, and a new one can be added."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim import wording
from tests.support.editor import ROOT, Editor
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.tree_copy import add_blocks, copy_tree, delete_feature

MISSING = lua_chunk(__file__, "missing_targets")


def assert_commands_are_gone(editor: Editor, name: str) -> None:
    """Assert that commands and functions of a deleted feature do not exist."""
    offered = editor.lua("return vim.fn.getcompletion('Acp ', 'cmdline')")
    assert name not in offered
    with pytest.raises(EditorError, match=f"Unknown subcommand '{name}'"):
        editor.cmd(f"Acp {name}")
    editor.lua("vim.ui.select = function(rows) _G.rows = #rows end")
    editor.cmd("Acp")
    assert editor.lua("return _G.rows == #require('acp.features').names('subcommands')")
    assert editor.lua("return require('acp').history == nil") == (name == "history")


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("history", "history_stats"),
        ("checkpoints", "rewind"),
        ("blame", "blame"),
        ("overview", None),
        ("presets", "preset"),
        ("refuse", "refuse"),
        ("library", "trust_prompt"),
        ("trust", "trust"),
        ("rules", "rules"),
    ],
)
def test_a_turn_works_without_a_feature(
    name: str, verb: str | None, edit: Callable[..., Editor], tmp_path: Path
) -> None:
    root = copy_tree(tmp_path / "copy")
    delete_feature(root, name)
    editor = edit(root=root)
    assert_commands_are_gone(editor, name)
    editor.agent("echo")
    editor.write("a.txt", "one\n")
    editor.open("a.txt")
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    assert "hello" in "\n".join(editor.chat())
    assert editor.messages() == ""
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    assert "problems" not in editor.lines("acp://info")
    if verb is not None:
        editor.lua("require('acp.base.host').notify(...)", verb, {})
        editor.wait_message(wording.UNKNOWN_VERB.format(verb=verb))
    data = Path(editor.lua("return vim.fn.stdpath('data')"))
    editor.close()
    assert (data / "acp" / "history.db").exists() == (name != "history")


def test_every_declared_function_exists(edit: Callable[..., Editor]) -> None:
    assert edit(screen=None).lua(MISSING) == []


def test_the_worked_example_is_a_feature(tmp_path: Path) -> None:
    """Its own test runs in a copy of the tree, and the rules about features hold for it."""
    root = copy_tree(tmp_path / "copy")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    add_blocks(root, page.partition("## How to add a feature")[2].partition("\n## ")[0])
    tests = ("features/sessions/test_stopwatch.py", "project/test_house.py", "project/test_docs.py")
    chosen = "stopwatch or feature or every_command"
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen]
    argv += [str(root / "tests" / name) for name in tests]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    ran = subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "passed" in ran.stdout
