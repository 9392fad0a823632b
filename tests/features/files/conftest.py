"""Projects that most tests of this folder start from; a test file may define its own `project`."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import LINES
from tests.support.stepwise_agent import StepwiseAgent


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with `a.txt` of twenty lines, in a repository or not, and the scripted
    agent.
    """
    editor.write("a.txt", LINES)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


@pytest.fixture
def plain(editor: Editor) -> Editor:
    """Return an editor with `a.txt` of twenty lines in no repository, and the scripted agent."""
    editor.write("a.txt", LINES)
    editor.agent("script")
    return editor


@pytest.fixture
def agent(project: Editor) -> StepwiseAgent:
    """Return the agent of `project`, whose turn has begun and which waits for steps."""
    return StepwiseAgent.at_work(project)
