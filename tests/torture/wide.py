"""Like `basic`, with files of all encodings and line endings, which agents change.

`python -m tests.torture.wide SEED STEPS COUNT`
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.edits.pending import Pending, Restoration
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.file_format import Format, decode, describe_change, encode
from tests.support.editor import Editor
from tests.support.waiting import until
from tests.torture.basic import History, main
from tests.torture.world import ROWS

KINDS = (
    Format(),
    Format(dos=True),
    Format("latin1"),
    Format(bomb=True),
)


class Wide(History):
    """A history of files with all line endings and encodings."""

    def __init__(self, editor: Editor, seed: int) -> None:
        self.original_formats: dict[str, Format] = {}
        """Original formats of files whose format an agent has changed, until that is decided."""
        self.rejected: dict[str, Format] = {}
        self.original_paths: dict[str, str] = {}
        """Original paths of such files, if they were renamed later."""
        super().__init__(editor, seed)
        self.head_bytes = self.bytes_of_all()

    def bytes_of_all(self) -> dict[str, bytes]:
        """Return the bytes of all files on disk."""
        return {path: Path(path).read_bytes() for path in self.paths if Path(path).exists()}

    def make(self, n: int, path: str) -> None:
        """Create file number n."""
        kind = self.rng.choice(KINDS)
        self.layouts[path] = kind
        ends = kind.encoding == "utf-8" and self.rng.random() < 0.3
        word = "é" if kind.encoding == "latin1" else "e"
        self.put(path, Text(tuple(f"{n}.{row}{word}" for row in range(ROWS)), not ends))
        self.note(path, kind, "" if not ends else "no final newline")

    def agents_steps(self) -> list[Callable[[], None]]:
        """Return the agent's possible steps. It also changes line endings and BOMs."""
        return [*super().agents_steps(), *[self.agent_changes_format] * 2]

    def agent_changes_format(self) -> None:
        """Change the format of a file and nothing else."""
        path = self.random_path(self.can_change_format)
        if path is None:
            return
        text, old = self.disk(path), self.layout(path)
        assert text is not None
        new = self.rng.choice([Format(dos=not old.dos), Format(bomb=not old.bomb, dos=old.dos)])
        if path not in self.original_formats:
            self.original_paths.pop(path, None)
        first = self.original_formats.setdefault(path, old)
        self.note("agent lays", path, describe_change(old, new))
        (self.editor.home / "new").write_bytes(encode(text, new))
        self.agent.ask("runs", *self.named(path), f"cat {self.editor.home}/new > {path}")
        entry = self.ledger.get(path) or Pending(path, text, text, text)
        writers, told = entry.writers | {self.n}, describe_change(first, new)
        entry = msgspec.structs.replace(entry, format_change=told, writers=writers)
        self.ledger.reinstate(path, text, entry)
        self.settle({path: text}, {path: text})

    def moved(self, old: str, new: str) -> None:
        """Move the original format of a file to its new path."""
        if old in self.original_formats:
            self.original_formats[new] = self.original_formats.pop(old)
            self.original_paths[new] = self.original_paths.get(old, old)

    def can_change_format(self, path: str) -> bool:
        """Return whether a file is in UTF-8, has no unsaved edits, and is at most changed."""
        entry = self.ledger.get(path)
        plain = entry is None or not (entry.base is None or entry.origin or entry.is_conflict)
        utf8 = self.layout(path).encoding == "utf-8"
        return utf8 and plain and self.clean(path) and self.disk(path) not in (None, EMPTY)

    def layout(self, path: str) -> Format:
        """Return the format that the bytes show, if they show one."""
        kind = super().layout(path)
        if kind.encoding != "utf-8" or not Path(path).exists():
            return kind
        return decode(Path(path).read_bytes()).format

    def text(self, path: str, data: bytes | None) -> Text | None:
        """Return the text that these bytes hold."""
        if data is None or super().layout(path).encoding != "utf-8":
            return super().text(path, data)
        return decode(data).text

    def is_format_pending(self, path: str) -> bool:
        """Return whether a change to the format is pending."""
        entry = self.ledger.get(path)
        return entry is not None and entry.format_change != ""

    def commit(self) -> None:
        """Commit, which accepts all texts, and a change to the format if HEAD has another one."""
        if not all(map(self.clean, self.paths)):
            return
        present = self.bytes_of_all()
        for path in filter(self.is_format_pending, self.original_formats):
            if present.get(path) != self.head_bytes.get(path):
                self.ledger.accept_committed(path, self.disk(path))
        self.head_bytes = present
        super().commit()
        self.original_formats = {
            path: first
            for path, first in self.original_formats.items()
            if self.is_format_pending(path)
        }

    def decide_in_editor(
        self, verb: str, args: dict[str, Any], steps: Sequence[Restoration]
    ) -> None:
        """Make the host decide. A reject restores the format too, which an empty file hides."""
        changed = {step.path for step in steps}
        emptied = {step.path for step in steps if step.after == EMPTY}
        wanted: dict[str, Format] = {}
        for path in [path for path in self.original_formats if not self.is_format_pending(path)]:
            first = self.original_formats.pop(path)
            if verb == "reject" and path in changed:
                self.rejected[path] = first
                if self.clean(path) and path not in emptied:
                    wanted[self.original_paths.get(path, path)] = first
        for path in changed - self.original_formats.keys():
            if self.is_format_pending(path):
                self.original_formats[path] = self.rejected[path]
        super().decide_in_editor(verb, args, steps)
        until(
            lambda: all(self.layout(path) == first for path, first in wanted.items()),
            what=f"files lie again as {wanted}",
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Wide))
