"""The file of a journal: appended to, or written anew as a whole, and gone when nothing is left.

Everything here blocks: call it in a worker thread. Only the user may read it: texts may be secret.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from acp_nvim.edits.log import joined, parted
from acp_nvim.workspace import private_files, runs

MODE = 0o600


class JournalFile:
    """One journal, by its path; the directories above it are made when something is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """Bytes that it has since it was written anew."""

    def read(self) -> tuple[list[bytes], int]:
        """The records, and how many bytes are damaged; nothing where there is no file. OSError."""
        try:
            return parted(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return [], 0

    def append(self, records: Sequence[bytes]) -> None:
        """Add records. FileNotFoundError where somebody has removed the file; OSError: part of
        them may be written.
        """
        data = joined(records)
        if data:
            _write(self.path, data, os.O_APPEND)
        self.size += len(data)

    def replace(self, records: Sequence[bytes]) -> None:
        """Hold these records and no others; a crash leaves the old ones or these. OSError."""
        data = joined(records)
        for directory in (self.path.parent.parent, self.path.parent):
            private_files.directory(directory)
        fresh = self.path.with_name(f"{self.path.name}.new")
        _write(fresh, data, os.O_CREAT | os.O_TRUNC)
        fresh.replace(self.path)
        self.size = len(data)

    def remove(self) -> None:
        """Leave nothing behind, no empty directory either. OSError."""
        for path in (self.path, self.path.with_name(f"{self.path.name}.new")):
            with suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()
        for directory in (self.path.parent, self.path.parent.parent):
            with suppress(OSError):  # somebody else's journal lies there, or it was never made
                directory.rmdir()

    def tidy(self) -> None:
        """Remove what is left of a Neovim that was killed. OSError."""
        for path in runs.remains(self.path.parent, self.path.name):
            path.unlink(missing_ok=True)


def _write(path: Path, data: bytes, how: int) -> None:
    handle = os.open(path, os.O_WRONLY | how, MODE)
    with os.fdopen(handle, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
