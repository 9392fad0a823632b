"""Several Neovims, one after the other or at once, that share a directory and its drafts.

Example:

    first = shared.start()
    write(first, "my draft")
    shared.wait("my draft")  # it is on disk
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.waiting import until

SLOW_DISK = """
local fsync = vim.uv.fs_fsync
vim.uv.fs_fsync = function(fd, done) return done and true or fsync(fd) end -- never done
"""


class SharedWorkspace:
    """Workspace and stored state that several Neovims share."""

    def __init__(self, edit: Callable[..., Editor], home: Path) -> None:
        self.work = home / "work"
        self.state = home / "state"
        self._edit = edit

    def start(self, *, agent: str = "script", work: Path | None = None, **more: Any) -> Editor:
        """Start one more Neovim."""
        env = {"XDG_STATE_HOME": str(self.state), **more.pop("env", {})}
        editor = self._edit(work=work or self.work, env=env, **more)
        editor.agent(agent)
        return editor

    @property
    def directory(self) -> Path:
        return self.state / "nvim/acp/drafts"

    def files(self) -> list[Path]:
        return sorted(self.directory.glob("*.json"))

    def entries(self) -> list[dict[str, Any]]:
        """Return the content of all draft files."""
        found = []
        for path in self.files():
            try:
                found.append(json.loads(path.read_text()))
            except FileNotFoundError:
                continue
        return found

    def drafts(self) -> list[str]:
        return [draft["text"] for entry in self.entries() for draft in entry["drafts"]]

    def queued(self) -> list[str]:
        return [prompt["text"] for entry in self.entries() for prompt in entry["queue"]]

    def wait(self, *drafts: str, queue: list[str] | None = None) -> None:
        """Wait until exactly these drafts are on disk."""
        wanted = (list(drafts), queue or [])
        try:
            until(lambda: (self.drafts(), self.queued()) == wanted)
        except AssertionError as error:
            found = (self.drafts(), self.queued())
            raise AssertionError(f"{error}\nwanted {wanted}\nfound  {found}") from error


def write(editor: Editor, text: str) -> None:
    """Open the composer and type."""
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.keys(f"{text}<Esc>")


def composer(editor: Editor) -> list[str]:
    """Open the composer and return its lines."""
    editor.cmd("AcpPrompt")
    return editor.lines("acp://composer/1")


def run(editor: Editor, command: str) -> None:
    """Type a command; its output is then in `:messages`."""
    editor.keys(f":{command}<CR>")
