"""Killing the plugin's host process, and reading its journal.

Example:

    kill_host_once_written(editor)  # as the system does when memory runs out
    editor.cmd("Acp edits")  # anything that needs a host starts the next one
    wait_host(editor)
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp_nvim.edits.pending import Pending
from acp_nvim.files.bytes import roots
from acp_nvim.files.checkpoints.checkpoints import Checkpoint
from acp_nvim.files.journal.replica import CHECKPOINT, FILE, UNDO, FileValue, Key, Replica
from acp_nvim.host import review_view
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

HOST_PID = lua_chunk(__file__, "host_pid")
"""Lua: the process id of the host."""

UNSAVED = """
local buffers = vim.fn.getbufinfo({ bufmodified = 1 })
return vim.tbl_map(function(it) return it.name end, buffers)
"""
"""Lua: the names of buffers with unsaved changes."""


def kill_both(editor: Editor) -> None:
    """Kill Neovim and its host."""
    host = editor.lua(HOST_PID)
    editor.errors_expected = True
    editor.kill()
    with suppress(ProcessLookupError):
        os.kill(host, signal.SIGKILL)


class _TestKeys:
    """Keys of sessions that are made from their numbers."""

    def key(self, n: int) -> str:
        return f"test.{n}"

    def number(self, key: str) -> int:
        return int(key.rpartition(".")[2])


def journal_path(editor: Editor) -> Path:
    """Return the path of the project's journal, which need not exist."""
    data = Path(editor.lua("return vim.fn.stdpath('data')"))
    return roots.folder(data, roots.root_of(str(editor.work))) / "journal"


def read_journal(editor: Editor) -> dict[Key, Any]:
    """Return the values in the journal, or none without a journal."""
    path = journal_path(editor)
    replica = Replica(str(editor.work), path.parent, _TestKeys())
    keys = replica.read(locked=False)
    found = {key: replica.value(key) for key in keys}
    replica.file.close()
    return {key: value for key, value in found.items() if value is not None}


def journaled_edits(editor: Editor) -> dict[str, Pending]:
    """Return the pending edits in the journal by path."""
    found = read_journal(editor).values()
    entries = [value.entry for value in found if isinstance(value, FileValue)]
    return {entry.path: entry for entry in entries if entry is not None}


def journaled_checkpoints(editor: Editor, kind: str = CHECKPOINT) -> dict[int, list[Checkpoint]]:
    """Return the checkpoints in the journal, or the states before restores, by session number."""
    found: dict[int, list[Checkpoint]] = {}
    for (one, name), value in read_journal(editor).items():
        if one == kind:
            found.setdefault(_TestKeys().number(name.partition(":")[0]), []).append(value)
    return found


def has_files(editor: Editor) -> bool:
    """Return whether the journal has any file."""
    return any(kind == FILE for kind, _ in read_journal(editor))


def is_written(editor: Editor) -> bool:
    """Return whether the journal has everything that Neovim shows.

    Of files whose buffers have unsaved changes, the journal may have other edits.
    """
    files, made = journaled_edits(editor), journaled_checkpoints(editor)
    unsaved = set(editor.lua(UNSAVED))
    sessions = dict(enumerate(editor.state()["sessions"], 1))
    for n, session in sessions.items():
        mine = [it for it in files.values() if n in it.writers and it.path not in unsaved]
        shown = (edit for edit in session["edits"] if edit["path"] not in unsaved)
        edits = sorted(shown, key=lambda edit: edit["path"])
        if sorted(map(review_view.summary, mine), key=lambda edit: edit["path"]) != edits:
            return False
        if {c.n for c in made.get(n, [])} != {c["n"] for c in session["checkpoints"]}:
            return False
        if any(not c.trees and not c.reasons for c in made.get(n, [])):
            return False
        last = made.get(n, [])[-1:]  # earlier ones may be of turns that a kill has cut
        if session["status"] == "idle" and any(not c.ends for c in last):
            return False
    return True


def kill_host(editor: Editor) -> None:
    """Kill the host, as the system would when memory runs out."""
    editor.errors_expected = True
    os.kill(editor.lua(HOST_PID), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")


def kill_host_once_written(editor: Editor, restores: int = 0) -> None:
    """Kill the host as soon as the journal has everything that Neovim shows, and this number of
    restores.
    """

    def is_due() -> bool:
        undo = journaled_checkpoints(editor, UNDO)
        return is_written(editor) and sum(map(len, undo.values())) == restores

    until(is_due, what="the journal is written")
    kill_host(editor)


def wait_host(editor: Editor) -> None:
    """Wait until the next host runs and has read the journal."""
    editor.wait("require('acp').state().host == 'running'")
