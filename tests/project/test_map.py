"""The map and the pages about internals name facts of the sources: folders, names, orders."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.files.journal import replica
from tests.support.git import git, repository
from tests.support.neovims import Neovims

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "acp_nvim"
MAP = ROOT / "docs/architecture.md"
PAGES = [MAP, *sorted((ROOT / "docs/internals").glob("*.md"))]
LINES = 150
"""The most lines that the map may have."""


def quoted(page: Path, pattern: str) -> set[str]:
    """Return the parts of a page in backticks that match a pattern as a whole."""
    text = page.read_text(encoding="utf-8")
    return {it for it in re.findall(r"`([^`\n]+)`", text) if re.fullmatch(pattern, it)}


# -- folders and files ----------------------------------------------------------------------------


def folders_of_the_map() -> set[str]:
    """Return the folders in the tree of the map. Indented names are inside the name above."""
    tree = MAP.read_text(encoding="utf-8").partition("```\n")[2].partition("```")[0]
    found, above = set[str](), list[str]()
    for line in tree.splitlines():
        indent = (len(line) - len(line.lstrip())) // 2
        names = re.match(r"(?:[\w/]+/ ?)*", line.lstrip())
        assert names is not None
        for name in names[0].split():
            above[indent:] = [name]
            found.add("".join(above).rstrip("/"))
    return found


def test_the_tree_has_all_folders() -> None:
    modules = [*ROOT.glob("acp_nvim/**/*.py"), *ROOT.glob("lua/acp/**/*.lua")]
    folders = {str(path.parent.relative_to(ROOT)) for path in modules}
    assert folders_of_the_map() == folders


def test_the_map_is_short() -> None:
    assert len(MAP.read_text(encoding="utf-8").splitlines()) <= LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_only_modules_that_exist(page: Path) -> None:
    named = quoted(page, r"[\w.]+(/[\w.]+)+\.(py|lua)")
    assert named
    assert not {it for it in named if not (ROOT / it).exists() and not (PACKAGE / it).exists()}


# -- names ----------------------------------------------------------------------------------------


@cache
def classes() -> dict[str, set[str]]:
    """Return the members of all classes of the package, by the name of the class."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(members(node))
    return found


def members(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names of methods, fields and attributes of a class."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield part.name
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id
        elif isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self":
            yield part.attr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_only_classes_and_members_that_exist(page: Path) -> None:
    strange = set[str]()
    for name in quoted(page, r"[A-Z]\w*[a-z]\w*(\.\w+)?") - {"User", "Protocol"}:
        owner, _, member = name.partition(".")
        if owner not in classes() or (member and member not in classes()[owner]):
            strange.add(name)
    assert not strange


def test_the_rules_name_only_tests_that_exist() -> None:
    files = (ROOT / f"tests/project/test_{name}.py" for name in ("house", "features"))
    house = "".join(path.read_text(encoding="utf-8") for path in files)
    named = quoted(MAP, r"test_\w+")
    assert len(named) > 10
    assert not {name for name in named if f"def {name}(" not in house}


def test_the_page_on_the_journal_lists_all_kinds_of_values() -> None:
    text = (ROOT / "docs/internals/journal.md").read_text(encoding="utf-8")
    table = text.partition("| kind | value |")[2].partition("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))))
    known = (replica.META, replica.SESSION, replica.FILE, replica.REJECT, replica.CHECKPOINT)
    assert told == {
        *known,
        replica.TITLES,
        replica.UNDO,
        replica.HEAD,
        replica.TREE,
        replica.WRITES,
        replica.BUFFER,
    }


# -- locks ----------------------------------------------------------------------------------------


class WatchedLock:
    """A lock that records which locks its task holds when it acquires it."""

    def __init__(self, name: str, lock: anyio.Lock, held: dict[int, list[str]]) -> None:
        self.name = name
        self.after = set[str]()
        """Names of the locks that a task held while it took this one."""
        self._lock = lock
        self._held = held
        self.locked = lock.locked

    async def __aenter__(self) -> None:
        mine = self._held.setdefault(anyio.get_current_task().id, [])
        self.after.update(mine)
        await self._lock.acquire()
        mine.append(self.name)

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
        self._held[anyio.get_current_task().id].remove(self.name)


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[WatchedLock]:
    """Collect all locks that are made from now on, each named by its class and attribute."""
    make, held, made = anyio.Lock, dict[int, list[str]](), list[WatchedLock]()

    def watched(**options: Any) -> WatchedLock:
        frame = sys._getframe(1)
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        attribute = re.search(r"self\.(\w+)", line)
        assert attribute is not None, line
        name = f"{type(frame.f_locals['self']).__name__}.{attribute[1]}"
        made.append(WatchedLock(name, make(**options), held))
        return made[-1]

    monkeypatch.setattr(anyio, "Lock", watched)
    return made


async def test_locks_are_taken_in_the_order_of_their_page(
    tmp_path: Path, locks: list[WatchedLock]
) -> None:
    neovims = Neovims(tmp_path)
    workspace = await neovims.neovim("one")
    written, changed = workspace.work / "written.txt", workspace.work / "changed.txt"
    changed.write_text("one\n")
    repository(workspace.work)
    await workspace.begin()
    await workspace.write(written, "one\n")
    changed.write_text("two\n")
    for turn in workspace.core.disk.turns:
        turn.scan.paths.add(str(changed))
    await workspace.end()
    git(workspace.work, "commit", "-qam", "changed")
    await workspace.core.refresh(workspace.sessions)
    await workspace.decide("reject")
    await workspace.restore(1)
    await workspace.exchange()
    neovims.kill_all()
    page = (ROOT / "docs/internals/locks.md").read_text(encoding="utf-8")
    order = re.findall(r"^\d\. `([\w.]+)`", page, re.MULTILINE)
    taken = {(outer, it.name) for it in locks for outer in it.after}
    assert {name for pair in taken for name in pair} == {*order}
    assert not {(one, two) for one, two in taken if order.index(one) > order.index(two)}
