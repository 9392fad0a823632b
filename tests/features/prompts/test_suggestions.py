"""Prompts that an agent suggests, in the empty composer (rfds/prompt-suggestions)."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor


def suggests(*prompts: list[dict[str, Any]]) -> str:
    """Return a script line that sends suggestions."""
    update = {"sessionUpdate": "prompt_suggestions_update"}
    return "update " + json.dumps({**update, "suggestions": [{"prompt": it} for it in prompts]})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def composer_lines(editor: Editor) -> list[str]:
    lines: list[str] = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    return lines


def test_tab_takes_the_agents_suggestion(editor: Editor) -> None:
    traffic = editor.agent("script")
    link = {"type": "resource_link", "uri": "file:///w/a%20b.py", "name": "a b.py"}
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    second = [text("Look at "), link]
    editor.turn(suggests([text("Run the tests\nand mend them")], [image], second))
    capabilities = traffic.received("initialize")[0]["params"]["clientCapabilities"]
    assert capabilities["session"]["promptSuggestions"] == {}
    first = "Run the tests\nand mend them"
    assert editor.session()["suggestions"] == [first, "Look at @/w/a b.py"]
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.wait_screen("Run the tests")
    editor.keys("<Tab>")
    assert composer_lines(editor) == first.split("\n")
    editor.keys("<Tab>")
    assert composer_lines(editor) == ["Look at @/w/a b.py"]
    editor.lua("_G.replaced = vim.fn.maparg('<Tab>', 'i', false, true).callback")
    editor.keys("!")
    editor.wait("vim.fn.maparg('<Tab>', 'i', false, true).buffer ~= 1")
    editor.lua("_G.replaced()")  # as a plugin does that had put its own mapping over this one
    editor.keys("?<Esc>")
    assert composer_lines(editor)[0].endswith("!\t?")


def test_without_a_suggestion_tab_keeps_its_meaning(editor: Editor) -> None:
    editor.agent("script")
    editor.cmd("inoremap <Tab> mine")
    editor.turn(suggests([text("Go on")]))
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.wait_screen("Go on")
    editor.turn("say done")
    editor.wait("#(require('acp').state().sessions[1].suggestions or {}) == 0")
    editor.wait_screen("Ask anything")
    editor.keys("<Tab><Esc>")
    assert composer_lines(editor) == ["mine"]
    editor.cmd("%delete")
    editor.turn(suggests([text("Go on")]) + "\n" + suggests())
    editor.wait("vim.fn.maparg('<Tab>', 'i') == 'mine'")
