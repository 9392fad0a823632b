"""A restore of an unsaved buffer decides nothing: the edits that its file has stay pending."""

from __future__ import annotations

import pytest

from acp_nvim.edits.text import Text
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path

OLD = "".join(f"line {n}\n" for n in range(1, 13))
TWO = OLD.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
REJECTED = TWO.replace("two\n", "line 2\n") + "mine\n"
HUNKS = [(("line 2",), ("two",)), (("line 10",), ("ten",))]


async def rejected(started: Neovims) -> FakeWorkspace:
    """Reject one of two hunks in a buffer with unsaved changes, before a prompt."""
    neovim = await started.neovim("first")
    path = neovim.work / "a.txt"
    path.write_text(OLD)
    neovim.neovim.open(str(path))
    await neovim.write(path, TWO)
    lines = neovim.neovim.buffers[str(path)].text.lines
    neovim.neovim.type(str(path), Text((*lines, "mine")))
    assert await neovim.core.review.hunk("reject", str(path), 1)
    await neovim.turn()
    await neovim.exchange()
    return neovim


async def next_neovim(started: Neovims, neovim: FakeWorkspace, name: str) -> FakeWorkspace:
    """Kill a Neovim, whose unsaved text is lost, and start the next one."""
    await neovim.exchange()
    started.kill(neovim)
    return await started.neovim(name, agents=0)


async def test_a_restored_reject_is_not_saved_yet(started: Neovims) -> None:
    second = await next_neovim(started, await rejected(started), "second")
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    await second.restore(1)
    path = second.work / "a.txt"
    assert str(second.neovim.buffers[str(path)].text) == REJECTED
    assert path.read_text() == TWO
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS[1:])}
    third = await next_neovim(started, second, "third")
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS)}


@pytest.mark.parametrize("way", ["reload", "wipe", "save"])
async def test_the_end_of_a_restored_buffer(started: Neovims, way: str) -> None:
    second = await next_neovim(started, await rejected(started), "second")
    await second.restore(1)
    path = str(second.work / "a.txt")
    getattr(second.neovim, way)(path)
    await second.settle(path)
    await second.core.live.sync(path)
    left = HUNKS[1:] if way == "save" else HUNKS
    assert pending_by_path(second) == {"a.txt": ("modified", False, left)}
    third = await next_neovim(started, second, "third")
    assert pending_by_path(third) == {"a.txt": ("modified", False, left)}


async def test_a_file_that_is_restored_below_its_buffer(started: Neovims) -> None:
    second = await next_neovim(started, await rejected(started), "second")
    path = second.work / "a.txt"
    await second.write(path, TWO.replace("line 6\n", "six\n"), second.add_session("other"))
    await second.restore(1)
    assert path.read_text() == TWO
    assert str(second.neovim.buffers[str(path)].text) == REJECTED
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS[1:])}
    third = await next_neovim(started, second, "third")
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS)}


async def test_an_undone_restore_has_the_edits_of_the_file(started: Neovims) -> None:
    neovim = await rejected(started)
    path = neovim.work / "a.txt"
    await neovim.write(path, REJECTED.replace("line 6\n", "six\n"))
    await neovim.restore(1)
    await neovim.restore(None)
    six = (("line 6",), ("six",))
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, [six, HUNKS[1]])}
    third = await next_neovim(started, neovim, "third")
    assert path.read_text() == TWO
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS)}
