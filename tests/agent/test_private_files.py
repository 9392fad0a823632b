"""Files of the plugin are readable only by the user, whatever the umask is."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_nvim.agent.opening.stored import IndexFile
from acp_nvim.agent.serving.consent import Consent, Project
from acp_nvim.agent.serving.project_rules import ProjectRule, ProjectRules
from acp_nvim.files.bytes import private_files
from acp_nvim.session.questions.decisions import Outcome
from acp_nvim.session.session import Session
from tests.support.editor import Editor


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def stored_paths(editor: Editor) -> list[Path]:
    """Return all files and folders of the plugin below Neovim's own folders."""
    tops = [
        top for kind in ("data", "state", "cache") for top in editor.home.glob(f"{kind}/*/acp*")
    ]
    return [path for top in tops for path in (top, *top.rglob("*"))]


def open_to_others(paths: list[Path]) -> list[str]:
    # git removes its locks
    there = [path for path in paths if path.exists() and not path.is_symlink()]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in there}
    return [f"{mode:o} {path}" for path, mode in modes.items() if mode & 0o077]


@pytest.mark.parametrize("mask", [0o022, 0])
@pytest.mark.parametrize("git", [True, False])
def test_all_stored_files_are_private(edit: Callable[..., Editor], git: bool, mask: int) -> None:
    with umask(mask):
        editor = edit()
    editor.write("a.txt", "one\n")
    if git:
        subprocess.run(["git", "init", "-q"], cwd=editor.work, check=True)
    editor.agent("script")
    editor.turn(f"write {editor.work}/a.txt two")
    editor.turn(f'write_disk {editor.work}/b.txt "three"')
    editor.cmd(f"Acp log save {editor.home}/state/nvim/acp-saved.log")
    editor.wait_message("lines of traffic")
    editor.wait("#vim.fn.glob(vim.fn.stdpath('data') .. '/acp/workspaces/*/journal') > 0")
    paths = stored_paths(editor)
    assert open_to_others(paths) == []
    names = {path.name for path in paths}
    assert {"checkpoints", "journal", "objects"} <= names
    assert len([path for path in paths if path.is_file()]) >= 4


def test_a_directory_of_an_earlier_version_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir(mode=0o755)
    private_files.write(tmp_path / "acp/deep/file", b"text")
    private_files.directory(tmp_path / "acp")
    assert open_to_others([tmp_path / "acp", *(tmp_path / "acp").rglob("*")]) == []


def test_stored_files_may_be_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    private_files.write(tmp_path / "link/file", b"text")
    assert (tmp_path / "real/file").read_bytes() == b"text"


def add_rules(path: Path, writer: int) -> None:
    rules = ProjectRules(lambda: path, pytest.fail)
    for n in range(20):
        rules.add("/project", ProjectRule("execute", command=f"{writer}.{n}"))


def remember_sessions(path: Path, writer: int) -> None:
    index = IndexFile(path, pytest.fail)
    for n in range(20):
        index.remember("agent", f"{writer}.{n}", "/project", "title")


@pytest.mark.parametrize(
    ("add", "count"),
    [
        (add_rules, lambda path: len(ProjectRules(lambda: path, pytest.fail).of("/project"))),
        (remember_sessions, lambda path: len(IndexFile(path, pytest.fail).read().entries())),
    ],
)
def test_changes_by_several_neovims_at_the_same_time_are_all_stored(
    tmp_path: Path,
    add: Callable[[Path, int], None],
    count: Callable[[Path], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(private_files, "LOCK_S", 60.0)  # a busy machine syncs slowly
    with ThreadPoolExecutor(4) as neovims:
        list(neovims.map(add, [tmp_path / "stored.json"] * 4, range(4)))
    assert count(tmp_path / "stored.json") == 80


def test_names_that_are_not_utf_8_are_stored_exactly(tmp_path: Path) -> None:
    """A prompt may have such bytes too, and its first line is the title of the session."""
    project, other = (os.fsdecode(name) for name in (b"/caf\xe9", b"/caf\xe8"))
    rule = ProjectRule("edit", (f"{project}/a",), (f"{project}/a",))
    rules = ProjectRules(lambda: tmp_path / "rules", pytest.fail)
    rules.add(project, rule)
    assert list(rules.of(project)) == [rule]
    assert rules.of(other) == ()
    index = IndexFile(tmp_path / "index", pytest.fail)
    index.remember("agent", "1", project, f"Explain {project}")
    [entry] = index.read().entries()
    assert (entry.cwd, entry.title) == (project, f"Explain {project}")


def test_an_answer_about_a_file_whose_name_is_not_utf_8_is_stored(tmp_path: Path) -> None:
    project = Project(os.fsdecode(b"/caf\xe9/.mcp.json"), "digest")
    session = Session(1, "agent", str(tmp_path))
    Consent(pytest.fail, lambda: tmp_path / "answers").ask(session, project)
    [question] = session.decisions
    always = question.first("allow_always")
    question.resolve(Outcome("selected", always))
    assert Consent(pytest.fail, lambda: tmp_path / "answers").answer(project) is True


def test_a_file_with_rules_that_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text("not JSON")
    failures: list[str] = []
    rules = ProjectRules(lambda: path, failures.append)
    rules.add("/project", ProjectRule("execute", command="make"))
    assert path.read_text() == "not JSON"
    [failure] = failures
    assert failure.startswith(f"{path}: ")
