"""Agent that leaves one method unanswered until the test lets it answer.

Example:

    stalled_agent(editor, "session/new")
    editor.prompt("hello")
    let_answer(editor, "session/new")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.traffic import Traffic


def stalled_agent(editor: Editor, method: str, *then: str, **more: Any) -> Traffic:
    """Use an agent that does not answer `method` until `let_answer` for new sessions.

    Its name is `stalled_name(method)`. Otherwise it is the scenario `then`, by default `hello`.
    `more` is passed to `Editor.agent`.
    """
    args = (method, str(_mark(editor, method)), *(then or ("hello",)))
    return editor.agent("withholds", *args, name=stalled_name(method), **more)


def let_answer(editor: Editor, method: str) -> None:
    """Let the agent answer the waiting requests and all later ones."""
    _mark(editor, method).touch()


def withhold_answer(editor: Editor, method: str) -> None:
    """Leave all later requests unanswered until `let_answer`."""
    _mark(editor, method).unlink()


def stalled_name(method: str) -> str:
    """Return the name of the agent that does not answer `method`."""
    return method.rpartition("/")[2]


def _mark(editor: Editor, method: str) -> Path:
    return editor.home / f"answers-{stalled_name(method)}"
