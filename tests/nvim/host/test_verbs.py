"""Verbs: late imports, and messages about errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim import wording
from acp_nvim.agent.settings import Settings
from acp_nvim.nvim.notices import Notices
from acp_nvim.nvim.screen import Screen
from acp_nvim.tasks import Tasks
from acp_nvim.verbs import Verbs

GREETS = """
from acp_nvim.verbs import verb

@verb("greet")
def greet(host, args):
    host.append(args["name"])
"""
FAILS = """
from acp_nvim.verbs import verb

@verb("fail")
def fail(host, args):
    raise OSError("disk full")

@verb("fail_later")
async def fail_later(host, args):
    raise OSError("disk full")
"""

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a module that can be imported by its name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, code: str) -> None:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")

    return write


async def test_a_module_is_imported_when_one_of_its_verbs_is_first_called(write: Write) -> None:
    host: list[Any] = []
    write("greets", GREETS)
    async with anyio.create_task_group() as group:
        notices = Notices(Screen(Settings, lambda urgent=False: None), lambda: None)
        verbs = Verbs(notices, Tasks(group, notices.on_error))
        verbs.add("greets", "greet")
        assert "greets" not in sys.modules
        verbs.run(host, "greet", {"name": "Ada"})
    assert "greets" in sys.modules
    assert host == ["Ada"]
    assert notices.problems == []


async def test_an_error_is_reported_under_the_name_of_the_verb(write: Write) -> None:
    write("fails", FAILS)
    screen = Screen(Settings, lambda urgent=False: None)
    async with anyio.create_task_group() as group:
        notices = Notices(screen, lambda: None)
        verbs = Verbs(notices, Tasks(group, notices.on_error))
        verbs.add("fails", "fail", "fail_later")
        verbs.run([], "fail", {})
        verbs.run([], "nothing", {})
        verbs.run([], "fail_later", {})
    assert [op[1] for op in screen.collect(1000)[0]] == [
        wording.FAILED.format(what="fail", reason="disk full"),
        wording.UNKNOWN_VERB.format(verb="nothing"),
        wording.FAILED.format(what="fail_later", reason="disk full"),
    ]
    assert len(notices.problems) == 3
