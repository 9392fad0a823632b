"""Contents of files before an agent worked on them, and the changes since.

Each directory of a session has a store with its trees. Files in no store (ignored or outside files)
are read when a tool call names them. All of it runs in worker threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.files.bytes.disk import bytes_of, wait_filled
from acp_nvim.files.bytes.nofollow import Rights, SizeError
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.git_tree import HeadMove
from acp_nvim.files.checkpoints import store as limits
from acp_nvim.files.checkpoints.pruning import StoreLock
from acp_nvim.files.checkpoints.rights import UnusualRights
from acp_nvim.files.checkpoints.store import (
    UNREADABLE,
    Blob,
    Change,
    GitContent,
    LimitError,
    Scan,
    StoreError,
    Unstored,
    blob_mark,
    list_names,
    too_large,
)

if TYPE_CHECKING:
    from acp_nvim.files.checkpoints.git_store import GitStore

MAX_NESTED: Final = 20
"""Maximum number of repositories, including submodules, that are scanned within one work tree."""
MAX_SINGLE: Final = 500
"""Maximum number of remembered files outside of the stores."""
RESCANS: Final = 2
"""Maximum number of repeated scans of files that change while they are scanned."""

ByAgent = Callable[[HeadMove], bool]
"""Function that returns whether an agent has moved HEAD."""
P = TypeVar("P")
R = TypeVar("R")


Side = bytes | Unstored | None
"""Content of a path at one time, or None if there was no file."""
UNKNOWN_CONTENT: Final = Unstored("reason unknown")


class Link(msgspec.Struct, frozen=True):
    """Symbolic link that was replaced: its mode, target and mark."""

    mode: int
    target: bytes
    mark: str


class FileChange(msgspec.Struct, frozen=True):
    """Changed file (absolute real path). A side is None if there is no file.

    Both sides are equal if the file had other content in between, which the store has seen.
    `executable` and `rights` describe the file before. `rights` is None for a new file's default
    rights. `link` is the link that the file replaced.
    """

    path: str
    before: Side
    after: Side
    executable: bool = False
    rights: Rights | None = None
    link: Link | None = None


class Snapshots:
    """Stores of all directories in use. All methods take real paths."""

    def __init__(self, home: Callable[[str], Path], notice: Callable[[str], None]) -> None:
        """`home` returns the place of a directory's store. `notice` shows messages about limits.

        The place is two levels below the directory for all files of this plugin. Each message is
        shown once.
        """
        self._home = home
        self._notice = notice
        self._stores: dict[str, GitStore] = {}
        """Stores by the directory that each covers."""
        self._trees: dict[str, str] = {}
        """Tree of the last scan, by directory of the store."""
        self._reasons: dict[str, StoreError] = {}
        """Reasons why directories have no store."""
        self._locks: dict[str, anyio.Lock] = {}
        """Locks of scans, by directory of the store."""
        self._in_use: dict[str, StoreLock] = {}
        """Locks that keep the stores in use from being pruned."""
        self._quiet = set[str]()
        """Work trees around directories of sessions. Their limits are not reported."""
        self._single: dict[str, bytes | None] = {}
        """Content of files outside of all stores as last read, or None for no file."""
        self._programs: set[str] = set()
        """Files of `_single` that are executable."""
        self._unusual_rights = UnusualRights()
        self._warned: set[str] = set()
        """Messages already shown."""
        self._left_out: dict[str, set[str]] = {}
        """Files that the last scan left out, by directory."""
        self._nested: dict[str, list[str]] = {}
        """Repositories below each store's directory, which the last scan skipped."""

    def within(self, roots: Iterable[str]) -> list[str]:
        """Return directories (real paths) and the repositories in them, innermost first."""
        roots_within: set[str] = set()
        waiting = list(roots)
        while waiting:
            root = waiting.pop()
            if root not in roots_within:
                roots_within.add(root)
                waiting += self._nested.get(root, ())
        return sorted(roots_within, key=lambda root: (-len(root), root))

    def group_by_root(
        self, roots: Iterable[str], paths: Iterable[str]
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Group files by the innermost directory that contains them. Also return the rest."""
        by: dict[str, list[str]] = {}
        rest = list(paths)
        for root in self.within(roots):
            by[root] = [path for path in rest if is_below(path, root)]
            rest = [path for path in rest if not is_below(path, root)]
        return {root: inside for root, inside in by.items() if inside}, rest

    def is_scanned(self, roots: Iterable[str]) -> bool:
        """Return whether all of these directories have been scanned or cannot be scanned."""
        return all(root in self._trees or root in self._reasons for root in self.within(roots))

    async def scan(
        self,
        roots: Sequence[str],
        paths: Sequence[str] | None = None,
        rest: list[Change] | None = None,
    ) -> list[FileChange]:
        """Return the changes since the last scan: of all files in `roots`, or only of `paths`.

        Changes that are not reviewed (modes, links, files beyond the limit) are added to `rest`.
        """
        others: list[Change] = []
        changes: list[FileChange] = []
        if paths is None:
            done: set[str] = set()
            while fresh := [root for root in self.within(roots) if root not in done]:
                for root in fresh:
                    if not self._is_unchanged(root):
                        result, left = await self._run_locked(root, self._scan, None)
                        changes, others = [*changes, *result], [*others, *left]
                done.update(fresh)
        elif roots:
            for root, inside in self.group_by_root(roots, paths)[0].items():
                result, left = await self._run_locked(root, self._scan, inside)
                changes, others = [*changes, *result], [*others, *left]
        chosen = list(self._single) if paths is None else [p for p in paths if p in self._single]
        if chosen:
            changes += await to_thread.run_sync(self._scan_single, chosen)
        if rest is not None:
            rest += others
        return changes

    async def scan_around(self, outer: str) -> list[FileChange]:
        """Return the changes since the last scan of a work tree around a session's directory.

        The user gets no messages about files that are left out.
        """
        self._quiet.add(outer)
        return (await self._run_locked(outer, self._scan, None))[0]

    def is_given_up(self, root: str) -> bool:
        """Return whether a directory cannot be stored."""
        return root in self._reasons

    def is_too_large(self, root: str) -> bool:
        """Return whether a directory cannot be stored because of its size."""
        return isinstance(self._reasons.get(root), LimitError)

    async def changed_since(self, root: str, since: int) -> list[str]:
        """Return files changed since a time (ns) that differ from the user's index."""
        return await self._run_locked(root, self._changed_since, since)

    async def folders(self, root: str) -> list[str] | None:
        """Return the directories that a scan of a directory visits, or None if it has no store."""
        return await self._run_locked(root, self._folders, None) if root in self._stores else None

    def has_trees(self, roots: Iterable[str]) -> bool:
        """Return whether all of these directories have a store with a tree."""
        return all(root in self._stores and root in self._trees for root in roots)

    def singles(self) -> Iterable[str]:
        """Return the files outside of all stores, which are scanned by name."""
        return self._single

    async def add_named(self, roots: Sequence[str], paths: Iterable[str]) -> None:
        """Read the files in no store that a tool call names, so that a scan can detect changes."""
        rest = await self.outside_stores(
            roots, [path for path in paths if path not in self._single]
        )
        if rest:
            await to_thread.run_sync(self._read_single, rest)

    async def outside_stores(self, roots: Sequence[str], paths: Iterable[str]) -> list[str]:
        """Return the files that no store of these directories contains."""
        kept, rest = self.group_by_root(roots, paths)
        for root, inside in kept.items():
            if root in self._stores:
                rest += await self._run_locked(root, self._skipped_files, inside)
        return rest

    async def can_detect_change(self, roots: Sequence[str], path: str) -> bool:
        """Return whether the next scan of a file can detect a change to its content."""
        if path in self._single:
            return True
        if not any(root in self._stores for root in self.group_by_root(roots, [path])[0]):
            return False
        size = await to_thread.run_sync(_size, path)
        return size <= limits.MAX_FILE_BYTES and not await self.outside_stores(roots, [path])

    def is_single(self, path: str) -> bool:
        """Return whether a file is scanned by name, since it is in no store."""
        return path in self._single

    def single(self, path: str) -> bytes | None:
        """Return the last known content of a file in no store. Return None for other files."""
        return self._single.get(path)

    def rights(self, path: str) -> Rights | None:
        """Return the known rights of a file, or None for default or unknown rights."""
        return self._unusual_rights.get(path)

    def trees(self, roots: Sequence[str]) -> dict[str, str]:
        """Return the trees of the last scan by the real path of their directories."""
        by_root = {root: self._trees.get(root) for root in self.within(roots)}
        return {root: tree for root, tree in by_root.items() if tree}

    def reasons(self, roots: Sequence[str]) -> list[str]:
        """Return why directories are not stored."""
        listed = [self._reasons.get(root) for root in self.within(roots)]
        return [str(reason) for reason in listed if reason]

    def retry(self, roots: Sequence[str]) -> None:
        """Try directories again that failed for a temporary reason."""
        for root in self.within(roots):
            if not isinstance(self._reasons.get(root), LimitError):
                self._reasons.pop(root, None)

    async def differences(self, root: str, old: str, new: str) -> list[Change]:
        """Return the differences between two trees of a directory. Raise StoreError."""
        return await to_thread.run_sync(self._store(root).differences, old, new)

    async def contents(self, root: str, wanted: Sequence[tuple[str, Blob]]) -> dict[str, bytes]:
        """Return stored bytes by path. Lost ones are missing. Raise StoreError."""
        return await to_thread.run_sync(self._store(root).contents, wanted)

    async def content(self, trees: Mapping[str, str], path: str) -> Side:
        """Return the content of a file in `trees` (by directory), or Unstored if not known."""
        inside = [root for root in trees if is_below(path, root) and root in self._stores]
        if not inside:
            return UNKNOWN_CONTENT
        root = max(inside, key=len)
        try:
            blob = await to_thread.run_sync(self._store(root).blob_at, trees[root], path)
            if blob is None:
                return UNKNOWN_CONTENT if await self.outside_stores([root], [path]) else None
            if not blob.is_stored or blob.is_link or blob.is_fifo:
                return UNKNOWN_CONTENT
            contents = await self.contents(root, [(path, blob)])
        except StoreError:
            return UNKNOWN_CONTENT
        return contents.get(path, UNKNOWN_CONTENT)

    async def head_moves(self, root: str, known: str | None) -> tuple[str, list[HeadMove]]:
        """Return the commit of HEAD, and its moves since the commit `known`, if that is given."""
        store = self._stores.get(root)
        if store is None or not store.history.has_repository:
            return "", []

        def ask() -> tuple[str, list[HeadMove]]:
            head = store.history.head()
            moves = [] if known is None else store.history.moves_since(known, head)
            return moves[-1].new if moves else head, moves

        return await to_thread.run_sync(ask)

    async def committed(
        self, root: str, paths: Sequence[str], old: str, new: str
    ) -> dict[str, bytes | None]:
        """Return the contents in commit `new` of those `paths` that differ from commit `old`."""
        return await to_thread.run_sync(self._stores[root].history.committed, paths, old, new)

    async def git_contents(
        self, roots: Iterable[str], paths: Iterable[str], since: int, by_agent: ByAgent
    ) -> dict[str, list[GitContent]]:
        """Return the contents that checkouts, commits and pulls by the user gave these files.

        `since` is a time in nanoseconds.
        """
        by_path: dict[str, list[GitContent]] = {}

        def ask(root: str, inside: Sequence[str]) -> dict[str, list[GitContent]]:
            try:
                return self._stores[root].history.contents_since(inside, since, by_agent)
            except StoreError:  # a commit is gone
                return {}

        for root, inside in self.group_by_root(roots, paths)[0].items():
            if root in self._stores:
                by_path |= await self._run_locked(root, ask, inside)
        return by_path

    async def _run_locked(self, root: str, work: Callable[[str, P], R], paths: P) -> R:
        """Run `work` in a worker thread, one at a time for each directory. Return the result."""
        async with self._locks.setdefault(root, anyio.Lock(fast_acquire=True)):
            return await to_thread.run_sync(work, root, paths)

    def _is_unchanged(self, root: str) -> bool:
        """Return whether a small directory is unchanged, without waiting for a thread."""
        store, lock = self._stores.get(root), self._locks.get(root)
        is_scanning = lock is not None and lock.locked()
        return store is not None and not is_scanning and store.is_unchanged()

    # -- in a worker thread -----------------------------------------------------------------------

    def _scan(
        self, root: str, paths: Sequence[str] | None
    ) -> tuple[list[FileChange], list[Change]]:
        """Return the changes to review since the last scan, and the others."""
        try:
            store = self._open(root)
            if store is None:
                return [], []
            if paths is not None:
                inside = [path for path in paths if path not in self._single]
                skipped = set(store.skipped(inside))
                self._read_single(skipped)
                paths = [path for path in inside if path not in skipped]
                if not paths:
                    return [], []
            scan = store.scan(paths)
            split, read = self._split(store, scan.changes), scan.read
            for _ in range(RESCANS):
                if unsettled := store.unsettled():
                    scan = store.scan_again(unsettled)
                    split, read = self._split(store, scan.changes), [*read, *scan.read]
            self._trees[root] = scan.tree
            self._nested[root] = scan.nested[:MAX_NESTED]
            self._warn_limits(root, scan)
            self._unusual_rights.learn(read)
            return split
        except StoreError as error:
            self._give_up(root, error)
        except OSError as error:  # the disk is full, or a directory cannot be created
            where = f": {error.filename}" if error.filename else ""
            self._give_up(root, StoreError(f"{error.strerror or error}{where}"))
        return [], []

    def _folders(self, root: str, _: None) -> list[str] | None:
        try:
            return self._store(root).folders()
        except StoreError:
            return None  # the next scan reports why

    def _split(
        self, store: GitStore, changes: Sequence[Change]
    ) -> tuple[list[FileChange], list[Change]]:
        """Return the changes to review, and the others."""
        changes = [change for change in changes if change.path not in self._single]
        files = [change for change in changes if _is_file(change.before) or _is_file(change.after)]
        if len(files) > limits.MAX_CHANGES:
            self._warn(wording.MANY_CHANGES.format(count=len(files), reviewed=limits.MAX_CHANGES))
        loaded = list(map(self._with_rights, _load_contents(store, files[: limits.MAX_CHANGES])))
        reviewed = {change.path for change in loaded}
        return loaded, [change for change in changes if change.path not in reviewed]

    def _warn_limits(self, root: str, scan: Scan) -> None:
        if root in self._quiet:
            return
        if len(scan.nested) > MAX_NESTED:
            left = list_names(scan.nested[MAX_NESTED:], root)
            self._warn(wording.MANY_REPOSITORIES.format(count=MAX_NESTED, left=left))
        known = self._left_out.get(root, set())
        fresh = [path for path in scan.left_out if path not in known]
        self._left_out[root] = set(scan.left_out)
        if fresh:
            size = f"{limits.MAX_FILE_BYTES >> 20} MiB a file"
            self._warn(wording.OVER_LIMITS.format(limit=size, files=list_names(fresh, root)))

    def _open(self, root: str) -> GitStore | None:
        """Return the store of a directory, opened if necessary, or None if it cannot have one."""
        if root in self._stores or root in self._reasons:
            return self._stores.get(root)
        home = self._home(root)
        self._in_use[root] = StoreLock(home)
        own = home.parents[1]
        from acp_nvim.files.checkpoints.git_store import GitStore

        limit = limits.MAX_AROUND if root in self._quiet else None
        self._stores[root] = GitStore(root, home, own, limit)
        return self._stores[root]

    def _give_up(self, root: str, reason: StoreError) -> None:
        """Stop storing a directory until the next `retry`. Tell the user the reason."""
        self._stores.pop(root, None)
        self._reasons[root] = reason
        if root not in self._quiet:
            self._warn(wording.NO_STORE.format(reason=reason))

    def _changed_since(self, root: str, since: int) -> list[str]:
        from tempfile import TemporaryDirectory

        from acp_nvim.files.checkpoints.git_store import GitStore

        home = self._home(root)
        # Use a scratch directory: the store's own index must stay as the last scan left it.
        try:
            with TemporaryDirectory(dir=home) as scratch:
                return GitStore(root, Path(scratch), home.parents[1]).changed_since(since)
        except (StoreError, OSError):
            return []

    def _skipped_files(self, root: str, paths: Sequence[str]) -> list[str]:
        try:
            return self._store(root).skipped(paths)
        except StoreError as error:
            self._give_up(root, error)
            return list(paths)

    def _read_single(self, paths: Iterable[str]) -> None:
        for path in paths:
            if len(self._single) >= MAX_SINGLE:
                self._single.pop(next(iter(self._single)))
            try:
                self._single[path] = bytes_of(path)
                self._unusual_rights.learn([path])
                if os.access(path, os.X_OK):
                    self._programs.add(path)
            except OSError as error:
                self._warn(wording.FILE_NOT_STORED.format(file=path, reason=error.strerror))

    def _scan_single(self, paths: Iterable[str]) -> list[FileChange]:
        changes: list[FileChange] = []
        for path in paths:
            before = self._single[path]
            wait_filled(path)
            try:
                after = bytes_of(path)
            except OSError as error:
                self._warn(wording.FILE_NOT_STORED.format(file=path, reason=error.strerror))
                continue
            if after != before:
                change = FileChange(path, before, after, path in self._programs)
                changes.append(self._with_rights(change))
                self._single[path] = after
                self._unusual_rights.learn([path])
        return changes

    def _with_rights(self, change: FileChange) -> FileChange:
        rights = self._unusual_rights.get(change.path)
        return change if rights is None else msgspec.structs.replace(change, rights=rights)

    def _store(self, root: str) -> GitStore:
        if root not in self._stores:
            raise self._reasons.get(root) or StoreError(wording.WHY_NO_STORE.format(folder=root))
        return self._stores[root]

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._notice(text)


def _size(path: str) -> int:
    """Return the size of a file, or 0 if there is none."""
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def _is_file(blob: Blob | None) -> bool:
    """Return whether a blob is a regular file, stored or not."""
    return blob is not None and not blob.is_link and not blob.is_fifo


def _load_contents(store: GitStore, changes: Sequence[Change]) -> list[FileChange]:
    """Return the changes with the contents of both sides. Leave out those whose content is lost."""
    wanted = [
        (change.path, change.before)
        for change in changes
        if change.before and change.before.is_stored
    ]
    contents = store.contents(wanted)
    loaded = (_file_change(change, contents.get(change.path)) for change in changes)
    return [change for change in loaded if change is not None]


def _file_change(change: Change, data: bytes | None) -> FileChange | None:
    """Return a change with the contents of both sides.

    Return None if the old content is lost, or if the file has changed back. `data` are the stored
    bytes.
    """
    before = _side_before(change.before, data)
    if change.before is not None and before is None:
        return None
    after = present(change.path)
    link = _replaced_link(change.before, data) if isinstance(after, bytes) else None
    if link is not None:
        return FileChange(change.path, None, after, link=link)
    if before == after and change.has_same_bytes:
        return None
    is_executable = change.before is not None and bool(change.before.mode & 0o100)
    return FileChange(change.path, before, after, is_executable)


def _replaced_link(blob: Blob | None, target: bytes | None) -> Link | None:
    if blob is None or not blob.is_link or target is None:
        return None
    return Link(blob.mode, target, blob_mark(blob))


def _side_before(blob: Blob | None, data: bytes | None) -> Side:
    if blob is None or _is_file(blob):
        return Unstored(blob.why) if blob and not blob.is_stored else data
    return Unstored("a symbolic link" if blob.is_link else "a FIFO", blob_mark(blob))


def present(path: str) -> bytes | Unstored | None:
    """Return the current content of a file, or None if there is none."""
    try:
        return bytes_of(path)
    except SizeError:
        return Unstored(too_large())
    except OSError:
        return Unstored(UNREADABLE.why)
