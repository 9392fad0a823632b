"""The kept states of a git work tree, by plumbing alone.

An index and an object directory of our own; the user's objects are only read, as alternates. So
git's stat cache tells what changed, `.gitignore` holds, unchanged files cost nothing, and the
user's index, refs, stash and hooks are never touched.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from acp_nvim.agent.workspace.store import (
    MAX_INDEX,
    Blob,
    Change,
    LimitError,
    Room,
    Scan,
    StoreError,
)

TIMEOUT_S: Final = 30.0
ATTEMPTS: Final = 5
"""How often one file is taken in that changes while git reads it."""
_QUIET: Final = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"),
    *("-c", "core.untrackedCache=false", "-c", "core.splitIndex=false", "-c", "core.safecrlf=0"),
)
_LITERAL: Final = {"GIT_LITERAL_PATHSPECS": "1"}
ANY: Final = range(256)
_NO_FILE: Final = "0" * 6


class GitError(StoreError):
    """Git ran, and said no."""


class GitStore:
    """The part of a work tree at or below ``root``."""

    def __init__(self, root: str, home: Path, own: Path | None = None) -> None:
        """``home`` and ``own`` as for `CopyStore`. StoreError when ``root`` is in no work tree, or
        git is not there.
        """
        self._root = os.path.realpath(root)
        self._env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        self._env |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        where = ["rev-parse", "--path-format=absolute", "--show-toplevel"]
        found = self._run(
            [*where, *("--git-path", "index", "--git-path", "objects", "--git-path", "logs/HEAD")],
            cwd=self._root,
        ).split(b"\n")
        self._top, index, objects, moves = (os.fsdecode(part) for part in found[:4])
        self._home = home
        # One of this process: another may have been killed while git wrote to its own.
        self._index = home / f"index-{os.getpid()}"
        self._user_index = Path(index)
        self._moves = Path(moves)
        self._env |= {
            "GIT_INDEX_FILE": str(self._index),
            "GIT_OBJECT_DIRECTORY": str(home / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects,
        }
        (home / "objects").mkdir(parents=True, exist_ok=True)
        top = os.path.realpath(self._top)
        self._spec = os.path.relpath(self._root, top)
        self._own = os.path.relpath(os.path.realpath(own or home), top) + os.sep
        self._tree = ""
        self._nested: list[str] = []
        self._links: set[str] | None = None
        """Where submodules lie, once known."""

    @property
    def root(self) -> str:
        """The directory, absolute, symlinks resolved."""
        return self._root

    def scan(self, paths: Sequence[str] | None = None) -> Scan:
        """Look at everything, or at these files only. StoreError."""
        if not self._tree:
            self._start()
        room = Room()
        chosen = self._changed() if paths is None or not self._tree else self._inside(paths)
        kept = [name for name in chosen if room.fits(Path(self._top, name))]
        self._take_in(kept)
        tree = self._run(["write-tree", "--missing-ok"]).decode().strip()
        before, self._tree = self._tree, tree
        changes = self.differences(before, tree) if before else []
        return Scan(tree, changes, room.left_out, self._nested)

    def unkept(self, paths: Sequence[str]) -> list[str]:
        """Those of these files (below the root), there or not, that `scan` passes over."""
        inside = self._inside(paths)
        listed = self._run(["ls-files", "-z", "--", *inside], env=_LITERAL) if inside else b""
        held = {os.fsdecode(name) for name in listed.split(b"\0")}
        asked = b"".join(os.fsencode(name) + b"\0" for name in inside if name not in held)
        if not asked:
            return []
        ignored = self._run(["check-ignore", "--no-index", "-z", "--stdin"], asked, fine=(0, 1))
        return [self._path(os.fsdecode(name)) for name in ignored.split(b"\0") if name]

    def differences(self, old: str, new: str) -> list[Change]:
        """What differs between two trees. StoreError."""
        if old == new:
            return []
        found = self._run(
            ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--abbrev=40", old, new]
        )
        return [
            Change(self._path(name), _blob(modes[0], ids[0]), _blob(modes[1], ids[1]))
            for modes, ids, name in _raw(found)
        ]

    def contents(self, wanted: Sequence[tuple[str, Blob]]) -> dict[str, bytes]:
        """The kept bytes by absolute path, as the work tree has them; those that are gone lack."""
        if not wanted:
            return {}
        listed = b"".join(
            f"{blob.mode:o} {blob.id}\t".encode() + os.fsencode(self._name(path)) + b"\0"
            for path, blob in wanted
        )
        # By way of a checkout elsewhere: only that applies line ends and filters as git does.
        with tempfile.TemporaryDirectory(dir=self._home) as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
            self._run(["update-index", "-z", "--index-info"], listed, env=index)
            out = Path(scratch, "out")
            self._run(["checkout-index", "-a", "-q", f"--prefix={out}/"], fine=ANY, env=index)
            found = {path: _content(out / self._name(path)) for path, _ in wanted}
        return {path: data for path, data in found.items() if data is not None}

    def head(self) -> str:
        """The commit that HEAD names; empty before the first one."""
        try:
            return self._run(["rev-parse", "--verify", "--quiet", "HEAD"]).decode().strip()
        except StoreError:
            return ""

    def moved_at(self) -> int:
        """When HEAD was moved last, in nanoseconds; 0 where no log tells."""
        try:
            return self._moves.stat().st_mtime_ns
        except OSError:
            return 0

    def committed(self, paths: Sequence[str], since: str) -> dict[str, bytes | None]:
        """The contents in HEAD of those of these files that are others there than in the commit
        ``since`` ("": before the first); None for those that are in that and no more in HEAD.
        """
        listed = map(self._name, paths)
        since = since or self._run(["hash-object", "-t", "tree", "--stdin"]).decode().strip()
        try:
            differ = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--abbrev=40", since]
            found = _raw(self._run([*differ, "HEAD", "--", *listed], env=_LITERAL))
        except GitError:
            return {}  # that commit is gone
        blobs = {self._path(name): _blob(modes[1], ids[1]) for modes, ids, name in found}
        contents = self.contents([(path, blob) for path, blob in blobs.items() if blob])
        return {path: contents.get(path) for path in paths if path in blobs}

    # ---- within

    def _start(self) -> None:
        """Begin with the user's index: its stat cache spares reading what did not change."""
        if self._index.exists():
            return
        if self._user_index.exists():
            count = _entries(self._user_index)
            if count > MAX_INDEX:
                raise LimitError(f"{self._top} has {count} files, the limit is {MAX_INDEX}")
            # With its time: entries younger than the index are compared by content ("racy git").
            shutil.copy2(self._user_index, self._index)

    def _take_in(self, names: Sequence[str], attempts: int = ATTEMPTS) -> None:
        """Enter files (relative to the top) into the index as they are.

        One that vanishes or changes under git's hands has git refuse all of them: the halves are
        entered each for itself then.
        """
        if not names:
            return
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        try:
            self._run(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], given)
        except GitError:
            if attempts == 1:
                raise
            half = len(names) // 2
            self._take_in(names[:half])
            self._take_in(names[half:], attempts if half else attempts - 1)

    def _changed(self) -> list[str]:
        """Files that are not as the index has them, and new ones, relative to the top."""
        differ = ["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all"]
        new = ["ls-files", "--others", "--exclude-standard", "-z"]
        with ThreadPoolExecutor(2) as both:  # each walks the whole tree
            parts = list(both.map(self._listed, (differ, new)))
        names = {name for part in parts for name in part if not name.startswith(self._own)}
        if self._links is None:
            staged = (entry.split("\t", 1) for entry in self._listed(["ls-files", "-s", "-z"]))
            self._links = {name for mode, name in staged if mode.startswith("160000")}
        inner = {name.rstrip("/") for name in names if name.endswith("/")} | self._links
        self._nested = sorted(
            self._path(name) for name in inner if os.path.lexists(Path(self._top, name, ".git"))
        )
        return sorted(name for name in names if not name.endswith("/"))

    def _listed(self, args: Sequence[str]) -> list[str]:
        found = self._run([*args, *self._where()], env=_LITERAL).split(b"\0")
        return [os.fsdecode(name) for name in found if name]

    def _where(self) -> list[str]:
        return [] if self._spec == "." else ["--", self._spec]

    def _inside(self, paths: Iterable[str]) -> list[str]:
        stem = self._root.rstrip(os.sep) + os.sep
        inside = [self._name(path) for path in paths if path.startswith(stem)]
        return [name for name in inside if ".git" not in Path(name).parts]

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._top)

    def _path(self, name: str) -> str:
        return os.path.join(self._top, name)  # noqa: PTH118

    def _run(
        self,
        args: Sequence[str],
        given: bytes = b"",
        cwd: str = "",
        fine: Container[int] = (0,),
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        try:
            done = subprocess.run(
                ["git", *_QUIET, *args],
                cwd=cwd or self._top,
                env={**self._env, **(env or {})},
                input=given,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"git {args[0]}: {error}") from error
        if done.returncode not in fine:
            words = done.stderr.decode(errors="replace").strip().split("\n")[0]
            raise GitError(f"git {args[0]}: {words or done.returncode}")
        return done.stdout


def _entries(index: Path) -> int:
    """How many entries an index has, by its header (`gitformat-index`)."""
    with index.open("rb") as file:
        header = file.read(12)
    return struct.unpack(">4sII", header)[2] if len(header) == 12 else 0


def _content(path: Path) -> bytes | None:
    """The bytes of a file, or where a link points to; None where there is neither."""
    try:
        return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    except FileNotFoundError:
        return None


def _raw(found: bytes) -> Iterable[tuple[tuple[str, str], tuple[str, str], str]]:
    """Modes, object names and path of each record of `--raw -z`."""
    parts = iter(found.split(b"\0"))
    for meta in parts:
        if meta.startswith(b":"):
            old_mode, new_mode, old, new, _ = meta[1:].decode().split(" ")
            yield (old_mode, new_mode), (old, new), os.fsdecode(next(parts))


def _blob(mode: str, oid: str) -> Blob | None:
    """None for no file, and for a submodule, whose files are its own repository's."""
    return None if mode in (_NO_FILE, "160000") else Blob(oid, int(mode, 8))
