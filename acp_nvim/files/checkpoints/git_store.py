"""Stored trees of a directory, made with git's plumbing commands.

A store finds the changes since its last scan and keeps the contents, so that a tree can be compared
and restored later. All methods may block: call them in a worker thread.

A store has its own index and object directory. The user's objects are only read, as alternates.
Git's stat cache therefore shows what changed, `.gitignore` applies, unchanged files cost nothing,
and the user's index, refs, stash and hooks are never touched. No program of the repository runs,
and a file is stored with its bytes on disk (`PrivateGit`). A directory outside of any repository
has a store of the same kind, which also ignores `SKIPPED` directories.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from acp_nvim import wording
from acp_nvim.files.bytes.disk import changed_at, wait_filled
from acp_nvim.files.checkpoints import left_out, plain_tree, private_git
from acp_nvim.files.checkpoints.git_history import GitHistory
from acp_nvim.files.checkpoints.git_output import (
    DIFF_TREE,
    blob_of,
    parse_blobs,
    parse_differences,
    parse_tree,
)
from acp_nvim.files.checkpoints.left_out import LeftOut, Marks
from acp_nvim.files.checkpoints.private_git import ANY_EXIT_CODE, LITERAL, GitError, PrivateGit
from acp_nvim.files.checkpoints.store import (
    MAX_INDEX,
    Blob,
    Change,
    LimitError,
    Scan,
    ScannedFiles,
    StoreError,
    existing_path,
    is_beyond_link,
    signature,
)
from acp_nvim.patterns import late

ATTEMPTS: Final = 5
"""Number of attempts to add one file that changes while git reads it."""
_FILTERED_FILES: Final = ":(exclude,attr:!filter !working-tree-encoding)"
"""Pathspec of files that a filter or an encoding may convert."""
_LINE_END_FILES: Final = ":(exclude,attr:!text !crlf !eol !ident)"
"""Pathspec of files in which git may convert line endings or `$Id$`, which changes their length."""
_IGNORE_FILE: Final = ".gitignore"
IGNORED: Final = Blob("", 0, "ignored by git")
_UNREAD: Final = late(rb"^warning: could not open directory '(.*?)(?:': .*)?$", re.MULTILINE)
"""Warning of git about an unreadable directory.

Git cuts a long warning, and with it the name of a very long path.
"""


class GitStore:
    """Files at or below `root`, which is in a work tree or in no repository."""

    def __init__(
        self, root: str, home: Path, own: Path | None = None, max_new: int | None = None
    ) -> None:
        """`home` is the directory for git's files, `own` the one for all files of this plugin.

        Both may be below `root`, if that is the user's home directory. `max_new` limits the number
        of files unknown to git. `root` must then be in a work tree. Raise StoreError, also if git
        is missing.
        """
        self._max_new = max_new
        self._root = os.path.realpath(root)
        find = private_git.find_or_placeholder if max_new is None else private_git.find
        repository = find(self._root, os.environ)
        self._is_plain = repository.is_alone
        self._top = repository.top
        self._last_signatures: dict[str, plain_tree.Signature] | None = None
        """Signatures of the files before the last full scan, or None if there are too many."""
        # One for each process: git may have been killed while it wrote that of another process.
        self._index = home / f"index-{os.getpid()}"
        self._git = PrivateGit(repository, home, os.environ, self._index)
        self._home = home
        self.history = GitHistory(self._git, home)
        top = os.path.realpath(self._top)
        self._spec = os.path.relpath(self._root, top)
        self._own_folder = os.path.realpath(own or home)
        self._own = os.path.relpath(self._own_folder, top) + os.sep
        self._tree = ""
        """Tree of the last scan, empty before the first."""
        self._earlier_tree = ""
        """Tree with which the last scan compared its own."""
        self._scanned: dict[str, os.stat_result] = {}
        """States of the files that the last scan stored, from before git read them."""
        self._missing: list[str] = []
        """Files that the last scan did not find."""
        self._marks = Marks(home / "out")
        self._out: dict[str, Blob] = {}
        """Files left out of the index, by absolute path."""
        self._closed: frozenset[str] = frozenset()
        """Directories that git could not read."""
        self._nested: list[str] = []
        """Repositories below the root that the last scan found."""
        self._links: set[str] = set()
        """Paths of submodules in the user's index."""

    @property
    def root(self) -> str:
        return self._root

    def scan(self, paths: Sequence[str] | None = None) -> Scan:
        """Scan all files, or only `paths`. Return the result. Raise StoreError."""
        self._earlier_tree = self._tree
        return self.scan_again(paths)

    def scan_again(self, paths: Sequence[str] | None) -> Scan:
        """Scan files once more. Return the result with the changes by the last `scan`, too."""
        converted = [] if self._tree else self._copy_user_index()
        indexed = [] if self._tree else self._indexed_files()
        is_whole = paths is None or not self._tree
        resting = self._signatures() if is_whole else None
        files = ScannedFiles()
        files.sort(
            self._choose_files(converted)
            if is_whole
            else map(self._path, self._inside(paths or ()))
        )
        self._update_index(files)
        self._scanned, self._missing = files.fitting, files.missing
        before, self._tree = self._earlier_tree, self._write_tree()
        changes = left_out.certain_changes(self.differences(before, self._tree)) if before else []
        missed = [path for path, blob in self._out.items() if blob.is_missed]
        missed += sorted(self._closed - {self._root})
        self._last_signatures = resting
        return Scan(self._tree, changes, missed, [*indexed, *files.fitting], self._nested)

    def unsettled(self) -> list[str]:
        """Return the files that have changed since the last scan began to read them.

        The tree may have a state between two steps of a write. First wait for the text of files
        that a program has just truncated, but not for long.
        """
        scanned, self._scanned = self._scanned, {}  # after a first scan, these are all files
        for path, info in scanned.items():
            if not info.st_size:
                wait_filled(path)
        changed = [path for path, info in scanned.items() if not _is_same(path, info)]
        return [*changed, *filter(os.path.isfile, self._missing)]

    def is_unchanged(self) -> bool:
        """Return whether a scan would find nothing.

        This is always False for directories that are large or in a repository.
        """
        return self._last_signatures is not None and self._last_signatures == self._signatures()

    def _signatures(self) -> dict[str, plain_tree.Signature] | None:
        return plain_tree.signatures(self._root, self._own_folder) if self._is_plain else None

    def folders(self) -> list[str]:
        """Return the directories that git visits below the root. Raise StoreError."""
        ignored: set[str] | None = None
        folders = [self._root]
        for path in folders:  # grows during the loop
            inner = _directories(path)
            if inner and ignored is None:
                ignored = self._ignored_directories()
            folders += [folder for folder in inner if folder not in (ignored or ())]
        return folders

    def _ignored_directories(self) -> set[str]:
        command = ["ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"]
        return {self._path(name).rstrip(os.sep) for name in self._list_files(command)}

    def skipped(self, paths: Sequence[str]) -> list[str]:
        """Return the `paths` below the root that `scan` skips, whether they exist or not.

        Paths beyond a link are left out: git rejects them, and a scan does not visit them.
        """
        inside = self._inside(path for path in paths if not is_beyond_link(path))
        listed = self._run(["ls-files", "-z", "--", *inside], env=LITERAL) if inside else b""
        listed_paths = {os.fsdecode(name) for name in listed.split(b"\0")}
        asked = b"".join(os.fsencode(name) + b"\0" for name in inside if name not in listed_paths)
        if not asked:
            return []
        ignored = self._run(
            ["check-ignore", "--no-index", "-z", "--stdin"], asked, exit_codes=(0, 1)
        )
        return [self._path(os.fsdecode(name)) for name in ignored.split(b"\0") if name]

    def differences(self, old: str, new: str) -> list[Change]:
        """Return the differences between two trees. Raise StoreError."""
        if old == new:
            return []
        (old, was_out), (new, is_out) = self._marks.parts(old), self._marks.parts(new)
        changes = self._raw_differences(old, new)
        if any(os.path.basename(change.path) == _IGNORE_FILE for change in changes):  # noqa: PTH119
            changes = self._with_ignored(changes, old, new)
        return left_out.differences(changes, was_out, is_out)

    def _with_ignored(self, changes: Sequence[Change], old: str, new: str) -> list[Change]:
        """Return the changes, with files marked as ignored in a tree whose rules exclude them."""
        ignored = self._ignored_files(
            old, [change.path for change in changes if change.before is None]
        )
        now_ignored = self._ignored_files(
            new, [change.path for change in changes if change.after is None]
        )
        return [
            Change(
                change.path,
                IGNORED if change.path in ignored else change.before,
                IGNORED if change.path in now_ignored else change.after,
            )
            for change in changes
        ]

    def _ignored_files(self, tree: str, paths: Sequence[str]) -> set[str]:
        """Return the `paths` that git ignores according to the rules in a tree."""
        folders = {folder for path in paths for folder in Path(self._name(path)).parents}
        if not paths:
            return set()
        from tempfile import TemporaryDirectory

        rules = [str(folder / _IGNORE_FILE) for folder in sorted(folders)]
        listed = self._run(["ls-tree", "-z", "--full-tree", tree, "--", *rules], env=LITERAL)
        with TemporaryDirectory(dir=self._home) as scratch:
            for mode, kind, oid, name in parse_tree(listed):
                if kind == "blob" and mode != "120000":
                    place = Path(scratch, name)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(self._run(["cat-file", "blob", oid]))
            asked = b"".join(os.fsencode(self._name(path)) + b"\0" for path in paths)
            check = ["check-ignore", "--no-index", "-z", "--stdin"]
            there = {"GIT_WORK_TREE": scratch}
            names = self._run(check, asked, exit_codes=(0, 1), env=there).split(b"\0")
        return {self._path(os.fsdecode(name)) for name in names if name}

    def _raw_differences(self, old: str, new: str) -> list[Change]:
        if old == new:
            return []
        try:
            output = self._run([*DIFF_TREE, old, new])
        except GitError as error:
            if "bad object" in str(error):
                raise StoreError(wording.WHY_STATE_MISSING) from error
            raise
        return [
            Change(self._path(name), blob_of(modes[0], ids[0]), blob_of(modes[1], ids[1]))
            for modes, ids, name in parse_differences(output)
        ]

    def blob_at(self, tree: str, path: str) -> Blob | None:
        """Return the blob of a file in a tree, or None if the tree lacks it. Raise StoreError."""
        tree, out = self._marks.parts(tree)
        listed = self._run(
            ["ls-tree", "-z", "--full-tree", tree, "--", self._name(path)], env=LITERAL
        )
        blobs = [blob_of(mode, oid) for mode, kind, oid, _ in parse_tree(listed) if kind == "blob"]
        return blobs[0] if blobs else out.get(path)

    def contents(self, wanted: Sequence[tuple[str, Blob]]) -> dict[str, bytes]:
        """Return stored bytes, as in the work tree, by absolute path. Lost ones are left out."""
        empty = {path: b"" for path, blob in wanted if blob.is_fifo}
        wanted = [(path, blob) for path, blob in wanted if not blob.is_fifo]
        if not wanted:
            return empty
        asked = "".join(f"{blob.id}\n" for _, blob in wanted).encode()
        answers = parse_blobs(
            self._run(["cat-file", "--batch", "--buffer"], asked, exit_codes=ANY_EXIT_CODE)
        )
        pairs = zip((path for path, _ in wanted), answers, strict=False)
        return empty | {path: data for path, data in pairs if data is not None}

    def changed_since(self, since: int) -> list[str]:
        """Return files changed since a time (ns) that differ from the user's index."""
        self._git.copy_index()
        paths = map(self._path, self._changed_files())
        return [path for path in paths if changed_at(path) >= since]

    # -- helpers ----------------------------------------------------------------------------------

    def _copy_user_index(self) -> list[str]:
        """Copy the user's index, whose stat cache saves reading unchanged files.

        Return the files whose blobs differ from their bytes. Remove these files from the copy.
        """
        if self._index.exists():
            return []
        user = Path(self._git.repository.index)
        if self._is_plain or not user.is_file():
            return []
        count = private_git.count_entries(user)
        if count > MAX_INDEX:
            raise LimitError(f"{self._top} has {count} files; the limit is {MAX_INDEX}")
        try:
            self._git.copy_index()
            names = self._converted_files()
            if names:
                given = b"".join(os.fsencode(name) + b"\0" for name in names)
                self._run(["update-index", "--force-remove", "-z", "--stdin"], given)
        except BaseException:
            self._index.unlink(missing_ok=True)
            raise
        return names

    def _indexed_files(self) -> list[str]:
        """Return the files in the copy of the user's index, and record its submodules."""
        if not self._index.exists():
            return []
        staged = (entry.split("\t", 1) for entry in self._list_files(["ls-files", "-s", "-z"]))
        modes = {name: mode for mode, name in staged}
        self._links = {name for name, mode in modes.items() if mode.startswith("160000")}
        return [self._path(name) for name in modes]

    def _converted_files(self) -> list[str]:
        """Return files whose blobs in the user's index differ due to a conversion."""
        entries = self._tracked_files(_FILTERED_FILES)
        names = {name for _, name in entries}
        lines = (
            self._tracked_files()
            if self._git.repository.can_convert()
            else self._tracked_files(_LINE_END_FILES)
        )
        asked = b"".join(oid + b"\n" for oid, _ in lines)
        check = ["cat-file", "--batch-check=%(objectsize)", "--buffer"]
        sizes = self._run(check, asked).split(b"\n") if lines else []
        stem = self._top.rstrip(os.sep) + os.sep
        for (_, name), size in zip(lines, sizes, strict=False):
            if b"%d" % _size(stem + name) != size:
                names.add(name)
        return [name for name in names if _size(stem + name) >= 0]

    def _tracked_files(self, *spec: str) -> list[tuple[bytes, str]]:
        """Return object name and path of each tracked file that a pathspec selects."""
        root = [] if self._spec == "." else [f":(literal){self._spec}"]
        listed = self._git.run(["ls-files", "-s", "-z", "--", *root, *spec], converting=True)
        files = (entry for entry in listed.split(b"\0") if entry.startswith(b"100"))
        entries = (entry.split(b"\t", 1) for entry in files)
        return [(meta.split(b" ", 2)[1], os.fsdecode(name)) for meta, name in entries]

    def _choose_files(self, others: Iterable[str]) -> list[str]:
        """Return `others`, the files that may have changed, and the files left out so far."""
        return sorted({*map(self._path, (*self._changed_files(), *others)), *self._out})

    def _update_index(self, files: ScannedFiles) -> None:
        links: dict[str, bool] = {}
        away = [
            path
            for path in [*files.fitting, *files.left_out, *files.missing]
            if self._is_behind_link(path, links)
        ]
        for path in [*files.fitting, *files.missing, *away]:
            self._out.pop(path, None)
        still_out = [path for path in files.left_out if path not in self._out and path not in away]
        self._out |= {path: out for path, out in files.left_out.items() if path not in away}
        folders = [path for path in files.missing if os.path.lexists(path)]
        lost = {*away, *still_out, *folders}
        self._remove_from_index(sorted(lost))
        self._add_to_index(
            sorted(self._name(path) for path in {*files.fitting, *files.missing} - lost)
        )

    def _is_behind_link(self, path: str, links: dict[str, bool]) -> bool:
        """Return whether a file has left the work tree because a directory has become a link.

        `links` caches the results by directory.
        """
        parent = os.path.dirname(path)  # noqa: PTH120
        if parent not in links:
            links[parent] = is_beyond_link(path)
        return links[parent]

    def _remove_from_index(self, paths: Sequence[str]) -> None:
        """Remove files from the index, whatever is at their paths."""
        if paths:
            given = b"".join(os.fsencode(self._name(path)) + b"\0" for path in paths)
            self._run(["update-index", "--force-remove", "-z", "--stdin"], given)

    def _write_tree(self) -> str:
        """Write the index as a tree. Return its name, with the mark of the files left out."""
        tree = self._run(["write-tree", "--missing-ok"]).decode().strip()
        folders = self._closed.union(self._nested)
        return self._marks.name(tree, LeftOut(dict(self._out), folders))

    def _add_to_index(self, names: Sequence[str], attempts: int = ATTEMPTS) -> None:
        """Add files (relative to the top) to the index in their current state.

        If one of them vanishes or changes in the meantime, git refuses all. Each half is then added
        separately.
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
            self._add_to_index(names[:half])
            self._add_to_index(names[half:], attempts if half else attempts - 1)

    def _changed_files(self) -> list[str]:
        """Return files that are new or differ from the index, relative to the top."""
        unlisted = plain_tree.special_files(self._root, self._own_folder) if self._is_plain else []
        differ, new = self._differing_and_new()
        if self._max_new is not None and len(new) > self._max_new:
            raise LimitError(f"git does not know {len(new)} files of {self._top}")
        names = {name for name in (*differ, *new) if not name.startswith(self._own)}
        inner = {name.rstrip("/") for name in names if name.endswith("/")} | self._links
        self._nested = sorted(
            self._path(name) for name in inner if os.path.lexists(Path(self._top, name, ".git"))
        )
        names.update(map(self._name, unlisted))
        return sorted(name for name in names if not name.endswith("/"))

    def _differing_and_new(self) -> tuple[list[str], list[str]]:
        """Return the files that differ from the index, and the files that it lacks."""
        differ = ["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all"]
        new = ["ls-files", "--others", "--exclude-standard", "-z"]
        if not self._index.exists():
            return [], self._list_files(new)
        with ThreadPoolExecutor(2) as both:  # each walks the whole tree
            differing, lacking = both.map(self._list_files, (differ, new))
        return differing, lacking

    def _list_files(self, args: Sequence[str]) -> list[str]:
        output, warnings = self._git.run_with_warnings([*args, *self._pathspec()], env=LITERAL)
        if "--others" in args:
            self._closed = self._unread_directories(warnings)
        return [os.fsdecode(name) for name in output.split(b"\0") if name]

    def _unread_directories(self, warnings: bytes) -> frozenset[str]:
        """Return the directories that git reports as unreadable.

        If git has escaped or cut a name, or the system does not accept the path, return the nearest
        directory above.
        """
        unread = [self._path(os.fsdecode(name).rstrip("/")) for name in _UNREAD.findall(warnings)]
        return frozenset(existing_path(path, self._root) for path in unread)

    def _pathspec(self) -> list[str]:
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
        stdin: bytes = b"",
        exit_codes: Container[int] = (0,),
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        return self._git.run(args, stdin, exit_codes=exit_codes, env=env)


def _is_same(path: str, info: os.stat_result) -> bool:
    """Return whether a file is still in the state `info`."""
    try:
        return signature(os.lstat(path)) == signature(info)
    except OSError:
        return False


def _directories(path: str) -> list[str]:
    """Return the directories in a directory, except `.git`."""
    try:
        with os.scandir(path) as entries:
            return [
                entry.path
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and entry.name != ".git"
            ]
    except OSError:
        return []


def _size(path: str) -> int:
    """Return the size of a regular file, or -1 if there is none."""
    try:
        info = os.lstat(path)
    except OSError:
        return -1
    return info.st_size if stat.S_ISREG(info.st_mode) else -1
