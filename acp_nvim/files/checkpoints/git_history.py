"""The user's repository: moves of HEAD, and contents of committed files.

All methods may block: call them in a worker thread. They raise StoreError.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from acp_nvim.files.bytes.disk import changed_at
from acp_nvim.files.changes.git_tree import SECOND_NS, HeadMove, moves_after, read_moves
from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.git_output import DIFF_TREE, blob_of, parse_differences
from acp_nvim.files.checkpoints.private_git import ANY_EXIT_CODE, LITERAL, GitError, PrivateGit
from acp_nvim.files.checkpoints.store import Blob, GitContent, content

MAX_LEFT_COMMITS: Final = 20
"""Maximum number of commits that HEAD has left in which missing files are looked up."""


class GitHistory:
    """Commits of the repository of a work tree. A directory in no repository has none."""

    def __init__(self, git: PrivateGit, home: Path) -> None:
        """`home` is a directory for temporary files."""
        self._git = git
        self._top = git.repository.top
        self._home = home

    @property
    def has_repository(self) -> bool:
        """Return whether the directory is in a repository."""
        return not self._git.repository.is_alone

    def head(self) -> str:
        """Return the commit of HEAD, or an empty string without a commit or repository."""
        if not self.has_repository:
            return ""
        return private_git.head(self._git.repository, os.environ)

    def moves_since(self, commit: str, head: str) -> list[HeadMove]:
        """Return the moves of HEAD since it was last at a commit, oldest first.

        If the log of HEAD lacks that commit, return one move at the time of the log's last change.
        `head` is the commit of HEAD, read before this call. Git writes the log first, so the log
        has the move to `head`.
        """
        log = Path(self._git.repository.head_log)
        if not head:
            return []
        moves = moves_after(log, commit)
        if moves is None and head != commit:
            at = changed_at(str(log))
            return [HeadMove(commit, head, at, at, is_commit=True)]
        return moves or []

    def contents_since(
        self, paths: Sequence[str], since: int, by_agent: Callable[[HeadMove], bool]
    ) -> dict[str, list[GitContent]]:
        """Return the contents that checkouts, commits and pulls by the user gave these files.

        `since` is a time in nanoseconds. `by_agent` returns whether a move of HEAD was made by
        an agent.
        """
        by_path: dict[str, list[GitContent]] = {}
        if not self.has_repository:
            return by_path
        log = Path(self._git.repository.head_log)
        moves = read_moves(log, since)
        for is_agents, group in groupby(moves, by_agent):
            if is_agents:
                continue
            run = list(group)
            contents = self.committed(paths, "", run[-1].new)
            missing = [path for path in paths if path not in contents]
            for left in list(dict.fromkeys(move.old for move in run))[-MAX_LEFT_COMMITS:]:
                contents |= self.committed(missing, left, run[-1].new) if missing else {}
            for path, data in contents.items():
                by_path.setdefault(path, []).append(GitContent(data, run[-1].last))
        stashed = read_moves(log.parent / "refs" / "stash", since)[-1:]
        if stashed and not by_agent(stashed[0]):
            for path, data in self.committed(paths, "").items():
                until = stashed[0].last + SECOND_NS  # files are written after the log
                by_path.setdefault(path, []).append(GitContent(data, until))
        return by_path

    def committed(self, paths: Sequence[str], since: str, to: str = "") -> dict[str, bytes | None]:
        """Return the contents of the `paths` that differ between two commits.

        The contents are from the commit `to` ("": HEAD), None for files that it lacks. `since` is
        the other commit ("": before the first one). For a file with a filter, only the content on
        disk is known, and only if git considers it committed.
        """
        from tempfile import TemporaryDirectory

        listed = map(self._name, paths)
        since = since or self._git.run(["hash-object", "-t", "tree", "--stdin"]).decode().strip()
        try:
            output = self._git.run(
                [*DIFF_TREE, since, to or self.head(), "--", *listed], env=LITERAL
            )
        except GitError:
            return {}  # that commit is gone
        blobs = {name: blob_of(modes[1], ids[1]) for modes, ids, name in parse_differences(output)}
        present = {name: blob for name, blob in blobs.items() if blob}
        contents: dict[str, bytes | None] = dict.fromkeys(blobs.keys() - present.keys())
        with TemporaryDirectory(dir=self._home) as scratch:
            filtered = self._git.filtered(list(present))
            index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
            plain = {name: blob for name, blob in present.items() if name not in filtered}
            contents |= self._checked_out_contents(plain, Path(scratch, "out"), index)
            if filtered:
                self._git.copy_index(Path(scratch, "index"))
                contents |= self._unchanged_contents(
                    {name: present[name] for name in filtered}, index
                )
        by_path = {self._path(name): data for name, data in contents.items()}
        return {path: by_path[path] for path in paths if path in by_path}

    def _checked_out_contents(
        self, blobs: Mapping[str, Blob], out: Path, index: Mapping[str, str]
    ) -> dict[str, bytes]:
        """Return the contents of blobs (by name) as git would check them out.

        Line ends and encodings are converted. Git writes to a temporary directory.
        """
        if not blobs:
            return {}
        listed = b"".join(
            f"{blob.mode:o} {blob.id}\t".encode() + os.fsencode(name) + b"\0"
            for name, blob in blobs.items()
        )
        run = self._git.run
        run(["update-index", "-z", "--index-info"], listed, env=index, converting=True)
        checkout = ["checkout-index", "-a", "-q", f"--prefix={out}/"]
        run(checkout, exit_codes=ANY_EXIT_CODE, env=index, converting=True)
        contents = {name: _content(out / name) for name in blobs}
        return {name: data for name, data in contents.items() if data is not None}

    def _unchanged_contents(
        self, blobs: Mapping[str, Blob], index: Mapping[str, str]
    ) -> dict[str, bytes]:
        """Return the bytes on disk of files that git considers equal to these blobs (by name)."""
        env = {**index, **LITERAL}
        run = self._git.run
        listed = run(["ls-files", "-s", "-z", "--", *blobs], env=env)
        changed = run(["diff-files", "--name-only", "-z", "--", *blobs], env=env).split(b"\0")
        contents: dict[str, bytes] = {}
        for entry in filter(None, listed.split(b"\0")):
            meta, raw = entry.split(b"\t", 1)
            name = os.fsdecode(raw)
            data = _content(Path(self._top, name))
            is_same = meta.split(b" ")[1] == blobs[name].id.encode() and raw not in changed
            if is_same and data is not None:
                contents[name] = data
        return contents

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._top)

    def _path(self, name: str) -> str:
        return os.path.join(self._top, name)  # noqa: PTH118


def _content(path: Path) -> bytes | None:
    """Return the bytes of a file or the target of a link, or None if there is neither."""
    try:
        return content(str(path), path.lstat().st_mode)
    except OSError:
        return None
