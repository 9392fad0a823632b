"""The thread that writes the history."""

from __future__ import annotations

import gc
import sqlite3
import weakref
from contextlib import closing
from pathlib import Path

import pytest

from acp_nvim.history import writer as module
from acp_nvim.history.changes import UserPrompt
from acp_nvim.history.hiding import SecretFilter
from acp_nvim.history.writer import Callbacks, Writer
from tests.support.waiting import until


class Words(str):  # noqa: SLOT000 - a weak reference needs more
    """A text that supports weak references."""


def test_written_data_is_not_kept_in_memory(tmp_path: Path) -> None:
    errors: list[object] = []
    callbacks = Callbacks(SecretFilter, lambda: (90.0, 1 << 20), errors.append, errors.append)
    writer = Writer(tmp_path / "history.db", 1, callbacks)
    text = Words("What is said once.")
    known = weakref.ref(text)
    writer.write(0, [UserPrompt(text, "/work")])
    del text
    assert writer.wait_written(10)
    until(lambda: gc.collect() >= 0 and known() is None)
    assert not errors
    writer.close(10)


def prompts(path: Path) -> list[str]:
    """Return the prompts that another process reads."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(path)) as sql:
            return [text for (text,) in sql.execute("SELECT text FROM prompts")]
    except sqlite3.OperationalError:  # the file is being created
        return []


def test_waiting_data_is_written_as_soon_as_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_S", (0.01, 0.01))
    errors: list[object] = []
    callbacks = Callbacks(SecretFilter, lambda: (90.0, 1 << 20), errors.append, errors.append)
    in_the_way = tmp_path / "acp"
    in_the_way.write_text("")
    writer = Writer(in_the_way / "history.db", 1, callbacks)
    writer.write(0, [UserPrompt("Hello", "/work")])
    until(lambda: bool(errors))
    in_the_way.unlink()
    until(lambda: prompts(in_the_way / "history.db") == ["Hello"])
    assert len(errors) == 1
    writer.close(10)
