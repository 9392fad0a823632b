"""The plugin's host process is killed, and its journal is read.

Example:

    kill_host_once_written(editor)  # as the system does when memory runs out
    editor.cmd("Acp edits")  # anything that needs a host starts the next one
    wait_host(editor)
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from acp_nvim.editor import review_view
from acp_nvim.edits import serialize
from acp_nvim.edits.log import parted
from acp_nvim.edits.pending import LedgerState
from acp_nvim.edits.records import Reader
from acp_nvim.workspace.snapshots import serialize as checkpoints
from tests.support.editor import Editor
from tests.support.waiting import until

HOST_PID = "return vim.fn.jobpid(require('acp.base.host').channel())"
"""Lua: the process number of the host."""


def journal_path(editor: Editor) -> Path:
    """The journal of this Neovim, which need not exist."""
    state, name = editor.lua("return { vim.fn.stdpath('state'), require('acp.base.journal').name }")
    return Path(state) / "acp" / "journal" / str(name)


def read_journal(editor: Editor) -> Reader:
    """The records in the journal now; none where there is no journal."""
    path = journal_path(editor)
    return Reader(parted(path.read_bytes() if path.exists() else b"")[0])


def journaled_edits(editor: Editor) -> LedgerState:
    """The pending edits in the journal."""
    return serialize.read(read_journal(editor))


def is_written(editor: Editor) -> bool:
    """Whether the journal holds all that Neovim shows."""
    reader = read_journal(editor)
    state, made = serialize.read(reader), checkpoints.read(reader, checkpoints.CHECKPOINT)
    sessions = dict(enumerate(editor.state()["sessions"], 1))
    for n, session in sessions.items():
        mine = [one for one in state.files.values() if n in one.writers]
        if [review_view.summary(one) for one in mine] != session["edits"]:
            return False
        if {c.n for c in made.get(n, [])} != {c["n"] for c in session["checkpoints"]}:
            return False
        if any(not c.trees and not c.reasons for c in made.get(n, [])):
            return False
        last = made.get(n, [])[-1:]  # those before it may be of turns that a kill has cut
        if session["status"] == "idle" and any(not c.ends for c in last):
            return False
    return True


def kill_host(editor: Editor) -> None:
    """End the host as the system would when memory runs out."""
    editor.errors_expected = True
    os.kill(editor.lua(HOST_PID), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")


def kill_host_once_written(editor: Editor, restores: int = 0) -> None:
    """Kill it as soon as the journal holds all that Neovim shows, and so many restores."""

    def is_due() -> bool:
        undo = checkpoints.read(read_journal(editor), checkpoints.UNDO)
        return is_written(editor) and sum(map(len, undo.values())) == restores

    until(is_due, what="the journal is written")
    kill_host(editor)


def wait_host(editor: Editor) -> None:
    """Wait until the next host runs and has read the journal."""
    editor.wait("require('acp').state().host == 'running'")
