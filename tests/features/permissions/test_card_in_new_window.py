"""A question stands open wherever its chat is shown."""

from __future__ import annotations

from tests.support.editor import Editor

CLOSED = """
local win = vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1]
return vim.api.nvim_win_call(win, function()
  local found = {}
  for line = 1, vim.fn.line('$') do
    if vim.fn.foldclosed(line) == line then
      table.insert(found, vim.fn.getline(line))
    end
  end
  return found
end)
"""


def test_a_card_is_open_in_a_chat_that_is_shown_again(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("tool_contents")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.cmd("Acp chat")
    editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1')) == 0")
    editor.cmd("Acp chat")
    closed = editor.lua(CLOSED)
    assert closed
    assert not any("wants to" in line for line in closed)
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 2)
