"""Notes on commits in a ref of our own, made without a program that the repository names.

Git makes the objects in a git directory of ours (`private_git.scratch`), where nothing but the
user's objects are known. In the user's repository only the ref is moved, by `update-ref`, with
hooks off: index, work tree and branches stay as they are, and nothing is sent anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from acp_nvim import wording
from acp_nvim.edits.text import Text, parse
from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.private_git import CAREFUL, GitError, Repository, call, scratch
from acp_nvim.files.checkpoints.store import StoreError

_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "acp.nvim"), ("EMAIL", "acp.nvim@localhost"))
}


class NotNotedError(Exception):
    """There is nothing to put a note on, or another note is there; the text is for the user."""


class Commit(msgspec.Struct, frozen=True):
    """The commit that HEAD names."""

    repository: Repository
    id: str


def head(directory: str, env: Mapping[str, str]) -> Commit:
    """The commit in use in a directory. Blocks; NotNotedError."""
    try:
        repository = private_git.find(directory, env)
    except StoreError as error:
        raise NotNotedError(wording.NOTES_NO_GIT) from error
    found = private_git.head(repository, env)
    if not found:
        raise NotNotedError(wording.NOTES_NO_COMMIT)
    return Commit(repository, found)


def texts(commit: Commit, paths: Sequence[str], env: Mapping[str, str]) -> dict[str, Text]:
    """The texts of these files (absolute) in a commit; those that it lacks are left out. Blocks;
    StoreError.
    """
    top = commit.repository.top + os.sep
    asked = [path for path in paths if path.startswith(top) and "\n" not in path]
    given = "".join(f"{commit.id}:{path.removeprefix(top)}\n" for path in asked)
    with scratch(commit.repository, env) as own:
        told = call(["cat-file", "--batch"], top, own, os.fsencode(given))
    found: dict[str, Text] = {}
    for path in asked:
        line, _, told = told.partition(b"\n")
        kind, size = line.split()[-2:]
        if size == b"missing":
            continue
        if kind == b"blob":
            content = told[: int(size)].decode("utf-8", "surrogateescape")
            found[path] = parse(content.replace("\r\n", "\n"))
        told = told[int(size) + 1 :]
    return found


def write(commit: Commit, ref: str, note: bytes, env: Mapping[str, str]) -> None:
    """Put a note on a commit, in place of one of ours. Blocks; NotNotedError where there is one of
    somebody else's, StoreError.
    """
    repository = commit.repository
    user = private_git.environment(env)
    ask = [*CAREFUL, "rev-parse", "--verify", "--quiet", ref]
    before = call(ask, repository.top, user, fine=(0, 1)).decode().strip()
    with scratch(repository, env) as own:
        own |= _AUTHOR
        if before:
            call(["update-ref", ref, before], repository.top, own)
            _check(commit, ref, own)
        blob = call(["hash-object", "-w", "--stdin"], repository.top, own, note).decode().strip()
        add = ["notes", f"--ref={ref}", "add", "--force", f"--reuse-message={blob}", commit.id]
        call(add, repository.top, own)
        after = call(["rev-parse", ref], repository.top, own).decode().strip()
    none = "0" * len(commit.id)
    move = [*CAREFUL, "update-ref", "-m", "acp.nvim: note", ref, after, before or none]
    call(move, repository.top, user)


def _check(commit: Commit, ref: str, own: Mapping[str, str]) -> None:
    """Raise NotNotedError where a note is there that is none of ours."""
    try:
        show = ["notes", f"--ref={ref}", "show", commit.id]
        present = call(show, commit.repository.top, own)
    except GitError:
        return  # there is none
    try:
        record = msgspec.json.decode(present, type=_Record)
    except msgspec.DecodeError:
        record = _Record()
    if record.tool.get("name") != "acp.nvim":
        raise NotNotedError(wording.NOTES_OTHERS.format(ref=ref, commit=commit.id[:10]))


class _Record(msgspec.Struct, frozen=True):
    """The part of a note of ours by which it is known."""

    tool: dict[str, str] = {}
