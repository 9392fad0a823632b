"""Git notes on commits, written without running programs that the repository names.

Git makes the objects in a private git directory (`private_git.scratch`) that shares only the user's
objects. In the user's repository only the ref is updated, by `update-ref` with hooks disabled.
Index, work tree and branches do not change, and nothing is pushed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from acp_nvim import wording
from acp_nvim.edits.text import Text, parse
from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.git_output import parse_blobs
from acp_nvim.files.checkpoints.private_git import (
    NO_PROGRAMS,
    USER_UMASK,
    GitError,
    Repository,
    call,
    scratch,
)
from acp_nvim.files.checkpoints.store import StoreError

_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "acp.nvim"), ("EMAIL", "acp.nvim@localhost"))
}


class NotNotedError(Exception):
    """Failure to write a note: there is no commit, or another tool's note is there.

    The message is for the user.
    """


class Commit(msgspec.Struct, frozen=True):
    """The commit of HEAD."""

    repository: Repository
    id: str


def head(directory: str, env: Mapping[str, str]) -> Commit:
    """Return the commit of HEAD in a directory. This call blocks. Raise NotNotedError."""
    try:
        repository = private_git.find(directory, env)
    except StoreError as error:
        raise NotNotedError(wording.NOTES_NO_GIT) from error
    commit = private_git.head(repository, env)
    if not commit:
        raise NotNotedError(wording.NOTES_NO_COMMIT)
    return Commit(repository, commit)


def texts(commit: Commit, paths: Sequence[str], env: Mapping[str, str]) -> dict[str, Text]:
    """Return the texts of files (absolute paths) in a commit, without the missing ones.

    This call blocks. Raise StoreError.
    """
    top = commit.repository.top + os.sep
    asked = [path for path in paths if path.startswith(top) and "\n" not in path]
    given = "".join(f"{commit.id}:{path.removeprefix(top)}\n" for path in asked)
    with scratch(commit.repository, env) as own:
        output = call(["cat-file", "--batch"], top, own, os.fsencode(given))
    by_path: dict[str, Text] = {}
    for path, data in zip(asked, parse_blobs(output), strict=False):
        if data is not None:
            content = data.decode("utf-8", "surrogateescape")
            by_path[path] = parse(content.replace("\r\n", "\n"))
    return by_path


def write(commit: Commit, ref: str, note: bytes, env: Mapping[str, str]) -> None:
    """Write a note on a commit, in place of an earlier one by this plugin.

    This call blocks. Raise NotNotedError if another tool's note is there, or StoreError.
    """
    repository = commit.repository
    user = private_git.environment(env)
    ask = [*NO_PROGRAMS, "rev-parse", "--verify", "--quiet", ref]
    before = call(ask, repository.top, user, exit_codes=(0, 1)).decode().strip()
    with scratch(repository, env) as own:
        own |= _AUTHOR
        if before:
            call(["update-ref", ref, before], repository.top, own)
            _check(commit, ref, own)
        keep = [*repository.sharing_arguments(), "hash-object", "-w", "--stdin"]
        blob = call(keep, repository.top, own, note, umask=USER_UMASK).decode().strip()
        add = ["notes", f"--ref={ref}", "add", "--force", f"--reuse-message={blob}", commit.id]
        call([*repository.sharing_arguments(), *add], repository.top, own, umask=USER_UMASK)
        after = call(["rev-parse", ref], repository.top, own).decode().strip()
    none = "0" * len(commit.id)
    move = [*NO_PROGRAMS, "update-ref", "-m", "acp.nvim: note", ref, after, before or none]
    call(move, repository.top, user)


def _check(commit: Commit, ref: str, own: Mapping[str, str]) -> None:
    """Raise NotNotedError if the existing note is not by this plugin."""
    try:
        show = ["notes", f"--ref={ref}", "show", commit.id]
        present = call(show, commit.repository.top, own)
    except GitError:
        return  # no note
    try:
        record = msgspec.json.decode(present, type=_Record)
    except msgspec.DecodeError:
        record = _Record()
    if record.tool.get("name") != "acp.nvim":
        raise NotNotedError(wording.NOTES_OTHERS.format(ref=ref, commit=commit.id[:10]))


class _Record(msgspec.Struct, frozen=True):
    """The part of a note that identifies this plugin."""

    tool: dict[str, str] = {}
