"""`vim.ui.select` and `vim.ui.input` that answer from a list.

Example:

    install_picker(editor)
    pick(editor, "Acp sessions", "An old session", "delete")
"""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor

PICKER = """
_G.acp_asked, _G.acp_answers = {}, {}
local function note(prompt, kind, items)
  table.insert(_G.acp_asked, { prompt = prompt, kind = kind, items = items })
  return table.remove(_G.acp_answers, 1)
end
vim.ui.select = function(items, opts, on_choice)
  local labels = vim.tbl_map(opts.format_item or tostring, items)
  local wanted = note(opts.prompt, opts.kind, labels)
  for index, label in ipairs(labels) do
    if wanted and (label == wanted or label:find(wanted .. '  (', 1, true) == 1) then
      return on_choice(items[index], index)
    end
  end
  on_choice(nil, nil)
end
vim.ui.input = function(opts, on_confirm)
  on_confirm(note(opts.prompt, 'input', { opts.default }))
end
"""


def install_picker(editor: Editor) -> None:
    """Replace the dialogs; what nobody answers is dismissed."""
    editor.lua(PICKER)


def pick(editor: Editor, command: str, *answers: str) -> list[dict[str, Any]]:
    """Run a command that asks, answer by title, action or text; returns the new questions.

    Waits until as many questions were put as there are answers, or one more that is dismissed.
    """
    before = len(asked(editor))
    editor.lua("_G.acp_answers = { ... }", *answers)
    editor.cmd(command)
    editor.wait("#_G.acp_asked >= ...", before + max(len(answers), 1))
    return asked(editor)[before:]


def asked(editor: Editor) -> list[dict[str, Any]]:
    """Every question so far: `{prompt, kind, items}`."""
    questions: list[dict[str, Any]] = editor.lua("return _G.acp_asked")
    return questions
