"""A decision in a buffer with unsaved changes ends when the file has it.

Until then the edits of the file survive Neovim, other Neovims show them, and they are pending again
if the buffer is discarded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anyio import from_thread

from acp_nvim.edits.text import Text, parse
from acp_nvim.files.bytes import disk, roots
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path

OLD = "".join(f"line {n}\n" for n in range(1, 13))
TWO = OLD.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
HUNKS = [(("line 2",), ("two",)), (("line 10",), ("ten",))]
NOT_SAVED = "a.txt: rejected in the buffer, not saved yet"


class Typed:
    """A Neovim whose user has typed a line at the end of a file that an agent has changed."""

    def __init__(self, neovim: FakeWorkspace) -> None:
        self.neovim = neovim
        self.path = neovim.work / "a.txt"

    @property
    def text(self) -> str:
        return str(self.neovim.neovim.buffers[str(self.path)].text)

    @property
    def marker(self) -> Path:
        root = roots.root_of(str(self.neovim.work))
        return roots.folder(self.neovim.root / "data", root) / "pending"

    def type(self, line: str = "mine") -> None:
        lines = self.neovim.neovim.buffers[str(self.path)].text.lines
        self.neovim.neovim.type(str(self.path), Text((*lines, line)))

    async def reject(self) -> list[str]:
        """Reject everything and return the message to the user."""
        decisions = self.neovim.core.review
        return await decisions.files("reject", self.neovim.core.files.ledger.files())

    async def settle(self) -> None:
        """Wait until all changes by the user are processed."""
        await self.neovim.settle(self.path)
        await self.neovim.core.sync_all()
        await self.neovim.core.live.sync(str(self.path))
        await self.neovim.exchange()


async def typed(started: Neovims, *, on_disk: bool = False) -> Typed:
    """Start a Neovim whose user has typed a line.

    With ``on_disk``, the agent changes the file on disk after that.
    """
    neovim = await started.neovim("first")
    at = Typed(neovim)
    at.path.write_text(OLD)
    neovim.neovim.open(str(at.path))
    if on_disk:
        await neovim.core.files.buffers.load(_place(at.path))
        at.type()
        await neovim.begin()
        at.path.write_text(TWO)
        await neovim.end()
    else:
        await neovim.write(at.path, TWO)
        at.type()
    await neovim.exchange()
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS)}
    return at


def _place(path: Path):  # type: ignore[no-untyped-def]
    from acp_nvim.files.bytes.paths import Place

    return Place(str(path), str(path))


both_ways = pytest.mark.parametrize("on_disk", [False, True])


@both_ways
async def test_the_next_neovim_shows_an_unsaved_reject_as_pending(
    started: Neovims, on_disk: bool
) -> None:
    at = await typed(started, on_disk=on_disk)
    assert await at.reject() == [NOT_SAVED]
    assert at.text == OLD + "mine\n"
    assert pending_by_path(at.neovim) == {}
    await at.neovim.exchange()
    assert at.marker.exists()
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


@both_ways
async def test_a_save_ends_the_decision(started: Neovims, on_disk: bool) -> None:
    at = await typed(started, on_disk=on_disk)
    await at.reject()
    at.neovim.neovim.save(str(at.path))
    await at.settle()
    assert at.path.read_text() == OLD + "mine\n"
    assert not at.marker.exists()
    started.kill(at.neovim)
    assert pending_by_path(await started.neovim("second", agents=0)) == {}


@both_ways
@pytest.mark.parametrize("way", ["reload", "wipe"])
async def test_a_discarded_buffer_makes_the_edit_pending_again(
    started: Neovims, on_disk: bool, way: str
) -> None:
    at = await typed(started, on_disk=on_disk)
    await at.reject()
    getattr(at.neovim.neovim, way)(str(at.path))
    await at.settle()
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, HUNKS)}


async def test_an_unsaved_reject_of_one_of_two_hunks(started: Neovims) -> None:
    at = await typed(started)
    said = await at.neovim.core.review.hunk("reject", str(at.path), 1)
    assert said == [NOT_SAVED]
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, HUNKS[1:])}
    await at.neovim.exchange()
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


async def test_a_rejected_hunk_in_which_the_user_has_typed(started: Neovims) -> None:
    at = await typed(started)
    at.neovim.neovim.type(str(at.path), parse(at.text.replace("two\n", "two and more\n")))
    await at.settle()
    assert await at.neovim.core.review.hunk("reject", str(at.path), 9) == [NOT_SAVED]
    assert await at.reject() == [NOT_SAVED]
    assert at.text == OLD + "mine\n"
    at.neovim.neovim.save(str(at.path))
    await at.settle()
    await at.neovim.write(at.path, at.text.replace("line 2\n", "two\n"))
    at.neovim.neovim.type(str(at.path), parse(at.text.replace("two\n", "line 2\nmore\n")))
    await at.settle()
    assert await at.reject() == [NOT_SAVED]


async def test_an_accept_is_valid_on_disk_too(started: Neovims) -> None:
    at = await typed(started)
    await at.neovim.core.review.hunk("reject", str(at.path), 1)
    await at.neovim.core.review.hunk("accept", str(at.path), 9)
    await at.neovim.exchange()
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS[:1])}


async def test_an_unsaved_removal_by_the_user_stays_pending(started: Neovims) -> None:
    at = await typed(started)
    at.neovim.neovim.type(str(at.path), parse(OLD))
    await at.settle()
    assert pending_by_path(at.neovim) == {}
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


async def test_later_writes_of_the_agent_on_disk_are_pending_too(started: Neovims) -> None:
    at = await typed(started)
    await at.neovim.begin()
    await at.neovim.core.review.hunk("reject", str(at.path), 1)
    at.path.write_text(TWO.replace("line 6\n", "six\n"))
    await at.neovim.end()
    six = (("line 6",), ("six",))
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, [six, HUNKS[1]])}
    await at.neovim.exchange()
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, [HUNKS[0], six, HUNKS[1]])}


async def test_a_rejected_conflict_is_pending_until_the_buffer_is_saved(started: Neovims) -> None:
    neovim = await started.neovim("first")
    at = Typed(neovim)
    at.path.write_text(OLD)
    neovim.neovim.open(str(at.path))
    await neovim.core.files.buffers.load(_place(at.path))
    neovim.neovim.type(str(at.path), parse(OLD.replace("line 2\n", "mine\n")))
    await neovim.begin()
    at.path.write_text(TWO)
    await neovim.end()
    assert pending_by_path(neovim)["a.txt"][1]
    await at.reject()
    assert pending_by_path(neovim) == {}
    await neovim.exchange()
    started.kill(neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


async def test_a_line_that_the_agent_writes_again_in_the_buffer(started: Neovims) -> None:
    at = await typed(started)
    text = await at.neovim.read(at.path)
    await at.neovim.write(at.path, text.replace("two\n", "second\n"))
    again = (("line 2",), ("second",))
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, [again, HUNKS[1]])}
    await at.neovim.exchange()
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


async def test_rewritten_lines_are_pending_as_before_when_the_buffer_is_discarded(
    started: Neovims,
) -> None:
    at = await typed(started)
    text = await at.neovim.read(at.path)
    await at.neovim.write(at.path, text.replace("two\n", "second\n"))
    await at.reject()
    at.neovim.neovim.reload(str(at.path))
    await at.settle()
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, HUNKS)}


async def test_an_unsaved_write_that_a_formatter_saves_and_reads_again(started: Neovims) -> None:
    neovim = await started.neovim("first")
    at = Typed(neovim)
    at.path.write_text(OLD)
    neovim.neovim.open(str(at.path))
    await neovim.core.files.buffers.load(_place(at.path))
    at.type("my   line")
    await neovim.write(at.path, (await neovim.read(at.path)).replace("line 2\n", "two\n"))
    at.path.write_text(at.text.replace("   ", " "))
    neovim.neovim.reload(str(at.path))
    await at.settle()
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS[:1])}


async def test_an_unreject_that_is_not_saved(started: Neovims) -> None:
    neovim = await started.neovim("first")
    at = Typed(neovim)
    at.path.write_text(OLD)
    neovim.neovim.open(str(at.path))
    await neovim.write(at.path, TWO)
    assert await at.reject() == []
    at.type()
    await neovim.unreject()
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS)}
    assert at.path.read_text() == OLD
    await neovim.exchange()
    started.kill(neovim)
    assert pending_by_path(await started.neovim("second", agents=0)) == {}


@pytest.mark.parametrize("way", ["reload", "wipe", "kill"])
async def test_a_reject_undone_in_the_buffer_is_valid_in_the_file(
    started: Neovims, way: str
) -> None:
    neovim = await started.neovim("first")
    at = Typed(neovim)
    at.path.write_text(OLD)
    neovim.neovim.open(str(at.path))
    await neovim.write(at.path, TWO)
    assert await at.reject() == []
    assert neovim.neovim.undo(str(at.path), 1)
    await at.settle()
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS)}
    at.neovim.neovim.type(str(at.path), parse(TWO.replace("ten\n", "mine\nten\nand more\n")))
    await at.settle()
    await neovim.decide_hunk("reject", at.path, 1)
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, HUNKS[1:])}
    if way == "kill":
        await neovim.exchange()
        started.kill(neovim)
        neovim = await started.neovim("second", agents=0)
    else:
        getattr(neovim.neovim, way)(str(at.path))
        await at.settle()
    assert at.path.read_text() == OLD
    assert pending_by_path(neovim) == {}


async def test_a_save_during_a_reject_keeps_the_other_edits(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await typed(started)
    saved_text, is_saved = disk.saved_text, False

    def save_meanwhile(*args: Any) -> Text:
        nonlocal is_saved
        text = saved_text(*args)
        if not is_saved:
            is_saved = True
            from_thread.run_sync(at.neovim.neovim.save, str(at.path))
        return text

    monkeypatch.setattr(disk, "saved_text", save_meanwhile)
    await at.neovim.decide_hunk("reject", at.path, 1)
    assert is_saved
    await at.neovim.exchange()
    started.kill(at.neovim)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS[1:])}


async def test_an_unsaved_write_is_pending_when_its_text_comes_back(started: Neovims) -> None:
    first = await started.neovim("first")
    first.options.save = "never"
    path = first.work / "a.txt"
    path.write_text(OLD)
    first.neovim.open(str(path))
    await first.write(path, TWO)
    await first.exchange()
    started.kill(first)
    at = Typed(await started.neovim("second", agents=0))
    assert pending_by_path(at.neovim) == {}
    at.neovim.neovim.open(str(path))
    at.neovim.neovim.type(str(path), parse(TWO))  # recovered from a swap file
    await at.settle()
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, HUNKS)}


# -- two Neovims ----------------------------------------------------------------------------------


@both_ways
async def test_another_neovim_shows_the_edit_until_the_save(
    started: Neovims, on_disk: bool
) -> None:
    at = await typed(started, on_disk=on_disk)
    other = await started.neovim("other", agents=0)
    other.neovim.open(str(at.path))
    await at.reject()
    for neovim in (at.neovim, other, at.neovim, other):
        await neovim.exchange()
    assert pending_by_path(at.neovim) == {}
    assert pending_by_path(other) == {"a.txt": ("modified", False, HUNKS)}
    at.neovim.neovim.save(str(at.path))
    for _ in range(2):
        await at.settle()
        await other.core.sync_all()
        await other.exchange()
    assert pending_by_path(other) == {}


@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_the_other_neovim_may_decide_the_edit(started: Neovims, verdict: str) -> None:
    at = await typed(started)
    other = await started.neovim("other", agents=0)
    other.neovim.open(str(at.path))
    await at.reject()
    for neovim in (at.neovim, other):
        await neovim.exchange()
    assert await other.core.review.files(verdict, other.core.files.ledger.files()) == []  # type: ignore[arg-type]
    assert at.path.read_text() == (OLD if verdict == "reject" else TWO)
    for neovim in (other, at.neovim, other):
        await neovim.exchange()
    assert pending_by_path(at.neovim) == pending_by_path(other) == {}
    assert not at.marker.exists()


async def test_a_hunk_left_in_another_unsaved_buffer_is_pending_there(started: Neovims) -> None:
    at = await typed(started)
    other = Typed(await started.neovim("other", agents=0))
    other.neovim.neovim.open(str(at.path))
    await other.settle()
    other.type("theirs")
    await other.settle()
    at.neovim.neovim.save(str(at.path))
    await at.settle()
    assert await at.reject() == []
    for neovim in (at.neovim, other.neovim, at.neovim, other.neovim):
        await neovim.exchange()
    assert at.path.read_text() == OLD + "mine\n"
    assert pending_by_path(at.neovim) == {}
    assert pending_by_path(other.neovim) == {"a.txt": ("modified", False, HUNKS)}
    await at.neovim.write(at.path, at.text.replace("line 6\n", "six\n"))
    for neovim in (at.neovim, other.neovim):
        await neovim.exchange()
    assert pending_by_path(other.neovim) == {"a.txt": ("modified", False, HUNKS)}
    other.neovim.neovim.save(str(at.path))
    await other.settle()
    await at.neovim.exchange()
    await at.settle()
    assert pending_by_path(other.neovim) == {"a.txt": ("modified", False, HUNKS)}


async def test_another_neovim_shows_an_unsaved_write_once_it_is_saved(started: Neovims) -> None:
    at, other = Typed(await started.neovim("first")), await started.neovim("other", agents=0)
    at.path.write_text(OLD)
    at.neovim.neovim.open(str(at.path))
    at.type()
    await at.neovim.write(at.path, TWO + "mine\n")
    for neovim in (at.neovim, other):
        await neovim.exchange()
    assert at.path.read_text() == OLD
    assert pending_by_path(other) == {}
    at.neovim.neovim.save(str(at.path))
    await at.settle()
    await other.core.sync_all()
    assert pending_by_path(other) == {"a.txt": ("modified", False, HUNKS)}


async def test_an_unsaved_write_beside_a_write_of_another_neovim_leaves_the_file_its_base(
    started: Neovims,
) -> None:
    at = await typed(started)
    other = Typed(await started.neovim("other", agents=0))
    other.neovim.add_session("agent 2")
    other.neovim.neovim.open(str(at.path))
    await other.settle()
    other.type("theirs")
    await other.settle()
    at.neovim.neovim.reload(str(at.path))
    await at.settle()
    await other.neovim.core.review.hunk("reject", str(at.path), 1)
    await other.neovim.exchange()
    await at.neovim.core.review.hunk("accept", str(at.path), 1)
    for neovim in (at.neovim, other.neovim):
        await neovim.exchange()
    text = await other.neovim.read(at.path, other.neovim.own_session)
    await at.neovim.read(at.path)
    await at.neovim.write(at.path, TWO.replace("line 8\n", "eight\n"))
    await at.neovim.exchange()
    await other.neovim.write(at.path, text.replace("line 6\n", "six\n"), other.neovim.own_session)
    for neovim in (other.neovim, at.neovim, other.neovim):
        await neovim.exchange()
    await at.settle()
    eight = (("line 8",), ("eight",))
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, [eight, HUNKS[1]])}
    started.kill(other.neovim)
    third = await started.neovim("third", agents=0)
    assert pending_by_path(third) == {"a.txt": ("modified", False, [eight, HUNKS[1]])}


async def test_later_writes_of_the_agent_into_the_buffer_survive_the_host(
    started: Neovims,
) -> None:
    at = await typed(started)
    await at.neovim.core.review.hunk("reject", str(at.path), 1)
    text = await at.neovim.read(at.path)
    await at.neovim.write(at.path, text.replace("line 6\n", "six\n"))
    six = (("line 6",), ("six",))
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, [six, HUNKS[1]])}
    await at.neovim.exchange()
    started.kill(at.neovim)
    second = await started.neovim("first", agents=0, enters=False)
    second.neovim.buffers = at.neovim.neovim.buffers
    await second.open()
    assert pending_by_path(second) == {"a.txt": ("modified", False, [six, HUNKS[1]])}


async def test_a_buffer_discarded_before_the_host_is_killed_has_the_edits_of_the_file(
    started: Neovims,
) -> None:
    at = await typed(started)
    await at.neovim.core.review.hunk("reject", str(at.path), 1)
    await at.neovim.exchange()
    at.neovim.neovim.reload(str(at.path))
    await at.settle()
    started.kill(at.neovim)
    second = await started.neovim("first", agents=0, enters=False)
    second.neovim.buffers = at.neovim.neovim.buffers
    second.neovim.type(str(at.path), parse(TWO + "later\n"))
    await second.open(again=True)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


async def test_hunks_that_an_undo_restores_in_an_unsaved_buffer_survive_the_host(
    started: Neovims,
) -> None:
    at = await typed(started)
    at.neovim.neovim.type(str(at.path), parse(at.text.replace("two\n", "line 2\n")))
    await at.settle()
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, HUNKS[1:])}
    assert at.neovim.neovim.undo(str(at.path), 1)
    await at.settle()
    assert pending_by_path(at.neovim) == {"a.txt": ("modified", False, HUNKS)}
    started.kill(at.neovim)
    second = await started.neovim("first", agents=0, enters=False)
    second.neovim.buffers = at.neovim.neovim.buffers
    second.neovim.type(str(at.path), parse(at.text + "more\n"))
    await second.open(again=True)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}


async def test_parked_edits_that_have_come_back_are_not_reported(started: Neovims) -> None:
    neovim = await started.neovim("first")
    view = neovim.core.files.pending_view
    view.on_parked(str(neovim.work / "a.txt"))
    view.refresh(str(neovim.work / "a.txt"))
    assert neovim.notices == []
