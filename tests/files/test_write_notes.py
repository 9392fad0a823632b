"""A Neovim is killed after an agent's write, before its journal has the write.

The next Neovim attributes exactly that write to the agent.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import parse
from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.journal import persistence
from acp_nvim.files.ports import PromptName
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path, writers

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"
TWO = TEXT.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
HUNKS = [(("line 2",), ("two",)), (("line 10",), ("ten",))]


@pytest.fixture
async def first(started: Neovims) -> FakeWorkspace:
    """Start a Neovim whose agent has read a file."""
    found = await started.neovim("first")
    path = found.work / "a.txt"
    path.write_text(TEXT)
    await found.read(path)
    return found


@pytest.fixture
def slow_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the journal get no write by itself within a test."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)


def folder(neovim: FakeWorkspace) -> Path:
    return roots.folder(neovim.root / "data", roots.root_of(str(neovim.work)))


async def reborn(started: Neovims, killed: FakeWorkspace, name: str = "second") -> FakeWorkspace:
    """Kill a Neovim at once and start the next one in its place."""
    started.kill(killed)
    return await started.neovim(name, agents=0)


async def test_a_write_that_no_journal_has_is_pending(
    started: Neovims, first: FakeWorkspace
) -> None:
    first.sessions[0].agent = "claude"
    await first.write(first.work / "a.txt", TWO)
    assert not (folder(first) / "journal").exists()
    assert (folder(first) / "pending").exists(), "without it nobody starts a process to look"
    second = await reborn(started, first)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    assert writers(second) == {"a.txt": {"claude"}}
    await second.decide("reject")
    assert (first.work / "a.txt").read_text() == TEXT


async def test_several_writes_and_new_files_that_no_journal_has_are_pending(
    started: Neovims, first: FakeWorkspace
) -> None:
    path = first.work / "a.txt"
    await first.write(path, TEXT.replace("line 2\n", "two\n"))
    await first.exchange()
    await first.write(path, TWO)
    await first.write(path, TWO.replace("line 5\n", "").replace("ten\n", "ten\nand more\n"))
    await first.write(first.work / "new", "new\n")
    second = await reborn(started, first)
    found = pending_by_path(second)
    assert found["new"] == ("created", False, [((), ("new",))])
    last = (("line 10",), ("ten", "and more"))
    assert found["a.txt"] == ("modified", False, [HUNKS[0], (("line 5",), ()), last])
    await second.decide("reject")
    assert path.read_text() == TEXT
    assert not (first.work / "new").exists()


@pytest.mark.parametrize("wanted", [True, False])
async def test_lines_of_a_recovered_write_have_their_prompt_in_the_blame(
    slow_journal: None, started: Neovims, first: FakeWorkspace, wanted: bool
) -> None:
    first.options = msgspec.structs.replace(first.options, blame=wanted)
    path = first.work / "a.txt"
    await first.write(path, TWO)
    await first.write(first.work / "new", "new\n")
    started.kill(first)
    second = await started.neovim("second", agents=0, blame=True)
    prompt = PromptName("first.1", "agent", "s1", 1.0, 1, "Do it")
    told = [
        (prompt, str(path), parse(TEXT), parse(TWO)),
        (prompt, str(first.work / "new"), None, parse("new\n")),
    ]
    assert sorted(second.adoptions, key=lambda one: one[1]) == (told if wanted else [])


async def test_a_recovered_write_is_in_the_journal_before_anything_else_happens(
    slow_journal: None, started: Neovims, first: FakeWorkspace
) -> None:
    """The next kill may come at once. The note does not help after changes beside the lines."""
    path = first.work / "a.txt"
    await first.write(path, TWO)
    second = await reborn(started, first)
    path.write_text(TWO.replace("line 1\n", "mine\n").replace("line 9\n", "mine\n"))
    third = await reborn(started, second, "third")
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS)}


async def test_a_write_in_the_journal_is_not_recovered_because_a_later_one_is(
    slow_journal: None, started: Neovims, first: FakeWorkspace
) -> None:
    """The second process writes the journal, and is killed before it has recovered the write."""
    await first.write(first.work / "b.txt", "accepted\n")
    with first.core.persistence.note_write(first.sessions[0], str(first.work / "c.txt")) as note:
        note(None, parse("later\n"), diff((), ("later",)))
        (first.work / "c.txt").write_text("later\n")
        await first.decide("accept")
        await first.write(first.work / "d.txt", "pending\n")  # keeps the journal
        await first.exchange()
        started.kill(first)
    second = await started.neovim("second", enters=False)
    second.core.persistence.open(str(second.work))
    await second.write(second.work / "e.txt", "also pending\n")
    await second.exchange()
    third = await reborn(started, second, "third")
    assert pending_by_path(third).keys() == {"c.txt", "d.txt", "e.txt"}


async def test_later_user_edits_of_a_recovered_file_belong_to_the_user(
    started: Neovims, first: FakeWorkspace
) -> None:
    path = first.work / "a.txt"
    await first.write(path, TWO)
    started.kill(first)
    path.write_text(TWO.replace("line 6\n", "six\n"))
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    await second.decide("reject")
    assert path.read_text() == TEXT.replace("line 6\n", "six\n")


async def test_several_writes_with_saves_of_the_user_in_between(
    started: Neovims, first: FakeWorkspace
) -> None:
    for name, before in (("a.txt", TEXT), ("new", "")):
        path = first.work / name
        await first.write(path, before + "one\ntwo\n")
        path.write_text("mine\n" + path.read_text())
        await first.write(path, (await first.read(path)).replace("two\n", "three\n"))
    second = await reborn(started, first)
    assert pending_by_path(second) == {
        "a.txt": ("modified", False, [((), ("one", "three"))]),
        "new": ("created", False, [((), ("mine", "one", "three"))]),
    }


@pytest.mark.parametrize("lines", ["x\ny\n", "x\nline 7\nx\n"])
async def test_lines_with_several_places_have_no_author(
    started: Neovims, first: FakeWorkspace, lines: str
) -> None:
    path = first.work / "a.txt"
    await first.write(path, TEXT.replace("line 6\n", f"line 6\n{lines}"))
    started.kill(first)
    path.write_text(path.read_text() + f"line 6\n{lines}line 7\n")
    assert pending_by_path(await started.neovim("second", agents=0)) == {}


@pytest.mark.parametrize("found", [TEXT, TWO.replace("ten", "10"), "else\n"])
async def test_lines_of_a_note_that_the_file_lacks_have_no_author(
    started: Neovims, first: FakeWorkspace, found: str
) -> None:
    await first.write(first.work / "a.txt", TWO)
    started.kill(first)
    (first.work / "a.txt").write_text(found)
    second = await started.neovim("second", agents=0)
    await second.exchange()
    assert pending_by_path(second) == {}
    assert (first.work / "a.txt").read_text() == found
    assert [one.name for one in folder(first).iterdir()] == ["lock"], "nobody looks again"


async def test_a_refused_write_is_not_recovered(started: Neovims, first: FakeWorkspace) -> None:
    path = first.work / "a.txt"
    path.write_text(TWO.replace("two", "2"))
    with pytest.raises(Refusal):
        await first.write(path, TEXT.replace("line 2\n", "zwei\n"))
    assert pending_by_path(await reborn(started, first)) == {}


@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_a_decided_write_is_not_recovered(
    started: Neovims, first: FakeWorkspace, verdict: str
) -> None:
    path = first.work / "a.txt"
    await first.write(first.work / "b.txt", "other\n")  # keeps the journal
    await first.exchange()
    await first.write(path, TWO)
    entry = first.core.files.ledger.get(str(path))
    assert entry is not None
    decisions = first.core.review
    assert await decisions.files("accept" if verdict == "accept" else "reject", [entry]) == []
    second = await reborn(started, first)
    assert "a.txt" not in pending_by_path(second)


async def test_notes_are_removed_once_the_journal_has_the_write(
    started: Neovims, first: FakeWorkspace
) -> None:
    def notes() -> list[int]:
        return [one.stat().st_size for one in folder(first).glob("writes.*")]

    await first.write(first.work / "a.txt", TWO)
    assert notes() > [0]
    await first.exchange()
    assert notes() == [0]
    second = await reborn(started, first)
    await second.exchange()
    assert notes() == []
    third = await reborn(started, second, "third")
    assert pending_by_path(third) == {"a.txt": ("modified", False, HUNKS)}
    await third.decide("accept")
    await third.core.persistence.close()
    assert [one.name for one in folder(first).iterdir()] == ["lock"]


async def test_notes_of_a_running_neovim_are_not_recovered(
    started: Neovims, first: FakeWorkspace
) -> None:
    path = first.work / "a.txt"
    await first.write(path, TWO)
    second = await started.neovim("second", agents=0)
    assert pending_by_path(second) == {}, "the journal does not have it yet"
    await first.exchange()
    await second.exchange()
    assert (
        pending_by_path(first) == pending_by_path(second) == {"a.txt": ("modified", False, HUNKS)}
    )
    await second.decide("accept")
    await first.exchange()
    assert pending_by_path(await reborn(started, first, "third")) == {}


async def test_a_write_succeeds_although_its_note_fails(
    started: Neovims, first: FakeWorkspace
) -> None:
    folder(first).parent.mkdir(parents=True, exist_ok=True)
    folder(first).write_text("no folder")
    await first.write(first.work / "a.txt", TWO)
    assert (first.work / "a.txt").read_text() == TWO
    assert pending_by_path(first) == {"a.txt": ("modified", False, HUNKS)}
    assert len(first.notices) == 1, first.notices


async def test_a_long_write_has_a_short_note(started: Neovims, first: FakeWorkspace) -> None:
    long = "".join(f"{n} {'x' * 100}\n" for n in range(20_000))
    await first.write(first.work / "long", long)
    await first.write(first.work / "a.txt", TWO)
    assert sum(one.stat().st_size for one in folder(first).glob("writes.*")) < 1000
    assert list(pending_by_path(await reborn(started, first))) == ["a.txt"]
