"""Database file of the history: open, create and migrate it, and rename it if it is damaged.

Only threads that may wait for the disk import this module, because it imports `sqlite3`.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from acp_nvim.files.bytes import private_files
from acp_nvim.history import layout

BUSY_MS: Final = 5000
"""Milliseconds for which a thread waits for another writing process."""
CACHE_KB: Final = 512
"""KiB of memory for pages of the file. The system caches them too."""
MIN_COMPRESSED: Final = 1024
"""Minimum size in bytes of values that are compressed."""
_ZLIB: Final = b"\x78"
"""First byte of every compressed value. JSON never begins with it."""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_WRITES: Final = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)


class NewerVersionError(Exception):
    """File written by a newer version of the plugin, which is left unchanged."""


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the file is damaged, or not a history."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED


def forbids_writes(error: Exception) -> bool:
    """Return whether an error means that the file cannot be written: disk full, or read-only."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, OSError) or code in _NO_WRITES


class Database:
    """Connection to the history, for one thread."""

    def __init__(self, path: Path, *, full_text: bool = True, writes: bool = True) -> None:
        """Open the file, or create it.

        `full_text` allows FTS5 if the build of SQLite has it. Without `writes` nothing is
        written, not even the auxiliary files of readers. Raise `sqlite3.Error`, `OSError` or
        `NewerVersionError`.
        """
        self.path = path
        if writes:
            private_files.directory(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, private_files.FILE))
        uri = path.absolute().as_uri() + ("" if writes else "?immutable=1")
        self.sql = sqlite3.connect(uri, timeout=BUSY_MS / 1000, isolation_level=None, uri=True)
        try:
            self.identity = identity_of(path)
            if writes:
                self._prepare()
            self.full_text = full_text and (self._create_index() if writes else self._has_index())
        except BaseException:
            self.sql.close()
            raise

    @property
    def is_empty(self) -> bool:
        """Return whether the file has no history in the format of this version."""
        return self._read_version() < len(layout.MIGRATIONS)

    def close(self) -> None:
        self.sql.close()

    def shrink(self) -> None:
        """Release memory that the connection does not need."""
        self.sql.execute("PRAGMA shrink_memory")

    @property
    def is_current(self) -> bool:
        """Return whether the open file is still at its path. Another process may rename it."""
        return identity_of(self.path) == self.identity

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the body in a transaction."""
        self.sql.execute("BEGIN IMMEDIATE")
        try:
            yield self.sql
        except BaseException:
            if self.sql.in_transaction:
                self.sql.execute("ROLLBACK")
            raise
        self.sql.execute("COMMIT")

    @property
    def size(self) -> int:
        """Return the number of bytes in use."""
        pages, free, page = (
            self.sql.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page)

    def _prepare(self) -> None:
        if self._read_version() == 0:
            self.sql.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self.sql.execute("PRAGMA journal_mode = WAL")
        self.sql.execute("PRAGMA synchronous = NORMAL")
        self.sql.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        self.sql.execute(f"PRAGMA journal_size_limit = {8 << 20}")
        if self._read_version() < len(layout.MIGRATIONS):
            self._migrate()

    def _read_version(self) -> int:
        """Return the version of the layout. Raise NewerVersionError."""
        version = int(self.sql.execute("PRAGMA user_version").fetchone()[0])
        if version > len(layout.MIGRATIONS):
            raise NewerVersionError(str(self.path))
        return version

    def _migrate(self) -> None:
        with self.transaction() as sql:
            for script in layout.MIGRATIONS[self._read_version() :]:
                for statement in script.split(";"):
                    sql.execute(statement)
            sql.execute(f"PRAGMA user_version = {len(layout.MIGRATIONS)}")

    def _create_index(self) -> bool:
        """Create a full-text index of all texts if necessary. Return whether there is one."""
        named = "SELECT 1 FROM sqlite_master WHERE name = 'words'"
        try:
            if self.sql.execute(named).fetchone() is None:
                with self.transaction() as sql:
                    if sql.execute(named).fetchone() is None:
                        sql.execute(layout.INDEX)
                        sql.execute("INSERT INTO words (words) VALUES ('rebuild')")
                        sql.execute("DELETE FROM unindexed")
            return self._has_index()
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            return False

    def _has_index(self) -> bool:
        """Return whether there is an index that this build of SQLite can read."""
        try:
            self.sql.execute("SELECT rowid FROM words WHERE words MATCH 'x' LIMIT 1")
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):
                raise
            return False
        return True


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return a value that differs for each new file at a path, or None if the file is missing."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def set_aside(path: Path, identity: tuple[int, int] | None) -> Path | None:
    """Rename a damaged file, unless another process has done so. Return its new name.

    Raise OSError.
    """
    if identity is not None and identity_of(path) != identity:
        return None
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm", ""):  # the file itself last
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + suffix))
    return aside


# -- values ---------------------------------------------------------------------------------------


def pack(data: bytes) -> bytes:
    """Return the stored form of a value."""
    return zlib.compress(data, 1) if len(data) > MIN_COMPRESSED else data


def unpack(data: bytes) -> bytes:
    return zlib.decompress(data) if data[:1] == _ZLIB else data


def directory_word(cwd: str) -> str:
    """Return the word for a directory in the full-text index."""
    return "d" + blake2b(cwd.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
