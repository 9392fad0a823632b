"""Questions about files outside the project: their text, and remembered answers."""

from __future__ import annotations

from pathlib import Path

from tests.support.editor import Editor


def allow_always(editor: Editor, title: str) -> None:
    """Allow the pending question for the whole session."""
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    [permission] = editor.session()["permissions"]
    assert permission["title"] == title
    editor.lua("require('acp').answer(..., 'allow_always')", permission["id"])
    editor.wait("#require('acp').state().sessions[1].permissions == 0")


def outside(editor: Editor, name: str) -> Path:
    path = editor.home / name
    path.write_text(f"{name}\n")
    return path


def test_a_file_is_allowed_under_every_spelling_of_its_path(editor: Editor) -> None:
    agent = editor.agent("script")
    path = outside(editor, "shown")
    link = editor.work / "link"
    link.symlink_to(path)
    around = f"{editor.work}/../{path.name}"
    editor.prompt(f"read {path}\nread {around}\nread {link}")
    allow_always(editor, f"read outside the project: {path}")
    editor.wait_event("AcpTurnEnd")
    answers = agent.answers("fs/read_text_file")
    assert [answer["result"] for answer in answers] == [{"content": "shown\n"}] * 3


def test_a_question_about_a_link_names_its_target_and_allows_only_that(editor: Editor) -> None:
    agent = editor.agent("script")
    shown, other = outside(editor, "shown"), outside(editor, "kept")
    link = editor.work / "link"
    link.symlink_to(shown)
    ask = "read outside the project: "
    editor.prompt(f"read {link}")
    allow_always(editor, f"{ask}{link} ({shown})")
    editor.wait_event("AcpTurnEnd")
    link.unlink()
    link.symlink_to(other)
    editor.prompt(f"read {link}")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    assert editor.session()["permissions"][0]["title"] == f"{ask}{link} ({other})"
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 2)
    [_, refused] = agent.answers("fs/read_text_file")
    assert refused["error"]["data"] == {"path": str(link), "reason": "denied"}
