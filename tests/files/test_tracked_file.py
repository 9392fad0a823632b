"""State of a file after each event, and its lock for writers."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest
from msgspec import UNSET

from acp_nvim.edits.text import Text, from_lines
from acp_nvim.files.buffers.tracked_file import (
    SPARE,
    AgentChanged,
    AgentFormat,
    AuthorUnknown,
    CaughtUp,
    Compared,
    Conflicted,
    ConflictOver,
    ContentKnown,
    Displaced,
    FileEvent,
    FileState,
    Forgotten,
    NeovimRead,
    Postponed,
    PostponedChange,
    Received,
    Removed,
    Saved,
    SavedIdle,
    SaveSigned,
    Scanned,
    Stored,
    TrackedFiles,
    Unmerged,
    UserFormat,
    file_after,
)
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.ports import BufferText

OLD, NEW = from_lines("ab"), from_lines("aX")
UNIX, DOS = Format(), Format(dos=True)
RIGHTS = Rights(0o600, 0, 0)


class Session:
    """A session at work."""

    n, key, cwd, roots, is_running, is_over = 1, "1", "/", ("/",), True, False
    id, agent, title, directories = "s1", "agent", None, ()
    is_cancelling, cancels, worktree = False, 0, None


LATE = PostponedChange(Session(), 7)
KNOWN = FileState(disk=OLD, disk_format=UNIX, compared="1-2", saved="1-2")
IN_CONFLICT = msgspec.structs.replace(KNOWN, conflict_base=OLD, postponed=LATE)
UNMERGED = msgspec.structs.replace(IN_CONFLICT, is_unmerged=True)

TABLE: list[tuple[str, FileState, FileEvent, dict[str, Any]]] = [
    # events of the user
    (
        "saved",
        UNMERGED,
        Saved(NEW, DOS),
        {
            "disk": NEW,
            "disk_format": DOS,
            "compared": UNSET,
            "conflict_base": UNSET,
            "is_unmerged": False,
        },
    ),
    (
        "saved, and the text comes later",
        UNMERGED,
        Saved(None, UNIX),
        {
            "disk": UNSET,
            "disk_format": None,
            "compared": UNSET,
            "saved_other_bytes": True,
            "is_unmerged": False,
        },
    ),
    (
        "signed",
        KNOWN,
        SaveSigned("3-4", True),
        {"saved": "3-4", "saved_other_bytes": True},
    ),
    ("saved while nobody is at work", KNOWN, SavedIdle(), {"saved_idle": True}),
    ("that was looked at", FileState(saved_idle=True), SavedIdle(False), {"saved_idle": False}),
    # events on disk
    (
        "another text",
        KNOWN,
        ContentKnown(NEW, DOS),
        {"disk": NEW, "disk_format": DOS, "compared": UNSET},
    ),
    ("the same text", KNOWN, ContentKnown(from_lines("ab"), UNIX), {}),
    (
        "the same lines in another format",
        KNOWN,
        ContentKnown(OLD, DOS),
        {"disk_format": DOS, "compared": UNSET},
    ),
    (
        "no file",
        KNOWN,
        ContentKnown(None, UNIX),
        {"disk": None, "disk_format": None, "compared": UNSET},
    ),
    ("no file, when nothing was known", FileState(), ContentKnown(None, None), {"disk": None}),
    ("compared", KNOWN, Compared("5-6"), {"compared": "5-6"}),
    (
        "forgotten",
        KNOWN,
        Forgotten(),
        {"disk": UNSET, "disk_format": None, "compared": UNSET},
    ),
    ("looked at by name", KNOWN, Scanned((3, "1-2")), {"last_scan": (3, "1-2")}),
    ("kept by a store", KNOWN, Stored(), {"in_store": True}),
    # events of agents
    ("an agent's change", KNOWN, AgentChanged(), {"agent_change_count": 1}),
    ("its format", KNOWN, AgentFormat(DOS), {"agent_format": DOS}),
    (
        "its change is late",
        KNOWN,
        Postponed(OLD, UNIX, LATE),
        {"postponed": LATE, "compared": UNSET},
    ),
    ("and is made", IN_CONFLICT, CaughtUp(), {"postponed": None}),
    # owners of the text
    ("read by Neovim", KNOWN, NeovimRead(NEW), {"neovim_read": NEW}),
    ("taken up", FileState(neovim_read=NEW), NeovimRead(None), {"neovim_read": None}),
    ("to be found out", KNOWN, AuthorUnknown(True), {"is_author_unknown": True}),
    (
        "found out",
        FileState(is_author_unknown=True),
        AuthorUnknown(False),
        {"is_author_unknown": False},
    ),
    ("a conflict", KNOWN, Conflicted(OLD), {"conflict_base": OLD}),
    ("a conflict without a file before", KNOWN, Conflicted(None), {"conflict_base": None}),
    ("a save in another Neovim", KNOWN, Unmerged(True), {"is_unmerged": True}),
    ("no conflict any more", IN_CONFLICT, ConflictOver(), {"conflict_base": UNSET}),
    # decisions
    ("pending from now on", KNOWN, UserFormat(DOS), {"user_format": DOS}),
    ("in a format that nobody knows", FileState(user_format=DOS), UserFormat(None), {}),
    ("removed", KNOWN, Removed(RIGHTS), {"rights": RIGHTS}),
    (
        "taken over from another process",
        FileState(rights=RIGHTS),
        Received(DOS, None, UNSET, None, None),
        {"user_format": DOS, "rights": None},
    ),
    ("removed as any other", FileState(rights=RIGHTS), Removed(None), {"rights": None}),
    ("something gave way", KNOWN, Displaced((0o120777, b"x")), {"displaced": (0o120777, b"x")}),
]


@pytest.mark.parametrize(
    ("before", "event", "changed"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_an_event_changes_the_state_of_a_file(
    before: FileState, event: FileEvent, changed: dict[str, Any]
) -> None:
    after = file_after(before, event)
    assert after == msgspec.structs.replace(before, **changed)


def test_every_event_is_in_the_table() -> None:
    assert {type(row[2]) for row in TABLE} == set(FileEvent.__args__)


@pytest.mark.parametrize(
    ("text", "layout", "data", "held"),
    [
        (OLD, UNIX, b"a\nb\n", True),
        (OLD, DOS, b"a\r\nb\r\n", True),
        (OLD, DOS, b"a\nb\n", False),
        (OLD, UNIX, None, False),
        (None, None, None, True),
        (None, None, b"", False),
        (Text(("\ufeffa",)), Format(bomb=True), "\ufeffa\n".encode(), True),
        (Text(("a\r",)), DOS, b"a\r\n", True),
    ],
)
def test_known_text_and_format_match_their_bytes(
    text: Text | None, layout: Format | None, data: bytes | None, held: bool
) -> None:
    assert FileState(disk=text, disk_format=layout).has_content(data) is held


def test_an_unread_file_matches_no_bytes() -> None:
    assert not FileState().has_content(None)
    assert not FileState().has_content(b"")


async def test_a_file_has_one_writer_at_a_time() -> None:
    files, order = TrackedFiles(), list[str]()

    async def write(name: str) -> None:
        async with files["/f"].lock:
            order.append(f"{name} begins")
            await anyio.lowlevel.checkpoint()
            order.append(f"{name} ends")

    async with anyio.create_task_group() as group:
        group.start_soon(write, "one")
        group.start_soon(write, "two")
        await anyio.lowlevel.checkpoint()
        assert files["/f"].is_busy
    assert order == ["one begins", "one ends", "two begins", "two ends"]
    assert not files["/f"].is_busy


async def test_empty_states_are_forgotten_unless_locked() -> None:
    files = TrackedFiles()
    files["/known"].apply(ContentKnown(OLD, UNIX))
    files["/open"].buffer = msgspec.structs.replace(
        files["/open"].buffer, text=BufferText(1, 2, OLD, OLD)
    )
    locked = files["/locked"]
    async with locked.lock:
        for n in range(10 * SPARE):
            assert files[f"/{n}"].state == FileState()
        kept = {file.path for file in files}
        assert {"/known", "/open", "/locked"} <= kept
        assert len(kept) <= 2 * SPARE
        assert files["/locked"] is locked
