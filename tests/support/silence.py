"""Agents that do not answer one of the questions that a session waits for, until they are let."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.traffic import Traffic


def silent(editor: Editor, method: str, *then: str, **more: Any) -> Traffic:
    """An agent that does not answer `method` until `answer`; its name is that of `called`. All else
    it does as the scenario `then`, `hello` by default; `more` is for `Editor.agent`.
    """
    args = (method, str(_mark(editor, method)), *(then or ("hello",)))
    return editor.agent("withholds", *args, name=called(method), **more)


def answer(editor: Editor, method: str) -> None:
    """Let the agent answer, now and from now on."""
    _mark(editor, method).touch()


def called(method: str) -> str:
    """The name of the agent that withholds `method`."""
    return method.rpartition("/")[2]


def _mark(editor: Editor, method: str) -> Path:
    return editor.home / f"answers-{called(method)}"
