"""Stage for a hostile agent, with files that it must not read or change.

A case is a name and the frames that the agent sends (see `tests/agents/hostile.py`). The frames may
contain `{witness}`, a file that must not appear, `{outside}`, a directory that must not be read or
changed, and `{work}`, the project.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

SECRET = "the text of a file that no agent may see"

INIT = lua_chunk(__file__, "hostile_init")

LOOK = lua_chunk(__file__, "user_state")


class Stage:
    """A project with a file that the user edits, beside a directory that the agent must not
    reach.
    """

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.outside = editor.home / "outside"
        self.witness = editor.home / "witness"
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(SECRET + "\n")
        editor.write("mine.txt", "one\ntwo\nthree\n")
        (editor.work / "way").symlink_to(self.outside)
        editor.open("mine.txt")
        editor.keys("jxIdraft <Esc>")
        self.window = editor.lua("return vim.api.nvim_get_current_win()")
        self.traffic = editor.agent("script")
        editor.lua(
            "vim.api.nvim_create_autocmd('User', { pattern = { 'AcpPermission', 'AcpElicitation' },"
            " callback = function(args) require('acp').answer(args.data.id) end })"
        )
        self._before = self._look()
        self._disk = self._tree()

    def play(self, frames: list[Any]) -> list[dict[str, Any]]:
        """Let the agent send these frames, refuse its requests, and return the answers that
        it got.
        """
        text = json.dumps(frames)
        for name in ("witness", "outside"):
            text = text.replace("{" + name + "}", str(getattr(self, name)))
        path = self.editor.home / "frames.json"
        path.write_text(text.replace("{work}", str(self.editor.work)))
        earlier = len(self._answers())
        self.editor.turn(f"frames {path}")
        return self._answers()[earlier:]

    def _answers(self) -> list[dict[str, Any]]:
        notes = [note for note in self.traffic.notes() if note.startswith("answer ")]
        return [json.loads(note.removeprefix("answer ")) for note in notes]

    def look_around(self) -> None:
        """Use everything that the agent named, like a user: windows, lists, and `<CR>` on every
        row.
        """
        editor = self.editor
        editor.screen()
        for command in ("Acp info", "Acp log", "Acp plan", "Acp permissions", "Acp edits"):
            editor.lua("pcall(vim.cmd, ...)", command)
        editor.screen()
        editor.lua("vim.ui.open = function(what) error('opened ' .. what) end")
        editor.lua("vim.cmd.tabnew() vim.cmd.only()")
        chat = editor.session()["chat_bufnr"]
        editor.cmd(f"sbuffer {chat}")
        for row in range(1, len(editor.chat()) + 1):
            editor.lua(
                "local chat, row = ... vim.cmd.tabonly() vim.cmd.only()"
                " vim.cmd.buffer(chat) vim.api.nvim_win_set_cursor(0, { row, 0 })",
                chat,
                row,
            )
            editor.keys("<CR>")
        editor.lua("vim.cmd.tabnew() vim.cmd.tabonly()")

    def assert_untouched(self) -> None:
        """Check that nothing ran, that files outside are unchanged, and that the agent got no
        secret.
        """
        assert not self.witness.exists(), self.witness.read_text(errors="replace")
        assert self._tree() == self._disk
        sent = json.dumps([e for e in self.traffic.entries() if e["dir"] == "in"])
        assert SECRET not in sent

    def assert_left_alone(self) -> None:
        """Check that the user's text, cursor, registers, options and tab pages are unchanged."""
        assert self._look() == self._before

    def _look(self) -> Any:
        return self.editor.lua(LOOK, self.window)

    def _tree(self) -> dict[str, str]:
        """Return every file of the project and of the directory beside it."""
        found: dict[str, str] = {}
        for top in (self.outside, self.editor.work):
            for folder, _, names in os.walk(top):
                for name in names:
                    path = Path(folder, name)
                    found[str(path)] = path.read_text()
        return found
