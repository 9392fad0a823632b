"""As basic, with files of all encodings and line ends, which agents change.

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
    """Files with all line ends and encodings."""

    def __init__(self, editor: Editor, seed: int) -> None:
        self.laid: dict[str, Format] = {}
        """How files lay that the agent has laid otherwise, and nobody has decided."""
        self.rejected: dict[str, Format] = {}
        self.homes: dict[str, str] = {}
        """Where files came from that were moved when they were laid otherwise."""
        super().__init__(editor, seed)
        self.head_bytes = self.bytes_of_all()

    def bytes_of_all(self) -> dict[str, bytes]:
        """The files as they are on disk."""
        return {path: Path(path).read_bytes() for path in self.paths if Path(path).exists()}

    def make(self, n: int, path: str) -> None:
        """The file number n as it is at first."""
        kind = self.rng.choice(KINDS)
        self.layouts[path] = kind
        ends = kind.encoding == "utf-8" and self.rng.random() < 0.3
        word = "é" if kind.encoding == "latin1" else "e"
        self.put(path, Text(tuple(f"{n}.{row}{word}" for row in range(ROWS)), not ends))
        self.note(path, kind, "" if not ends else "no final newline")

    def agents_steps(self) -> list[Callable[[], None]]:
        """It changes line ends and BOMs as well."""
        return [*super().agents_steps(), *[self.agent_lays] * 2]

    def agent_lays(self) -> None:
        """The agent lays a file otherwise, and changes nothing else."""
        path = self.some(self.can_be_laid)
        if path is None:
            return
        text, old = self.disk(path), self.layout(path)
        assert text is not None
        new = self.rng.choice([Format(dos=not old.dos), Format(bomb=not old.bomb, dos=old.dos)])
        if path not in self.laid:
            self.homes.pop(path, None)
        first = self.laid.setdefault(path, old)
        self.note("agent lays", path, describe_change(old, new))
        (self.editor.home / "new").write_bytes(encode(text, new))
        self.agent.ask("runs", *self.named(path), f"cat {self.editor.home}/new > {path}")
        entry = self.ledger.get(path) or Pending(path, text, text, text)
        writers, told = entry.writers | {self.n}, describe_change(first, new)
        entry = msgspec.structs.replace(entry, relaid=told, writers=writers)
        self.ledger.reinstated(path, text, entry)
        self.settle({path: text}, {path: text})

    def moved(self, old: str, new: str) -> None:
        """How it lay goes with it."""
        if old in self.laid:
            self.laid[new] = self.laid.pop(old)
            self.homes[new] = self.homes.get(old, old)

    def can_be_laid(self, path: str) -> bool:
        """A file in UTF-8 without unsaved edits that is nothing else than changed."""
        entry = self.ledger.get(path)
        plain = entry is None or not (entry.base is None or entry.origin or entry.conflict)
        utf8 = self.layout(path).encoding == "utf-8"
        return utf8 and plain and self.clean(path) and self.disk(path) not in (None, EMPTY)

    def layout(self, path: str) -> Format:
        """What the bytes tell, where they do."""
        kind = super().layout(path)
        if kind.encoding != "utf-8" or not Path(path).exists():
            return kind
        return decode(Path(path).read_bytes()).format

    def text(self, path: str, data: bytes | None) -> Text | None:
        """By the bytes as well."""
        if data is None or super().layout(path).encoding != "utf-8":
            return super().text(path, data)
        return decode(data).text

    def is_laid(self, path: str) -> bool:
        """Whether that is pending."""
        entry = self.ledger.get(path)
        return entry is not None and entry.relaid != ""

    def commit(self) -> None:
        """What is committed is accepted: how a file lies only if HEAD has it otherwise."""
        if not all(map(self.clean, self.paths)):
            return
        present = self.bytes_of_all()
        for path in filter(self.is_laid, self.laid):
            if present.get(path) != self.head_bytes.get(path):
                self.ledger.committed(path, self.disk(path))
        self.head_bytes = present
        super().commit()
        self.laid = {path: first for path, first in self.laid.items() if self.is_laid(path)}

    def tell(self, verb: str, args: dict[str, Any], steps: Sequence[Restoration]) -> None:
        """What is rejected lies again as it did."""
        changed = {step.path for step in steps}
        wanted: dict[str, Format] = {}
        for path in [path for path in self.laid if not self.is_laid(path)]:
            first = self.laid.pop(path)
            if verb == "reject" and path in changed:
                self.rejected[path] = first
                if self.clean(path):
                    wanted[self.homes.get(path, path)] = first
        for path in changed - self.laid.keys():
            if self.is_laid(path):
                self.laid[path] = self.rejected[path]
        super().tell(verb, args, steps)
        until(
            lambda: all(self.layout(path) == first for path, first in wanted.items()),
            what=f"files lie again as {wanted}",
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Wide))
