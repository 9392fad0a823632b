"""The thread that writes the history."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from acp_nvim.history.changes import Prompted
from acp_nvim.history.hiding import Hidden
from acp_nvim.history.writer import Surroundings, Writer
from tests.support.waiting import until


class Words(str):  # noqa: SLOT000 - a weak reference needs more
    """A text that can be looked after."""


def test_what_was_written_is_not_kept(tmp_path: Path) -> None:
    told: list[object] = []
    around = Surroundings(Hidden, lambda: (90.0, 1 << 20), told.append, told.append)
    writer = Writer(tmp_path / "history.db", 1, around)
    text = Words("What is said once.")
    known = weakref.ref(text)
    writer.write(0, [Prompted(text, "/work")])
    del text
    assert writer.written(10)
    until(lambda: gc.collect() >= 0 and known() is None)
    assert not told
    writer.close(10)
