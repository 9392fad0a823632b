"""Programs that a repository names never run when the product looks at it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from acp_nvim.agent.prompts import git_changes
from acp_nvim.features.worktrees import worktree_git
from acp_nvim.features.worktrees.records import Worktree
from acp_nvim.files.bytes.roots import name as store_name
from acp_nvim.files.checkpoints.checkpoints import Checkpoint, Checkpoints
from acp_nvim.files.checkpoints.snapshots import Snapshots
from tests.hostile.planted import PLANTS, Garden
from tests.support.editor import Editor

PROVEN = [name for name, plant in PLANTS.items() if plant.proof]


@pytest.mark.parametrize("name", PROVEN)
def test_an_ordinary_command_runs_the_planted_program(tmp_path: Path, name: str) -> None:
    garden = Garden(tmp_path / "work", [name])
    garden.has_run(name)
    (garden.work / "a.txt").write_text("changed\n")
    garden.shell(PLANTS[name].proof)
    assert garden.has_run(name)


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> Callable[[Garden], None]:
    """Enter the environment of a user who has the current directory in PATH."""

    def enter(garden: Garden) -> None:
        for name, value in garden.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
        monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(next(garden.tools.iterdir())))

    return enter


@pytest.mark.parametrize("name", PLANTS)
async def test_scans_and_checkpoints_run_nothing(
    tmp_path: Path, name: str, careless: Callable[[Garden], None]
) -> None:
    garden = Garden(tmp_path / "work", [name])
    garden.has_run(name)
    garden.plant_in_work_tree()
    careless(garden)
    work, roots, notices = garden.work, [str(garden.work)], list[str]()
    kept = Snapshots(lambda root: tmp_path / "data" / "acp" / store_name(root), notices.append)
    checkpoints = Checkpoints(kept)
    await kept.scan(roots)
    before = Checkpoint(1, "", 0.0, kept.trees(roots), {}, {}, [])
    (work / "a.txt").write_text("A\n")
    (work / "new.txt").write_text("n\n")
    (work / "b.txt").unlink()
    changes = await kept.scan(roots)
    assert {(Path(it.path).name, it.before) for it in changes} == {
        ("a.txt", b"a\n"),
        ("b.txt", b"b\n"),
        ("new.txt", None),
    }
    head, moves = await kept.head_moves(str(work), "")
    assert moves
    await kept.committed(str(work), [str(work / "a.txt"), str(work / "lost.txt")], "", head)
    await kept.outside_stores(roots, [str(work / "other.log")])
    plan = await checkpoints.plan(1, before, kept.trees(roots))
    assert {step.target.path: step.target.data for step in plan.steps} == {
        str(work / "a.txt"): b"a\n",
        str(work / "b.txt"): b"b\n",
        str(work / "new.txt"): None,
    }
    assert garden.ran() == []
    assert notices == []


@pytest.mark.parametrize("name", PLANTS)
async def test_the_diff_runs_nothing(
    tmp_path: Path, name: str, careless: Callable[[Garden], None]
) -> None:
    garden = Garden(tmp_path / "work", [name])
    garden.has_run(name)
    garden.plant_in_work_tree()
    careless(garden)
    (garden.work / "a.txt").write_text("changed\n")
    text = await git_changes.diff(str(garden.work), os.environ)
    assert garden.ran() == []
    if PLANTS[name].attributes.startswith("*.txt filter"):
        assert text.endswith("because they have a git filter: a.txt\n")
        assert "+changed" not in text
    elif "partialClone" not in PLANTS[name].config:
        assert "-a\n+changed\n" in text
    elif name != "sparse-lazy":
        assert "lost.txt" in text


NVIM = [name for name in PLANTS if name != "hooks"]  # it would disable the other hooks


def test_a_whole_session_runs_nothing(
    edit: Callable[..., Editor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts, the agent's edits, `@file`, `{diff}`, commits, checkpoints, restore and health."""
    garden = Garden(tmp_path / "garden" / "work", [n for n in NVIM if n != "sparse-lazy"])
    for name in PLANTS:
        garden.has_run(name)
    garden.plant_in_work_tree()
    env = garden.environment()
    editor = edit(work=garden.work, env={**env, "PATH": f".::{env['PATH']}"})
    # the agent is not part of the product
    own = {"PYTHONSAFEPATH": "1", "PATH": os.environ["PATH"]}
    editor.agent("script", env=own)
    editor.cmd("AcpPrompt")
    editor.wait("select(2, require('acp.features.prompts.composer.files').list(vim.fn.getcwd()))")
    assert "sub/c.txt" in editor.lua(
        "return (require('acp.features.prompts.composer.files').list(vim.fn.getcwd()))"
    )
    editor.cmd("close")
    editor.turn("say hello {diff}")
    editor.turn("runs " + json.dumps("echo A > a.txt; rm b.txt; echo n > new.txt"))
    editor.wait("#require('acp').state().sessions[1].edits >= 3")
    editor.cmd("Acp checkpoints")
    editor.wait_screen("3 changed: ")
    editor.cmd("close")
    assert garden.ran() == []
    garden.shell("git -c core.fsmonitor= commit -qam x --no-verify")
    for name in PLANTS:
        garden.has_run(name)
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    editor.turn("say again {diff}")
    editor.cmd("Acp restore 1")
    editor.wait_message("Files restored to before prompt 1")
    editor.cmd("checkhealth acp")
    editor.wait("vim.bo.filetype == 'checkhealth'")
    assert garden.ran() == []


LAZY = [name for name in PLANTS if "partialClone" in PLANTS[name].config]


def test_the_list_of_files_fetches_nothing(edit: Callable[..., Editor], tmp_path: Path) -> None:
    gardens = [Garden(tmp_path / name / "work", [name]) for name in LAZY]
    editor = edit(env=gardens[0].environment())
    for name, garden in zip(LAZY, gardens, strict=True):
        garden.has_run(name)
        work = str(garden.work)
        editor.wait("select(2, require('acp.features.prompts.composer.files').list(...))", work)
        files = editor.lua(
            "return (require('acp.features.prompts.composer.files').list(...))", work
        )
        assert ("sub/c.txt" in files) == (name != "sparse-lazy")
        assert garden.ran() == []


@pytest.mark.parametrize("plants", [NVIM, ["hooks", "worktree-config"]], ids=["most", "hooks"])
def test_worktrees_run_nothing(
    tmp_path: Path, plants: list[str], careless: Callable[[Garden], None]
) -> None:
    """Make one, name its branch, compare its files, land them, and remove it."""
    garden = Garden(tmp_path / "work", [name for name in plants if name not in LAZY])
    own = "git -c core.hooksPath=/dev/null -c commit.gpgsign=false"
    garden.shell(f"{own} add .gitattributes; {own} commit -qm attributes")
    for name in PLANTS:
        garden.has_run(name)
    garden.plant_in_work_tree()
    careless(garden)
    work, path = str(garden.work), str(tmp_path / "there")
    repository, commit = worktree_git.find(work, os.environ)
    branch, filtered = worktree_git.add(repository, commit, path, "new", os.environ)
    made = Worktree("there", path, work, branch, commit)
    garden.plant_in_work_tree()
    made = msgspec.structs.replace(made, branch=worktree_git.rename_branch(made, "x", os.environ))
    (Path(path) / "a.txt").write_text("changed\n")
    found = worktree_git.result(made, os.environ)
    assert [it.path for it in found.changes if it.path == "a.txt"] == ["a.txt"]
    worktree_git.record_landed(made, found.base, found.changes, os.environ)
    assert worktree_git.result(made, os.environ).changes == []
    assert worktree_git.left_behind(repository, commit, os.environ)
    assert worktree_git.remove(made, os.environ)
    assert garden.ran() == []
    assert filtered == (4 if "smudge" in plants else 0)
