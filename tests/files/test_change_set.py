"""Several files changed together, over buffers that are plain objects: all or none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acp_nvim.edits.text import Text, parse
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.writes.change_set import FileChange
from tests.support.fake_workspace import FakeWorkspace, fake_workspace

OLD = "".join(f"line {n}\n" for n in range(1, 9))
NEW = OLD.replace("line 3\n", "three\n")


@asynccontextmanager
async def project(tmp_path: Path) -> AsyncIterator[FakeWorkspace]:
    """Yield a workspace with three files."""
    async with fake_workspace(tmp_path) as found:
        for name in ("a", "b", "c"):
            (found.work / name).write_text(OLD)
        yield found


def text(content: str | None) -> Text | None:
    return None if content is None else parse(content)


async def change(
    workspace: FakeWorkspace,
    *changes: tuple[str, str | None, str | None],
    moved: tuple[str, str] | None = None,
    knows: bool = True,
) -> str:
    """Change files by name, and return the result or the reason of a failure."""
    found = [
        FileChange(
            str(workspace.work / name),
            text(before),
            text(after),
            str(workspace.work / moved[0]) if moved and moved[1] == name else None,
        )
        for name, before, after in changes
    ]
    try:
        done = await workspace.core.change_sets.carry_out(
            workspace.sessions[0], found, is_known=knows
        )
    except Refusal as error:
        return str(error).removeprefix(f"{workspace.work}/")
    return " ".join(Path(one.path).name for one in done)


def disk(workspace: FakeWorkspace) -> dict[str, str]:
    """Return the contents of all files."""
    return {it.name: it.read_text() for it in sorted(workspace.work.iterdir())}


async def test_all_files_are_changed_and_pending(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        workspace.neovim.open(str(workspace.work / "b"))
        assert (
            await change(workspace, ("a", OLD, NEW), ("b", OLD, NEW), ("n", None, "n\n")) == "a b n"
        )
        assert disk(workspace) == {"a": NEW, "b": NEW, "c": OLD, "n": "n\n"}
        assert workspace.pending() == {"a": "modified", "b": "modified", "n": "created"}
        await workspace.decide("reject")
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}


async def test_text_that_the_user_types_meanwhile_stays(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        path = str(workspace.work / "b")
        workspace.neovim.open(path)
        mine = OLD.replace("line 7", "mine")
        workspace.neovim.type(path, parse(mine))
        assert await change(workspace, ("b", OLD, NEW)) == "b"
        assert str(workspace.neovim.buffers[path].text) == NEW.replace("line 7", "mine")
        assert disk(workspace)["b"] == OLD, "unsaved text is not saved"


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (("c", NEW, NEW.replace("three", "3")), "c: line 3 was changed by the user"),
        (("c", None, NEW), "c: the file already exists"),
        (("n", OLD, NEW), "n: no such file"),
        (("n", OLD, None), "n: no such file"),
        (("c", NEW, None), "c: it has changed; try again"),
    ],
)
async def test_a_change_that_cannot_be_made_stops_all(
    tmp_path: Path, last: tuple[str, str | None, str | None], why: str
) -> None:
    async with project(tmp_path) as workspace:
        message = await change(workspace, ("a", OLD, NEW), last)
        assert message.startswith(why)
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}
        assert workspace.pending() == {}
        assert workspace.events("AcpEdit") == []


async def test_a_write_protected_file_stops_all(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        (workspace.work / "b").chmod(0o444)
        message = await change(workspace, ("a", OLD, NEW), ("b", OLD, NEW))
        assert message == "b: write-protected"
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}


async def test_earlier_changes_are_undone_after_a_failure(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        await workspace.write(workspace.work / "a", NEW)
        path = str(workspace.work / "c")
        workspace.neovim.open(path)
        save = workspace.neovim.live_write

        def failing(bufnr: int, *args: object) -> list[object]:
            if bufnr == workspace.neovim.buffers[path].bufnr:
                return ["failed", "disk full"]
            return save(bufnr, *args)  # type: ignore[arg-type]

        workspace.neovim.live_write = failing  # type: ignore[assignment,method-assign]
        newer = NEW.replace("line 7", "seven")
        message = await change(
            workspace, ("a", NEW, newer), ("b", OLD, NEW), ("n", None, "n\n"), ("c", OLD, NEW)
        )
        assert message == "c: disk full"
        assert disk(workspace) == {"a": NEW, "b": OLD, "c": OLD}
        assert workspace.pending() == {"a": "modified"}
        await workspace.decide("reject")
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}


async def test_a_deletion_is_pending_and_can_be_rejected(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        assert await change(workspace, ("a", OLD, None), ("b", OLD, NEW)) == "b a"
        assert disk(workspace) == {"b": NEW, "c": OLD}
        assert workspace.pending() == {"a": "deleted", "b": "modified"}
        await workspace.decide("reject")
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}


async def test_unsaved_text_is_not_deleted_or_moved(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        path = str(workspace.work / "a")
        workspace.neovim.open(path)
        workspace.neovim.type(path, parse(NEW))
        message = await change(workspace, ("a", NEW, None))
        assert message == "a: its buffer has unsaved changes"
        message = await change(workspace, ("n", NEW, NEW), moved=("a", "n"))
        assert message == "a: its buffer has unsaved changes"


async def test_a_move_is_pending_and_can_be_rejected(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        workspace.neovim.open(str(workspace.work / "a"))
        (workspace.work / "a").chmod(0o755)
        assert await change(workspace, ("n", OLD, NEW), moved=("a", "n")) == "n n"
        assert disk(workspace) == {"b": OLD, "c": OLD, "n": NEW}
        assert (workspace.work / "n").stat().st_mode & 0o777 == 0o755
        assert workspace.pending() == {"n": "modified"}
        await workspace.decide("reject")
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}


async def test_a_move_is_undone_with_the_other_changes(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        path = str(workspace.work / "c")
        workspace.neovim.open(path)
        workspace.neovim.live_write = lambda *_: ["failed", "disk full"]  # type: ignore[method-assign]
        message = await change(workspace, ("n", OLD, OLD), ("c", OLD, NEW), moved=("a", "n"))
        assert message == "c: disk full"
        assert disk(workspace) == {"a": OLD, "b": OLD, "c": OLD}
        assert workspace.pending() == {}


async def test_a_path_that_has_become_a_link_is_refused(tmp_path: Path) -> None:
    async with project(tmp_path) as workspace:
        (workspace.work / "a").unlink()
        (workspace.work / "a").symlink_to(workspace.work / "b")
        assert await change(workspace, ("a", OLD, NEW)) == "a: no longer leads to the same file"


async def test_the_agents_next_write_keeps_what_the_user_typed(tmp_path: Path) -> None:
    """The agent reads the file, the user types, the agent edits a line by the tool and writes the
    file.
    """
    async with project(tmp_path) as workspace:
        path = str(workspace.work / "a")
        workspace.neovim.open(path)
        assert await workspace.read(path) == OLD
        mine = OLD.replace("line 7", "mine")
        workspace.neovim.type(path, parse(mine))
        assert await change(workspace, ("a", mine, mine.replace("line 3\n", "three\n"))) == "a"
        await workspace.write(path, NEW.replace("line 1\n", "one\n"))
        wanted = NEW.replace("line 1\n", "one\n").replace("line 7", "mine")
        assert str(workspace.neovim.buffers[path].text) == wanted


async def test_unseen_changes_survive_the_agents_next_write(
    tmp_path: Path,
) -> None:
    """A rename changes a file that the agent has read before."""
    async with project(tmp_path) as workspace:
        path = str(workspace.work / "a")
        assert await workspace.read(path) == OLD
        assert await change(workspace, ("a", OLD, NEW), knows=False) == "a"
        await workspace.write(path, OLD.replace("line 7", "seven"))
        assert disk(workspace)["a"] == NEW.replace("line 7", "seven")
