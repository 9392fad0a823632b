"""Changes outside the session's directory but in its work tree: pending, rejected, restored."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.files.bytes.disk import GRAIN_NS, changed_at
from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.pending_edits import (
    LINES,
    choose_first,
    edits_by_name,
    reject_all,
    wait_edits,
)
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a repository with a folder for the session and another one beside it."""
    top = tmp_path / "top"
    for folder in ("sub", "beside"):
        (top / folder).mkdir(parents=True)
        (top / folder / f"{folder}.txt").write_text(LINES)
    (top / "a.txt").write_text(LINES)
    repository(top)
    return top


def open_session(edit: Callable[..., Editor], top: Path, **options: object) -> Editor:
    """Return an editor with a session in a folder of the repository that has had a turn."""
    editor = edit(work=top / "sub", **options)
    editor.agent("script")
    editor.turn("say hello")
    return editor


@pytest.fixture
def project(edit: Callable[..., Editor], top: Path) -> Editor:
    return open_session(edit, top)


def wait_older_than_grain(path: Path) -> None:
    """Wait until a file exists and the clock of files can tell it from a change in a turn."""
    until(path.exists)
    until(lambda: changed_at(str(path)) + GRAIN_NS < time.time_ns() - GRAIN_NS)


def test_outer_changes_are_pending_and_can_be_rejected(project: Editor, top: Path) -> None:
    (top / "beside" / "mine.txt").write_text("mine\n")  # before the turn
    wait_older_than_grain(top / "beside" / "mine.txt")
    agent = StepwiseAgent.at_work(project)
    agent.ask("runs", f"cd ..; sed -i 's/line 5$/five/' a.txt; echo new > {top}/beside/n.txt")
    agent.ask("silently", "sed -i 's/line 5$/five/' ../beside/beside.txt sub.txt")
    agent.end()
    wait_edits(project, a="modified", n="created", beside="modified", sub="modified")
    named = {name: edit["named"] for name, edit in edits_by_name(project).items()}
    assert named == {"a.txt": True, "n.txt": True, "beside.txt": False, "sub.txt": False}
    reject_all(project)
    wait_edits(project)
    until(lambda: not (top / "beside" / "n.txt").exists())
    assert (top / "a.txt").read_text() == LINES
    assert (top / "beside" / "beside.txt").read_text() == LINES
    assert (top / "beside" / "mine.txt").read_text() == "mine\n"


def test_a_save_by_the_user_is_theirs(project: Editor, top: Path) -> None:
    agent = StepwiseAgent.at_work(project)
    agent.ask("runs", "true")
    project.open(str(top / "a.txt"))
    project.cmd("call setline(3, 'mine') | silent write")
    agent.ask("runs", "echo x > ../n.txt")
    agent.end()
    wait_edits(project, n="created")


def test_a_checkout_by_the_user_is_not_pending(project: Editor, top: Path) -> None:
    git(top, "checkout", "-q", "-b", "other")
    (top / "a.txt").write_text("other\n")
    git(top, "commit", "-q", "-a", "-m", "other")
    git(top, "checkout", "-q", "-")
    agent = StepwiseAgent.at_work(project)
    agent.ask("runs", "echo x > x.txt")
    git(top, "checkout", "-q", "other")
    agent.ask("runs", "echo y > ../y.txt")
    agent.end()
    wait_edits(project, x="created", y="created")


def test_a_restore_includes_outer_files(project: Editor, top: Path) -> None:
    agent = StepwiseAgent.at_work(project)
    agent.ask("runs", "sed -i 's/line 5$/five/' ../a.txt; echo new > ../n.txt")
    agent.end()
    wait_edits(project, a="modified", n="created")
    choose_first(project)
    project.cmd("Acp restore 2")
    until(lambda: (top / "a.txt").read_text() == LINES)
    until(lambda: not (top / "n.txt").exists())


def test_a_tree_that_is_too_large_is_reported_in_one_line(
    edit: Callable[..., Editor], top: Path
) -> None:
    project = open_session(edit, top, env={"ACP_TEST_LIMITS": '{"MAX_AROUND": 0}'})
    agent = StepwiseAgent.at_work(project)
    agent.ask("silently", "sed -i 's/line 5$/five/' ../a.txt; echo new > ../beside/n.txt")
    agent.end()
    project.wait(
        "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, false), ' ')"
        ":gsub('%s+', ' '):find('were changed and cannot be reviewed: ../a.txt, ../beside/n.txt',"
        " 1, true)"
    )
