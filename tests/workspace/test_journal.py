"""A journal as it is written: as a whole, then by what changes, and anew when much is outdated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits import serialize
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import LedgerState, Pending
from acp_nvim.edits.records import Reader, Series, Writer, group_of
from acp_nvim.edits.text import Text
from acp_nvim.workspace import journal as module
from acp_nvim.workspace.file_format import Format
from acp_nvim.workspace.journal import Contents, Journal, JournalFile
from acp_nvim.workspace.snapshots import serialize as checkpoints
from acp_nvim.workspace.snapshots.checkpoints import Checkpoint, Target
from tests.support.ledger_shorthand import accept_all, text


class World:
    """A ledger and its journal."""

    def __init__(self, path: Path) -> None:
        self.file = JournalFile(path / "acp" / "journal" / f"20260101-000000-m-{os.getpid()}")
        self.ledger = Ledger()
        self.others: dict[tuple[str, str], Any] = {}
        self.problems: list[str] = []
        self.journal = Journal(self.look, self.problems.append)
        self.journal.begin(self.file)

    def look(self) -> Contents:
        return Contents(self.ledger.state(), {}, {}, dict(self.others))

    async def written(self) -> None:
        """The journal is as the ledger."""
        self.journal.touch()
        with anyio.fail_after(10):
            while self.read() != self.ledger.state():
                await anyio.lowlevel.checkpoint()

    def read(self) -> LedgerState:
        reader = Reader(self.file.read()[0])
        assert reader.lost == 0
        return serialize.read(reader)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_it_follows_and_ends_with_nothing(world: World) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(world.journal.run)
        for name in ("/a", "/b", "/c"):
            world.ledger.agent_wrote(name, text("one"), text(name))
            await world.written()
        accept_all(world.ledger)
        await world.written()
        assert not world.file.path.exists()
        world.ledger.agent_wrote("/d", None, text("new"))
        await world.written()
        await world.journal.remove()
        assert not world.file.path.parent.parent.exists()
        group.cancel_scope.cancel()
    assert world.problems == []


async def test_what_is_superseded_does_not_pile_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLACK", 2000)
    lines = [f"line {n}" for n in range(100)]
    world.ledger.agent_wrote("/a", Text(tuple(lines)), Text((*lines[:50], "new", *lines[50:])))
    async with anyio.create_task_group() as group:
        group.start_soon(world.journal.run)
        await world.written()
        least = world.file.path.stat().st_size  # the worker thread may not know it yet
        sizes = []
        for n in range(60):
            entry = world.ledger.get("/a")
            assert entry is not None
            assert entry.live is not None
            world.ledger.user_edited("/a", Text((f"typed {n}", *entry.live.lines[1:])))
            await world.written()
            sizes.append(world.file.path.stat().st_size)
        assert max(sizes) < 2 * least + 4000
        assert sizes != sorted(sizes)
        group.cancel_scope.cancel()


async def test_after_a_write_that_failed_all_is_written_again(world: World) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(world.journal.run)
        world.ledger.agent_wrote("/a", text("one"), text("two"))
        await world.written()
        world.file.path.unlink()
        world.file.path.mkdir()
        world.ledger.agent_wrote("/b", text("one"), text("two"))
        world.journal.touch()
        with anyio.fail_after(10):
            while not world.problems:
                await anyio.lowlevel.checkpoint()
        assert "are not saved" in world.problems[0]
        world.file.path.rmdir()
        await world.written()
        group.cancel_scope.cancel()
    assert len(world.problems) == 1


async def test_other_values_by_their_paths(world: World) -> None:
    def plain(_: Writer, path: str, value: Any) -> Any:
        return [path, value]

    def values() -> list[Any]:
        return [value for _, value in Reader(world.file.read()[0]).of("kind", list[str])]

    world.ledger.agent_wrote("/a", text("one"), text("two"))
    async with anyio.create_task_group() as group:
        group.start_soon(world.journal.run)
        for given_values in ({"/a": "1", "/b": "2"}, {"/b": "3"}, {}):
            world.others = {("kind", path): (it, plain) for path, it in given_values.items()}
            world.journal.touch()
            with anyio.fail_after(10):
                while values() != [[path, it] for path, it in given_values.items()]:
                    await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


# ---- checkpoints


def checkpoint(n: int, **more: Any) -> Checkpoint:
    return Checkpoint(n, f"prompt {n}", float(n), {"/w": "tree"}, {}, {}, [], **more)


def test_checkpoints_come_back_by_session() -> None:
    pending = Pending("/w/a", text("1"), text("2"), text("2"), writers=frozenset({3}))
    full = Checkpoint(
        7,
        "é",
        1.5,
        {"/w": "tree", "/w/\udcff": "other"},
        {"/w/b": text("unsaved", eol=False)},
        {"/w/a": pending},
        ["why not"],
        {"/w/c": text("before"), "/w/d": None},
        {"/w/e": Target("/w/e", b"\0\xff", 0o100755), "/w/f": Target("/w/f", None)},
        formats={"/w/a": (Format(dos=True), None)},
    )
    writer = Writer()
    made = checkpoints.CheckpointWriter(writer)
    made.write(checkpoints.CHECKPOINT, {1: [(full, full)], 2: [(checkpoint(1), checkpoint(1))]})
    made.write(checkpoints.UNDO, {1: [(full, full)]})
    reader = Reader(writer.take())
    assert checkpoints.read(reader, checkpoints.CHECKPOINT) == {1: [full], 2: [checkpoint(1)]}
    assert checkpoints.read(reader, checkpoints.UNDO) == {1: [full]}
    assert reader.lost == 0


def test_words_that_are_no_unicode_lose_nothing_but_that() -> None:
    named = msgspec.structs.replace(checkpoint(1), label="caf\udce9", reasons=["\udcff: gone"])
    writer = Writer()
    checkpoints.CheckpointWriter(writer).write(checkpoints.CHECKPOINT, {1: [(named, named)]})
    found = checkpoints.read(Reader(writer.take()), checkpoints.CHECKPOINT)
    wanted = msgspec.structs.replace(named, label="caf?", reasons=["?: gone"])
    assert found == {1: [wanted]}


def test_one_that_grows_keeps_its_place() -> None:
    first, second = checkpoint(1), checkpoint(2)
    writer = Writer()
    made = checkpoints.CheckpointWriter(writer)
    made.write(checkpoints.CHECKPOINT, {1: [(first, first), (second, second)]})
    grown = checkpoint(1, touched={"/w/a": text("before")})
    made.write(checkpoints.CHECKPOINT, {1: [(first, grown), (second, second)]})
    reader = Reader(writer.take())
    assert checkpoints.read(reader, checkpoints.CHECKPOINT) == {1: [grown, second]}
    made.write(checkpoints.CHECKPOINT, {1: [(first, grown), (second, second)]})
    assert writer.take() == []


@given(st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), max_size=8))
def test_values_without_a_name_keep_their_order(steps: list[list[int]]) -> None:
    """As of a stack: what goes and comes back is another one, and the last."""
    objects = [[n] for n in range(6)]
    writer, records = Writer(), list[bytes]()
    series = Series(writer, "kind", b"9")
    shown: list[int] = []
    for wanted in steps:
        shown = [n for n in shown if n in wanted] + [n for n in wanted if n not in shown]
        series.write([(objects[n], objects[n]) for n in shown], lambda value: value)
        records += writer.take()
    found = Reader(records).of("kind", list[int])
    assert [value for _, value in found] == [[n] for n in shown]
    assert {group_of(key) for key, _ in found} <= {b"9"}
