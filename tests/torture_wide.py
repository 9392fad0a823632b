"""Random histories of a wider world: files of all kinds.

`python -m tests.torture_wide SEED STEPS COUNT`, like `tests.torture`.
"""

from __future__ import annotations

import sys

from acp_nvim.agent.fs.decode import Format
from acp_nvim.edits.text import Text
from tests.torture import History, main
from tests.torture_world import ROWS

KINDS = (
    Format(),
    Format(dos=True),
    Format("latin1"),
    Format(bomb=True),
)


class Wide(History):
    """Files with all line ends and encodings."""

    def make(self, n: int, path: str) -> None:
        """The file number n as it is at first."""
        kind = self.rng.choice(KINDS)
        self.layouts[path] = kind
        ends = kind.encoding == "utf-8" and self.rng.random() < 0.3
        word = "é" if kind.encoding == "latin1" else "e"
        self.put(path, Text(tuple(f"{n}.{row}{word}" for row in range(ROWS)), not ends))
        self.note(path, kind, "" if not ends else "no final newline")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Wide))
