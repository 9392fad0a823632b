"""The file of the history: opened, made or brought up to date, and set aside when it is damaged.

Only threads that wait for the disk import this module: it loads `sqlite3`.
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
"""How long a thread waits for another process that writes."""
CACHE_KB: Final = 512
"""Memory for pages of the file: the system keeps them, too."""
BIG: Final = 1024
"""Bytes from which on a value is compressed."""
_ZLIB: Final = b"\x78"
"""The first byte of a compressed value; JSON never begins with it."""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_WRITES: Final = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)


class NewerVersionError(Exception):
    """A newer version of the plugin has written the file: it is left alone."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is damaged, or none of ours."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED


def forbids_writes(error: Exception) -> bool:
    """Whether an error says that nothing can be written there: full, or read-only."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, OSError) or code in _NO_WRITES


class Database:
    """A connection to the history, for one thread."""

    def __init__(self, path: Path, *, full_text: bool = True, writes: bool = True) -> None:
        """Open the file, which is made where it is missing. Raises `sqlite3.Error`, `OSError` and
        `NewerVersionError`. ``full_text`` says whether to use FTS5 where the build has it. Without
        ``writes`` nothing is written, not even what readers need beside the file: it is read as it
        is.
        """
        self.path = path
        if writes:
            private_files.directory(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, private_files.FILE))
        uri = path.absolute().as_uri() + ("" if writes else "?immutable=1")
        self.sql = sqlite3.connect(uri, BUSY_MS / 1000, isolation_level=None, uri=True)
        try:
            self.identity = identity_of(path)
            if writes:
                self._prepare()
            self.full_text = full_text and (self._index() if writes else self._has_index())
        except BaseException:
            self.sql.close()
            raise

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever kept, or not as this version does."""
        return self._version() < len(layout.MIGRATIONS)

    def close(self) -> None:
        """Close the connection."""
        self.sql.close()

    def shrink(self) -> None:
        """Give back memory that the connection could do without."""
        self.sql.execute("PRAGMA shrink_memory")

    @property
    def is_current(self) -> bool:
        """Whether the file at the path is still the one that is open: another process may have set
        it aside.
        """
        return identity_of(self.path) == self.identity

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the body is written, or nothing of it."""
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
        """Bytes that are in use."""
        pages, free, page = (
            self.sql.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page)

    def _prepare(self) -> None:
        if self._version() == 0:
            self.sql.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self.sql.execute("PRAGMA journal_mode = WAL")
        self.sql.execute("PRAGMA synchronous = NORMAL")
        self.sql.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        self.sql.execute(f"PRAGMA journal_size_limit = {8 << 20}")
        if self._version() < len(layout.MIGRATIONS):
            self._migrate()

    def _version(self) -> int:
        version = int(self.sql.execute("PRAGMA user_version").fetchone()[0])
        if version > len(layout.MIGRATIONS):
            raise NewerVersionError(str(self.path))
        return version

    def _migrate(self) -> None:
        with self.transaction() as sql:
            for script in layout.MIGRATIONS[self._version() :]:
                for statement in script.split(";"):
                    sql.execute(statement)
            sql.execute(f"PRAGMA user_version = {len(layout.MIGRATIONS)}")

    def _index(self) -> bool:
        """See to it that there is a full-text index with all texts; False where that cannot be."""
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
        """Whether there is an index that this build can read."""
        try:
            self.sql.execute("SELECT rowid FROM words WHERE words MATCH 'x' LIMIT 1")
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):
                raise
            return False
        return True


def identity_of(path: Path) -> tuple[int, int] | None:
    """Tell a file from others that come in its place; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def set_aside(path: Path, identity: tuple[int, int] | None) -> Path | None:
    """Move a damaged file out of the way, unless another process has done so; returns its new
    name. OSError.
    """
    if identity is not None and identity_of(path) != identity:
        return None
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm", ""):  # the file itself last: whoever opens it finds no old log
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + suffix))
    return aside


# -- values ---------------------------------------------------------------------------------------


def packed(data: bytes) -> bytes:
    """Return a value as it is stored."""
    return zlib.compress(data, 1) if len(data) > BIG else data


def unpacked(data: bytes) -> bytes:
    """Return a stored value as it was."""
    return zlib.decompress(data) if data[:1] == _ZLIB else data


def directory_word(cwd: str) -> str:
    """Return the word that stands for a directory in the full-text index."""
    return "d" + blake2b(cwd.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
