"""A host that is killed, and what its journal holds."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from acp_nvim.editor import review_view
from acp_nvim.edits import serialize
from acp_nvim.edits.log import parted
from acp_nvim.edits.pending import LedgerState
from acp_nvim.edits.records import Reader
from acp_nvim.workspace.snapshots import serialize as checkpoints
from tests.support.editor import Editor
from tests.support.until import until

HOST = "return vim.fn.jobpid(require('acp.base.host').channel())"


def journal(editor: Editor) -> Path:
    """Where the journal of this Neovim lies, if there is one."""
    state, name = editor.lua("return { vim.fn.stdpath('state'), require('acp.base.journal').name }")
    return Path(state) / "acp" / "journal" / str(name)


def read(editor: Editor) -> Reader:
    """What it holds now; nothing where there is none."""
    path = journal(editor)
    return Reader(parted(path.read_bytes() if path.exists() else b"")[0])


def ledger(editor: Editor) -> LedgerState:
    """The pending edits in it."""
    return serialize.read(read(editor))


def edits(editor: Editor, n: int = 1) -> list[dict[str, Any]]:
    """The pending edits that Neovim knows of."""
    found: list[dict[str, Any]] = editor.session(n).get("edits", [])
    return found


def is_written(editor: Editor) -> bool:
    """Whether the journal has all that Neovim shows."""
    reader = read(editor)
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
        if session["status"] == "idle" and any(not c.ends for c in made.get(n, [])):
            return False
    return True


def kill(editor: Editor) -> None:
    """End the host as the system would when memory runs out."""
    editor.errors_expected = True
    os.kill(editor.lua(HOST), signal.SIGKILL)
    editor.wait("require('acp').state().host == 'failed'")


def die(editor: Editor, restores: int = 0) -> None:
    """The same as soon as the journal is as Neovim shows it, and has so many restores."""

    def is_due() -> bool:
        undo = checkpoints.read(read(editor), checkpoints.UNDO)
        return is_written(editor) and sum(map(len, undo.values())) == restores

    until(is_due, what="the journal is written")
    kill(editor)


def revived(editor: Editor) -> None:
    """Wait until a host runs that has taken everything up."""
    editor.wait("require('acp').state().host == 'running'")


def said(editor: Editor, text: str) -> None:
    """Wait until this was told."""
    editor.wait("vim.fn.execute('messages'):find(..., 1, true)", text)
