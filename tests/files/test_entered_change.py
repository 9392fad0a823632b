"""Both sides of a change on disk, in the form of the file's buffer."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_nvim.edits.merge import Merged, merge
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import ContentKnown
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.changes.entered_change import decode_change
from acp_nvim.files.checkpoints.snapshots import FileChange
from acp_nvim.files.ports import BufferText
from tests.support.fake_workspace import fake_workspace

DOS = Format(dos=True)


@pytest.mark.parametrize("eol", [True, False], ids=["a final newline", "none"])
async def test_a_temporary_line_end_in_a_buffer_is_not_a_conflict(
    tmp_path: Path, eol: bool
) -> None:
    """An agent gave a file CR LF line endings, and Neovim read it in the old format.

    By now the buffer has the new one, the user has typed in it, and the agent writes another line.
    """
    shown = Text(("one\r", "two\r", "three\r", "four\r" if eol else "four"), eol)
    live = Text(("mine", "two", "three", "four"), eol)
    before = b"one\r\ntwo\r\nthree\r\nfour" + b"\r\n" * eol
    after = before.replace(b"three", b"theirs")
    async with fake_workspace(tmp_path) as workspace:
        files, path = workspace.core.files, str(workspace.work / "a.txt")
        files.tracked[path].apply(ContentKnown(shown, DOS))
        buffer = BufferText(1, 2, live, live, is_modified=True, format=DOS)
        old, new, *_ = decode_change(files, FileChange(path, before, after), after, buffer)
    assert old is not None
    assert new is not None
    merged = merge(old, live, new)
    assert isinstance(merged, Merged)
    assert merged.text == Text(("mine", "two", "theirs", "four"), eol)
