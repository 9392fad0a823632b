"""The terminal in which an editor runs: its answers, and the sequences that Neovim writes to it."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.waiting import until

NAME_QUERY = "\x1b[>0q"


class Terminal:
    """Terminal of an editor, with a name and the output of Neovim."""

    def __init__(self, editor: Editor, name: str = "") -> None:
        self._editor, self.name, self._sent = editor, name, ""
        self._answers = self._start = 0
        self._draw = editor.rpc.on_notification
        editor.rpc.on_notification = self._on_notification
        editor.rpc.request("nvim_ui_detach")
        options = {"ext_linegrid": True, "rgb": True, "stdout_tty": True}
        editor.rpc.request("nvim_ui_attach", 120, 40, options)

    def _on_notification(self, name: str, args: list[Any]) -> None:
        for event, *calls in args if name == "redraw" else ():
            if event == "ui_send":
                self._sent += "".join(text for (text,) in calls)
        self._draw(name, args)

    def written(self) -> str:
        """Return the output of Neovim: by events since 0.12, else by its standard error."""
        file = self._editor.home / "nvim.stderr"
        return self._sent + file.read_text(errors="replace")

    def wait(self, text: str) -> None:
        """Wait for an output. Answer each query for the name meanwhile."""

        def is_written() -> bool:
            self._editor.lua("return 1")  # take up what Neovim has sent
            while self.written().count(NAME_QUERY) > self._answers:
                self._answers += 1
                self.respond(f"\x1bP>|{self.name}")
            return text in self.written_since()

        until(is_written, what=f"written: {text!r}")

    def written_since(self) -> str:
        """Return the output since the last `forget`."""
        return self.written()[self._start :]

    def forget(self) -> None:
        """Make `wait` ignore earlier output."""
        self._start = len(self.written())

    def answer(self) -> None:
        """Wait for a query for the name and answer it."""
        self.wait(NAME_QUERY)

    def respond(self, response: str) -> None:
        """Send a response to Neovim."""
        self._editor.rpc.request("nvim_ui_term_event", "termresponse", response)
