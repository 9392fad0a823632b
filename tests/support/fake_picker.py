"""`vim.ui.select` and `vim.ui.input` that answer from a list.

Example:

    install_picker(editor)
    pick(editor, "Acp sessions", "An old session", "delete")
"""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

PICKER = lua_chunk(__file__, "fake_picker")


def install_picker(editor: Editor) -> None:
    """Replace the dialogs; a question without an answer is dismissed."""
    editor.lua(PICKER)


def pick(editor: Editor, command: str, *answers: str) -> list[dict[str, Any]]:
    """Run a command that asks, answer by title, action or text, and return the new questions.

    Wait for as many questions as there are answers, or one more that is dismissed.
    """
    before = len(picker_questions(editor))
    editor.lua("_G.acp_answers = { ... }", *answers)
    editor.cmd(command)
    editor.wait("#_G.acp_asked >= ...", before + max(len(answers), 1))
    return picker_questions(editor)[before:]


def picker_questions(editor: Editor) -> list[dict[str, Any]]:
    """Return every question so far: `{prompt, kind, items}`."""
    questions: list[dict[str, Any]] = editor.lua("return _G.acp_asked")
    return questions
