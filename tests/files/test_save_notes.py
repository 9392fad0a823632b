"""Notes of other Neovims on their saves, during a turn here."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from acp_nvim.edits.text import Text, parse
from acp_nvim.files.buffers.tracked_file import NeovimRead
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.changes import save_notes
from acp_nvim.files.journal import persistence
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path
from tests.support.waiting import eventually

LINES = [f"line {n}" for n in range(1, 9)]
TEXT = "\n".join(LINES) + "\n"


def inboxes(neovim: FakeWorkspace) -> list[Path]:
    folder = neovim.root / "data" / "acp" / "saves"
    return sorted(folder.iterdir()) if folder.exists() else []


DEAD = 2**22 + 1  # larger than any process id
ALIVE = os.getpid()


def note(
    neovim: FakeWorkspace,
    path: Path,
    before: bytes | None,
    *,
    is_done: bool = True,
    writer: int = ALIVE,
    has_contents: bool = True,
) -> None:
    """Note a write as the other Neovim does (`lua/acp/buffers/save_notes.lua`)."""
    name, signature = os.fsencode(path), (signature_of(str(path)) or "").encode()
    contents = [before, path.read_bytes()] if is_done and has_contents else []
    sizes = [-1 if content is None else len(content) for content in contents] or [-2, -2]
    kind = "end" if is_done else "begin"
    head = f"{kind} {writer} {len(name)} {len(signature)} {sizes[0]} {sizes[1]}\n".encode()
    for inbox in inboxes(neovim):
        with inbox.open("ab") as file:
            file.write(b"".join([head, name, signature, *filter(None, contents)]))


def save(neovim: FakeWorkspace, path: Path, text: str) -> None:
    """Save a file in another Neovim."""
    before = path.read_bytes() if path.exists() else None
    note(neovim, path, before, is_done=False)
    path.write_text(text)
    note(neovim, path, before)


@pytest.fixture
async def here(started: Neovims) -> FakeWorkspace:
    """Return a Neovim in a turn, with a buffer of `a.txt`."""
    neovim = await started.neovim("here")
    (neovim.work / "a.txt").write_text(TEXT)
    neovim.neovim.open(str(neovim.work / "a.txt"))
    await neovim.begin()
    return neovim


async def test_a_process_has_an_inbox_from_its_first_turn_on(
    here: FakeWorkspace, started: Neovims
) -> None:
    [inbox] = inboxes(here)
    assert inbox.stat().st_mode & 0o077 == 0
    dead = inbox.with_name("dead.1.1")
    dead.touch()
    await here.end()
    other = await started.neovim("other")
    assert inboxes(here) == [dead, inbox]
    await other.begin()
    assert len(inboxes(here)) == 2
    assert not dead.exists()
    await here.core.close()
    assert inbox not in inboxes(other)


async def test_saves_between_changes_by_the_agent_are_the_users(here: FakeWorkspace) -> None:
    path = here.work / "a.txt"
    path.write_text(TEXT.replace("line 2\n", "two\n"))
    save(here, path, path.read_text().replace("line 4\n", "line 4\nmine\n"))
    save(here, path, path.read_text().replace("mine\n", "mine\nalso\n"))
    path.write_text(path.read_text().replace("line 7\n", "seven\n"))
    await here.end()
    hunks = [(("line 2",), ("two",)), (("line 7",), ("seven",))]
    assert pending_by_path(here) == {"a.txt": ("modified", False, hunks)}
    await here.decide("reject")
    assert path.read_text() == TEXT.replace("line 4\n", "line 4\nmine\nalso\n")
    await here.begin()
    path.write_text(TEXT)  # the earlier notes do not count again
    await here.end()
    assert pending_by_path(here)["a.txt"][2] == [(("mine", "also"), ())]


async def test_a_file_is_the_users_once_its_save_is_done(here: FakeWorkspace) -> None:
    """The file is found before the note after the write."""
    path = here.work / "n.txt"
    note(here, path, None, is_done=False)
    path.write_text("mine\n")
    async with anyio.create_task_group() as group:
        group.start_soon(here.core.disk.scan, [str(here.work)])
        await anyio.wait_all_tasks_blocked()
        note(here, path, None)
    await here.end()
    assert pending_by_path(here) == {}


@pytest.mark.parametrize("row", [2, 5])
async def test_a_save_is_merged_with_unsaved_text_unless_they_conflict(
    here: FakeWorkspace, row: int
) -> None:
    path = here.work / "a.txt"
    await here.write(path, TEXT.replace("line 8\n", "eight\n"))
    typed = [*LINES[:2], "typed", *LINES[3:7], "eight"]
    here.neovim.type(str(path), Text(tuple(typed)))
    theirs = path.read_text().replace(LINES[row], "theirs")
    save(here, path, theirs)
    await here.core.disk.scan([str(here.work)])
    buffer = here.neovim.buffers[str(path)]
    shown = typed if row == 2 else [*typed[:5], "theirs", *typed[6:]]
    assert buffer.text.lines == tuple(shown)
    assert path.read_text() == theirs
    assert pending_by_path(here) == {"a.txt": ("modified", False, [(("line 8",), ("eight",))])}
    is_same = await here.core.check_changed(str(path)) is not None
    assert is_same == (row == 5)  # otherwise Neovim asks before it overwrites the file
    await here.end()


@pytest.mark.parametrize("row", [0, 5])
async def test_neovim_asks_before_it_overwrites_a_save_after_a_change_by_the_agent(
    here: FakeWorkspace, row: int
) -> None:
    path = here.work / "a.txt"
    await here.write(path, TEXT.replace("line 8\n", "eight\n"))
    buffer = here.neovim.buffers[str(path)]
    here.neovim.type(str(path), Text((*LINES[:2], "typed", *LINES[3:7], "eight")))
    save(here, path, path.read_text().replace("line 3\n", "theirs\n"))
    await here.core.disk.scan([str(here.work)])
    path.write_text(path.read_text().replace(f"{LINES[row]}\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    assert buffer.text.lines[row] == "agents"
    assert buffer.accepted != signature_of(str(path))
    await here.end()
    await here.begin()
    assert await here.core.check_changed(str(path)) is None
    path.write_text(path.read_text().replace("line 7\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    assert buffer.accepted != signature_of(str(path))
    here.neovim.save(str(path))
    here.neovim.type(str(path), Text((*buffer.text.lines[:6], "typed", "eight")))
    path.write_text(path.read_text().replace("line 4\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    assert buffer.text.lines[3] == "agents"
    assert buffer.accepted == signature_of(str(path))


@pytest.mark.parametrize("is_saved_again", [False, True])
async def test_neovim_asks_before_it_overwrites_a_save_in_a_conflict_with_the_agent(
    here: FakeWorkspace, is_saved_again: bool
) -> None:
    path = here.work / "a.txt"
    await here.write(path, TEXT.replace("line 8\n", "eight\n"))
    buffer = here.neovim.buffers[str(path)]
    here.neovim.type(str(path), Text((*LINES[:2], "typed", *LINES[3:7], "eight")))
    save(here, path, path.read_text().replace("line 3\n", "theirs\n"))
    if is_saved_again:
        await here.core.disk.scan([str(here.work)])
    path.write_text(path.read_text().replace("theirs\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    assert buffer.text.lines[2] == "typed"
    assert pending_by_path(here)["a.txt"][1]
    assert buffer.accepted != signature_of(str(path))


@pytest.mark.parametrize("is_typed", [False, True])
async def test_neovim_asks_before_it_overwrites_a_save_from_before_the_turn(
    here: FakeWorkspace, is_typed: bool
) -> None:
    """A save that Neovim has read into the unsaved text is not missing there."""
    path = here.work / "a.txt"
    await here.end()
    if is_typed:
        here.neovim.type(str(path), Text(("typed", *LINES[1:])))
    save(here, path, TEXT.replace("line 4\n", "theirs\n"))
    if not is_typed:
        here.neovim.refresh(str(path))
        here.neovim.type(str(path), Text(("typed", *LINES[1:3], "theirs", *LINES[4:])))
    await here.begin()
    path.write_text(path.read_text().replace("line 8\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    buffer = here.neovim.buffers[str(path)]
    assert buffer.text.lines[7] == "agents"
    assert (buffer.accepted != signature_of(str(path))) == is_typed


@pytest.mark.parametrize("is_noted", [False, True])
async def test_neovim_asks_before_it_overwrites_a_save_from_the_beginning_of_the_turn(
    here: FakeWorkspace, is_noted: bool
) -> None:
    """The save is found by the scan before the turn. A save without autocommands has no note."""
    path, disk = here.work / "a.txt", here.core.disk
    await here.end()
    here.neovim.type(str(path), Text(("typed", *LINES[1:])))
    turn = disk.enter(here.sessions[0])
    await disk.remember(turn)
    theirs = TEXT.replace("line 4\n", "theirs\n")
    if is_noted:
        save(here, path, theirs)
    else:
        path.write_text(theirs)
    await disk.begin(turn)
    turn.mentions.add_command("write **", str(here.work))
    path.write_text(path.read_text().replace("line 8\n", "agents\n"))
    await disk.scan([str(here.work)])
    buffer = here.neovim.buffers[str(path)]
    assert buffer.text.lines[7] == "agents"
    assert buffer.accepted != signature_of(str(path))
    here.neovim.save(str(path))
    here.neovim.type(str(path), Text((*buffer.text.lines[:6], "typed", "agents")))
    path.write_text(path.read_text().replace("line 2\n", "agents\n"))
    await disk.scan([str(here.work)])
    assert buffer.accepted == signature_of(str(path))


async def test_neovim_does_not_ask_after_an_undone_reject(here: FakeWorkspace) -> None:
    """The unsaved text lacks the write of the reject, which this Neovim made."""
    path = here.work / "a.txt"
    await here.write(path, TEXT.replace("line 8\n", "eight\n"))
    await here.end()
    await here.decide_hunk("reject", path, 7)
    assert path.read_text() == TEXT
    here.neovim.type(str(path), Text((*LINES[:7], "eight")))
    await here.begin()
    path.write_text(TEXT.replace("line 2\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    buffer = here.neovim.buffers[str(path)]
    assert buffer.text.lines[1] == "agents"
    assert buffer.accepted == signature_of(str(path))


@pytest.mark.parametrize("row", [0, 5])
async def test_neovim_asks_before_it_overwrites_a_save_that_a_killed_host_has_found(
    here: FakeWorkspace, started: Neovims, row: int
) -> None:
    path = here.work / "a.txt"
    here.neovim.type(str(path), Text((*LINES[:2], "typed", *LINES[3:])))
    save(here, path, TEXT.replace("line 3\n", "theirs\n"))
    await here.core.disk.scan([str(here.work)])
    started.kill(here)
    host = await started.neovim("here", enters=False)
    host.neovim.buffers = here.neovim.buffers
    await host.open(again=True)
    await host.begin()
    path.write_text(path.read_text().replace(f"{LINES[row]}\n", "agents\n"))
    await host.core.disk.scan([str(host.work)])
    buffer = host.neovim.buffers[str(path)]
    assert buffer.text.lines[row] == "agents"
    assert buffer.accepted != signature_of(str(path))
    await host.end()


async def test_a_text_of_the_agent_that_neovim_has_read_before_a_save_stays_pending(
    here: FakeWorkspace,
) -> None:
    path = here.work / "a.txt"
    await here.core.agent_files.read(here.sessions[0], str(path))
    path.write_text(TEXT.replace("line 2\n", "two\n"))
    read = Text(tuple(path.read_text().split("\n")[:-1]))
    here.neovim.refresh(str(path))
    here.neovim.type(str(path), Text((*read.lines[:4], "typed", *read.lines[5:])))
    here.core.files.tracked[str(path)].apply(NeovimRead(read))
    save(here, path, path.read_text().replace("line 8\n", "theirs\n"))
    await here.core.disk.scan([str(here.work)])
    lines = ("line 1", "two", *LINES[2:4], "typed", *LINES[5:7], "theirs")
    assert here.neovim.buffers[str(path)].text.lines == lines
    assert pending_by_path(here) == {"a.txt": ("modified", False, [(("line 2",), ("two",))])}


async def test_a_save_between_turns_is_known_before_the_next_prompt(here: FakeWorkspace) -> None:
    path = here.work / "a.txt"
    await here.end()
    save(here, path, TEXT.replace("line 4\n", "mine\n"))
    await here.core.disk.remember(here.core.disk.enter(here.sessions[0]))
    assert here.core.disk.on_disk(str(path)) == Text((*LINES[:3], "mine", *LINES[4:]))
    assert not here.core.files.save_notes.saved_paths()


async def test_a_turn_replaces_an_inbox_that_has_grown(
    here: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, outside = here.work / "a.txt", here.root / "outside.txt"
    await here.end()
    save(here, outside, "theirs")
    [full] = inboxes(here)
    monkeypatch.setattr("acp_nvim.files.changes.save_notes.MAX_READ", 1)
    await here.begin()
    [inbox] = inboxes(here)
    assert inbox != full
    assert not here.core.files.save_notes.saved_paths()
    monkeypatch.undo()
    save(here, path, TEXT.replace("line 4\n", "mine\n"))
    await here.end()
    assert pending_by_path(here) == {}


async def test_a_change_after_a_kill_within_a_write_is_the_agents(
    here: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Neovim that was killed writes no second note."""
    monkeypatch.setattr(save_notes, "MAX_WRITE_NS", 0)
    path = here.work / "a.txt"
    note(here, path, None, is_done=False, writer=DEAD)
    path.write_text(TEXT.replace("line 4\n", "agents\n"))
    await here.end()
    assert pending_by_path(here) == {
        "a.txt": ("modified", False, [(("line 4",), ("agents",))]),
    }


async def test_a_slow_write_of_a_neovim_that_runs_is_the_users(
    here: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An autocommand after the write takes longer than the scan waits for it."""
    monkeypatch.setattr(save_notes, "MAX_WRITE_NS", 0)
    path = here.work / "a.txt"
    before = path.read_bytes()
    note(here, path, None, is_done=False)
    path.write_text(TEXT.replace("line 4\n", "mine\n"))
    await here.end()
    assert pending_by_path(here) == {}
    note(here, path, before)
    await eventually(lambda: here.core.files.tracked.state(str(path)).postponed is None)
    assert pending_by_path(here) == {}
    assert here.core.files.ledger.get(str(path)) is None


async def test_changes_do_not_stay_unseen_while_a_neovim_asks_whether_to_overwrite_the_file(
    here: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_notes, "MAX_WRITE_NS", 0)
    path = here.work / "a.txt"
    before = path.read_bytes()
    note(here, path, None, is_done=False)
    path.write_text(TEXT.replace("line 4\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    assert pending_by_path(here) == {}
    monkeypatch.setattr(save_notes, "MAX_LATE_NS", 0)
    await eventually(lambda: pending_by_path(here) != {})
    hunks = [(("line 4",), ("agents",))]
    assert pending_by_path(here) == {"a.txt": ("modified", False, hunks)}
    path.write_text(TEXT.replace("line 8\n", "mine\n"))
    note(here, path, before)  # the user overwrites the file
    await here.end()
    assert pending_by_path(here) == {}


async def test_an_agents_change_after_a_save_of_unknown_contents_is_pending(
    here: FakeWorkspace,
) -> None:
    """Notes have no contents of large files."""
    path = here.work / "a.txt"
    path.write_text(TEXT.replace("line 4\n", "mine\n"))
    note(here, path, None, has_contents=False)
    await here.core.disk.scan([str(here.work)])
    assert pending_by_path(here) == {}
    path.write_text(TEXT.replace("line 4\n", "mine\n").replace("line 6\n", "mine\n"))
    note(here, path, None, has_contents=False)
    path.write_text(path.read_text().replace("line 8\n", "agents\n"))
    await here.end()
    hunks = [(("line 6",), ("mine",)), (("line 8",), ("agents",))]
    assert pending_by_path(here) == {"a.txt": ("modified", False, hunks)}


async def test_an_agents_change_within_a_save_of_another_neovim_stays_pending(
    here: FakeWorkspace,
) -> None:
    """The note has the contents from before the change."""
    path = here.work / "a.txt"
    before = path.read_bytes()
    path.write_text(TEXT.replace("line 2\n", "agents\n"))
    await here.core.disk.scan([str(here.work)])
    path.write_text(path.read_text().replace("line 7\n", "mine\n"))
    note(here, path, before)
    await here.end()
    hunks = [(("line 2",), ("agents",))]
    assert pending_by_path(here) == {"a.txt": ("modified", False, hunks)}


async def test_a_decision_in_another_neovim_is_not_the_agents(
    here: FakeWorkspace, started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user has saved a line that the other Neovim's agent wrote into an unsaved buffer."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    path = here.work / "a.txt"
    other = await started.neovim("other")
    await other.write(path, TEXT.replace("line 2\n", "two\n"))
    note(here, path, TEXT.encode())
    await here.core.disk.scan([str(here.work)])
    await other.decide("reject")
    await here.core.disk.scan([str(here.work)])
    assert path.read_text() == TEXT
    assert pending_by_path(here) == pending_by_path(other) == {}


async def test_an_agents_change_during_a_decision_that_fails_stays_the_agents(
    here: FakeWorkspace, started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changes while the other Neovim does not allow an edit of its buffer."""
    path = here.work / "a.txt"
    other = await started.neovim("other")
    other.neovim.open(str(path))
    two = TEXT.replace("line 2\n", "two\n")
    await other.write(path, two)
    for neovim in (other, here):
        await neovim.exchange()
    await here.core.disk.scan([str(here.work)])

    def refuse(*_: object) -> list[str]:
        path.write_text(two.replace("line 7\n", "seven\n"))
        return ["failed", "the buffer is locked"]

    monkeypatch.setattr(other.neovim, "live_write", refuse)
    await other.decide("reject")
    await here.core.disk.scan([str(here.work)])
    hunks = [(("line 2",), ("two",)), (("line 7",), ("seven",))]
    assert pending_by_path(here) == {"a.txt": ("modified", False, hunks)}


async def test_a_save_is_the_users_although_the_text_of_its_buffer_has_not_arrived(
    here: FakeWorkspace,
) -> None:
    """Neovim has answered that it has sent the text, and the host has not read the answer."""
    path = here.work / "a.txt"
    buffer = here.neovim.buffers[str(path)]
    here.neovim.live_read(str(path), str(path))
    buffer.put(parse(TEXT.replace("line 7\n", "mine\n")), modified=True)
    here.neovim.live_read(str(path), str(path))
    here.neovim.save(str(path))
    path.write_text(path.read_text().replace("line 2\n", "agents\n"))
    await here.end()
    hunks = [(("line 2",), ("agents",))]
    assert pending_by_path(here) == {"a.txt": ("modified", False, hunks)}
