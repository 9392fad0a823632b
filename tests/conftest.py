"""Fixtures: a real Neovim, alone in its directories, gone without a trace at the end; processes and
terminals that end with their test.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from acp_nvim.agent.child.reaper import Reaper
from tests.support.children import Children, Start
from tests.support.editor import Editor
from tests.support.exercised import record
from tests.support.front_without_host import HOST, RECORD_NOTIFY
from tests.support.host_template import forked_hosts
from tests.support.portable import IS_PORTABLE, hide_linux_functions
from tests.support.terminal_agent import TerminalAgent

HERE = Path(__file__).parent

settings.register_profile("same", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("same")
"""Use the same examples in each run of `make test`, even on a slow machine.

`make test ARGS=--hypothesis-profile=explore` looks for new ones.
"""

if IS_PORTABLE:
    hide_linux_functions()

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a run in the background; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of Pythons are started. Without compiled files, each would compile all of its imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than cores, because tests also wait.

    Each further worker costs the time of a collection.
    """
    return 1 + (os.cpu_count() or 1)


# Tests are never freed. The garbage collector would take half of the time of their collection.
gc.disable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import all test modules, beginning at another one in each worker, if all are to be run.

    In a fresh clone, each worker compiles a part of them and finds the rest compiled by the others.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    modules = sorted(HERE.glob("**/test_*.py"))
    first = int(worker["workerid"].removeprefix("gw")) * len(modules) // worker["workercount"]
    for path in [*modules[first:], *modules[:first]]:
        with suppress(Exception):  # the collection reports it
            importlib.import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Collect garbage in the tests again, but not the modules and the tests themselves."""
    gc.freeze()
    gc.enable()


def has_own_host(test: pytest.Item) -> bool:
    """Return whether hosts start as a user's: in the room about them, in marked tests, and in all
    tests if `ACP_TEST_OWN_HOSTS` is set.

    The template needs functions that only Linux has.
    """
    marked = test.get_closest_marker("own_host") is not None or "ACP_TEST_OWN_HOSTS" in os.environ
    return marked or not hasattr(os, "pidfd_open") or HERE / "nvim/host" in test.path.parents


@pytest.fixture
def edit(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Editor]]:
    """Start an editor with the arguments of `Editor` (all but `home`); several are fine."""
    editors: list[Editor] = []
    forks = tmp_path / "forks"
    env = {} if has_own_host(request.node) else forked_hosts(forks)

    def start(**options: Any) -> Editor:
        home = tmp_path / f"nvim{len(editors)}"
        home.mkdir()
        editor = Editor(home, **options | {"env": env | dict(options.get("env", {}))})
        editors.append(editor)
        return editor

    yield start
    wrong = []
    for editor in editors:
        record(f"{request.node.path.stem}::{request.node.originalname}", editor.traffic)
        try:
            editor.close()
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def editor(edit: Callable[..., Editor]) -> Editor:
    """Return an editor with the usual arguments."""
    return edit()


@pytest.fixture
def front(edit: Callable[..., Editor]) -> Editor:
    """Return an editor without a host, where verbs and notifications are recorded."""
    return edit(init=HOST + RECORD_NOTIFY, screen=(100, 30))


@pytest.fixture
async def children(tmp_path: Path) -> AsyncIterator[Children]:
    """Yield a starter of child processes in the test's directory. None is left at its end."""
    async with Children(tmp_path) as found:
        yield found


@pytest.fixture
def start(children: Children) -> Start:
    return children.start


@pytest.fixture
def mark(children: Children) -> str:
    """Return the mark in the environment of all children."""
    return children.mark


@pytest.fixture
def reaper(children: Children) -> Reaper:
    """Return the reaper, which ends the children that a test leaves behind."""
    return children.reaper


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[TerminalAgent]:
    """Yield an agent's terminals in one session."""
    found = TerminalAgent(tmp_path)
    yield found
    await found.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests with real agents unless they are requested, since they need installed agents."""
    if "agents" in str(config.getoption("markexpr")):
        return
    unwanted = [item for item in items if item.get_closest_marker("agents") is not None]
    config.hook.pytest_deselected(items=unwanted)
    items[:] = [item for item in items if item.get_closest_marker("agents") is None]
