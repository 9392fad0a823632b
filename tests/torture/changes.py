"""Changes to files in random histories."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from acp_nvim.edits.text import EMPTY, Text, from_lines


class Clock:
    """File times that differ for each write, however fast the writes follow each other."""

    def __init__(self) -> None:
        self._now = 1_700_000_000_000_000_000

    def put(self, path: Path, text: Text) -> None:
        """Write the file as another program would."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text))
        self._now += 1_000_000
        os.utime(path, ns=(self._now, self._now))


def changed(text: Text, rng: random.Random, word: Callable[[], str]) -> Text:
    """Return a text with a few lines changed, added or removed. `word` makes each new line."""
    lines = list(text.lines) if text != EMPTY else []
    for _ in range(rng.randint(1, 3)):
        row = rng.randrange(len(lines) + 1)
        roll = rng.random()
        if roll < 0.4 or row == len(lines):
            lines.insert(row, word())
        elif roll < 0.75 or len(lines) < 4:
            lines[row] = word()
        else:
            del lines[row]
    return from_lines(lines)
