"""Git for worktrees of sessions, without any program that the repository names.

In the user's repository only `worktree add --no-checkout`, `worktree remove`, `update-ref` and
`symbolic-ref` run, without hooks and fsmonitor. Files are checked out, and read back, by git in a
private git directory (`files/checkpoints/private_git.py`), which has no filters.

All functions block. They raise `StoreError`.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.features.worktrees import words
from acp_nvim.features.worktrees.records import Worktree
from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.git_output import parse_blobs
from acp_nvim.files.checkpoints.private_git import (
    NO_PROGRAMS,
    USER_UMASK,
    GitError,
    PrivateGit,
    Repository,
    call,
)
from acp_nvim.files.checkpoints.store import StoreError

PREFIX: Final = "acp/"
"""Beginning of the names of branches."""
LANDED: Final = "refs/worktree/acp/landed"
"""Ref in the worktree to a tree with the files as they last landed or were refused.

The ref is removed with the worktree. Git keeps the objects of such refs.
"""
LONG_S: Final = 600.0
"""Longest time for git to check out or read all files."""
MAX_NAME: Final = 40
"""Maximum number of characters of a branch's name, without the prefix."""
PLAIN: Final = "100644"
"""Mode of a regular file that is not executable."""
LINK: Final = "120000"
"""Mode of a symbolic link."""
PROGRAM: Final = "100755"
"""Mode of an executable file."""
NESTED: Final = "160000"
"""Mode of a submodule."""
MOST_BYTES: Final = 1 << 28
"""Total size of the contents that are read at once."""
_OWN_COMMIT: Final = re.compile(
    r"commit|cherry-pick|revert|am\b|(rebase|pull).*\((pick|squash|fixup|reword|edit|continue)\)"
    r"|(merge|pull)(?!.*: Fast-forward$)(?!.*\))"
)
"""Reflog messages about new commits, as opposed to moves to existing ones."""
_CHECKOUT: Final = (
    *("-c", "core.sparseCheckout=false"),
    *("-c", "core.protectNTFS=true", "-c", "core.protectHFS=true"),
)


class File(msgspec.Struct, frozen=True):
    """File in a tree of git."""

    mode: str
    id: str
    data: bytes
    is_unread: bool = False
    """Whether the content is too large, or cannot be read. `data` is empty then."""


class Change(msgspec.Struct, frozen=True):
    """File that the worktree changed, before and after. A missing file is None.

    The path is relative to the top of the work tree.
    """

    path: str
    before: File | None
    after: File | None


class Result(msgspec.Struct, frozen=True):
    """Changes in a worktree that have neither landed nor been refused."""

    base: str
    """Tree with which the files were compared."""
    changes: Sequence[Change]


# -- creation -------------------------------------------------------------------------------------


def find(directory: str, env: Mapping[str, str]) -> tuple[Repository, str]:
    """Return the repository of a directory, and the commit of its HEAD."""
    try:
        repository = private_git.find(directory, env)
    except GitError as error:
        raise GitError(words.WHY_NO_REPOSITORY) from error
    commit = private_git.head(repository, env)
    if not commit:
        raise GitError(words.WHY_NO_COMMIT)
    if not is_utf8(repository.top):
        raise GitError(words.WHY_NOT_UTF8)
    return repository, commit


def free_branch(repository: Repository, title: str, env: Mapping[str, str]) -> str:
    """Return an unused branch name for a title, such as `acp/fix-the-parser-2`."""
    title_words = "".join(c if c.isalnum() else " " for c in title.lower()).split()
    short = title_words[:1]
    for word in title_words[1:]:
        if len("-".join([*short, word])) > MAX_NAME:
            break
        short.append(word)
    name = PREFIX + ("-".join(short)[:MAX_NAME] or "session")
    list_refs = [*NO_PROGRAMS, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/acp"]
    listed = call(list_refs, repository.top, private_git.environment(env))
    used: set[str] = set()
    for line in os.fsdecode(listed).casefold().split("\n"):
        parts = line.split("/")
        used.update(accumulate(parts, "{}/{}".format))  # a branch cannot be a folder of others
    number, free = 1, name
    while free.casefold() in used:
        number += 1
        free = f"{name}-{number}"
    return free


def add(
    repository: Repository, commit: str, path: str, title: str, env: Mapping[str, str]
) -> tuple[str, int]:
    """Make a worktree at an unused path, with a new branch at a commit.

    Return the branch and the number of files with a git filter, which are checked out as git stores
    them. After an error, neither branch nor directory is left.
    """
    own = private_git.environment(env)
    branch = _new_branch(repository, commit, title, env)
    try:
        # Without --force, git refuses a path whose earlier worktree the user has deleted.
        make = ["worktree", "add", "--force", "--no-checkout", "--", path, branch]
        call([*NO_PROGRAMS, *make], repository.top, own, timeout=LONG_S, umask=USER_UMASK)
        with _private(private_git.find(path, env), env) as git:
            index = {"GIT_INDEX_FILE": git.repository.index}
            check_out = [*_CHECKOUT, "read-tree", "--reset", "-u", commit]
            git.run(check_out, env=index, converting=True, umask=USER_UMASK)
            names = git.run(["ls-files", "-z"], env=index).split(b"\0")
            return branch, len(git.filtered([os.fsdecode(name) for name in names if name]))
    except BaseException:
        discard(repository, commit, path, branch, env)
        raise


def discard(
    repository: Repository, commit: str, path: str, branch: str, env: Mapping[str, str]
) -> None:
    """Remove, as far as possible, a worktree that was just made, and its branch."""
    own = private_git.environment(env)
    shutil.rmtree(path, ignore_errors=True)
    forget = ["worktree", "remove", "--force", "--force", "--", path]
    for args in (forget, ["update-ref", "-d", f"refs/heads/{branch}", commit]):
        with suppress(StoreError):
            call([*NO_PROGRAMS, *args], repository.top, own)


def _new_branch(repository: Repository, commit: str, title: str, env: Mapping[str, str]) -> str:
    """Create a branch with an unused name, even if other processes do so at the same time."""
    own = private_git.environment(env)
    while True:
        name = free_branch(repository, title, env)
        create = ["update-ref", f"refs/heads/{name}", commit, "0" * len(commit)]
        try:
            call([*NO_PROGRAMS, *create], repository.top, own)
        except GitError:
            if name == free_branch(repository, title, env):
                raise
        else:
            return name


def left_behind(repository: Repository, commit: str, env: Mapping[str, str]) -> list[str]:
    """Return uncommitted and untracked files, relative to the top of the work tree."""
    with _private(repository, env) as git:
        git.copy_index()
        git.run(
            ["update-index", "-q", "--refresh"],
            exit_codes=private_git.ANY_EXIT_CODE,
            converting=True,
        )
        compare = ["diff-index", "--name-only", "-z", "--ignore-submodules=all", commit]
        output = git.run(compare, converting=True)
        output += git.run(["ls-files", "-z", "--others", "--exclude-standard"], converting=True)
    return sorted(os.fsdecode(name) for name in output.split(b"\0") if name)


def rename_branch(worktree: Worktree, title: str, env: Mapping[str, str]) -> str:
    """Name the branch after a title, if HEAD is still on it. Return its name."""
    own = private_git.environment(env)
    if _branch(worktree.path, own) != worktree.branch:
        return worktree.branch
    tip = _tip(worktree, own)
    name = _new_branch(private_git.find(worktree.path, env), tip, title, env)
    for args in (
        ["symbolic-ref", "HEAD", f"refs/heads/{name}"],
        ["update-ref", "-d", f"refs/heads/{worktree.branch}", tip],
    ):
        call([*NO_PROGRAMS, *args], worktree.path, own)
    return name


def _branch(path: str, own: Mapping[str, str]) -> str:
    """Return the branch of HEAD, or an empty string if HEAD is detached."""
    ask = [*NO_PROGRAMS, "symbolic-ref", "--quiet", "--short", "HEAD"]
    return os.fsdecode(call(ask, path, own, exit_codes=(0, 1))).strip()


def is_utf8(path: str) -> bool:
    """Return whether a path is valid UTF-8, which agents and records of worktrees require."""
    return not any("\udc80" <= char <= "\udcff" for char in path)


# -- the result -----------------------------------------------------------------------------------


def result(worktree: Worktree, env: Mapping[str, str]) -> Result:
    """Return the differences between a worktree's files and the state that has landed.

    Before anything has landed, the files are compared with the common ancestor of both HEADs.
    Therefore commits on the branch count like other changes. Untracked files are included, ignored
    ones are not.
    """
    repository = _repository(worktree, env)
    with _private(repository, env) as git:
        base = landed(worktree, env) or _ancestor(worktree, repository, git, env)
        git.copy_index()
        more = _add_all(git)
        tree = _store(git, ["write-tree"]).decode().strip()
        compare = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", base, tree]
        parts = os.fsdecode(_store(git, compare)).split("\0")
        rows = [
            (path, meta[1:].split(" ")) for meta, path in zip(parts[::2], parts[1::2], strict=False)
        ]
        ids = {
            name
            for _, (old, new, before, after, _) in rows
            for mode, name in ((old, before), (new, after))
            if int(mode, 8) and mode != NESTED
        }
        data = _contents(git, sorted(ids))
        more += [_unadded(f"{name}/") for name in _changed_repositories(git, env)]
    changes = [
        Change(path, _file(old, before, data), _file(new, after, data))
        for path, (old, new, before, after, _) in rows
    ]
    listed = {change.path for change in changes}
    changes += [change for change in more if change.path not in listed]
    return Result(base, changes)


def _store(
    git: PrivateGit, args: Sequence[str], stdin: bytes = b"", *, fine: Sequence[int] = (0,)
) -> bytes:
    """Run git with the user's object directory, which stores new objects. Return the output."""
    own = {"GIT_OBJECT_DIRECTORY": git.repository.objects}
    args = [*git.repository.sharing_arguments(), *args]
    return git.run(args, stdin, exit_codes=fine, env=own, converting=True, umask=USER_UMASK)


def _add_all(git: PrivateGit) -> list[Change]:
    """Add all files to the index.

    Return the changes that git cannot add: repositories without a commit, pipes, unreadable files.
    """
    try:
        _store(git, ["add", "--all"])
    except GitError:
        _store(git, ["add", "--all", "--ignore-errors"], fine=(0, 1))
        differ = ["diff-files", "--name-only", "-z", "--ignore-submodules=all"]
        others = ["ls-files", "-z", "--others", "--exclude-standard"]
        names = [os.fsdecode(name) for listing in (differ, others) for name in _names(git, listing)]
        if not names:
            raise
        return [_unadded(name) for name in names]
    return []


def _unadded(name: str) -> Change:
    """Return the change to a file, or to a repository whose name ends with a slash."""
    is_nested = name.endswith("/")
    mode = NESTED if is_nested else PLAIN
    return Change(name.rstrip("/"), None, File(mode, "", b"", is_unread=not is_nested))


def _names(git: PrivateGit, args: Sequence[str]) -> list[bytes]:
    return [name for name in _store(git, args).split(b"\0") if name]


def _changed_repositories(git: PrivateGit, env: Mapping[str, str]) -> list[str]:
    """Return the repositories in the worktree that have uncommitted changes."""
    staged = (entry.split(b"\t", 1) for entry in _names(git, ["ls-files", "-s", "-z"]))
    nested = [os.fsdecode(name) for meta, name in staged if meta.startswith(NESTED.encode())]
    return [name for name in nested if _is_changed(os.path.join(git.repository.top, name), env)]  # noqa: PTH118


def _is_changed(path: str, env: Mapping[str, str]) -> bool:
    """Return whether a repository has, or may have, uncommitted changes."""
    if not os.path.lexists(Path(path, ".git")):
        return False
    try:
        repository, commit = find(path, env)
        return repository.top != path or bool(left_behind(repository, commit, env))
    except StoreError:
        return True


def _file(mode: str, id: str, data: Mapping[str, bytes]) -> File | None:
    if not int(mode, 8):
        return None
    return File(mode, id, data.get(id, b""), mode != NESTED and id not in data)


def _contents(git: PrivateGit, ids: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of blobs, smaller ones first, up to a total of `MOST_BYTES`."""
    sizes = _store(git, ["cat-file", "--batch-check=%(objectsize)"], _lines(ids)).split(b"\n")
    known = sorted((int(size), id) for id, size in zip(ids, sizes, strict=False) if size.isdigit())
    totals = accumulate(size for size, _ in known)
    chosen = [id for (_, id), total in zip(known, totals, strict=True) if total <= MOST_BYTES]
    blobs = parse_blobs(_store(git, ["cat-file", "--batch"], _lines(chosen)))
    return {id: data for id, data in zip(chosen, blobs, strict=False) if data is not None}


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{id}\n" for id in ids).encode()


def record_landed(
    worktree: Worktree, base: str, changes: Sequence[Change], env: Mapping[str, str]
) -> None:
    """Record that changes to the tree `base` have landed or were refused."""
    repository = _repository(worktree, env)
    with _private(repository, env) as git:
        _store(git, ["read-tree", base])
        none = "0" * len(base)
        rows = [
            f"{change.after.mode} {change.after.id}\t{change.path}"
            if change.after
            else f"0 {none}\t{change.path}"
            for change in sorted(
                changes, key=lambda change: change.after is not None
            )  # deletions first
        ]
        stdin = "".join(f"{row}\0" for row in rows)
        update = ["update-index", "--add", "--replace", "-z", "--index-info"]
        _store(git, update, os.fsencode(stdin))
        tree = _store(git, ["write-tree"]).decode().strip()
    call([*NO_PROGRAMS, "update-ref", LANDED, tree], worktree.path, private_git.environment(env))


def landed(worktree: Worktree, env: Mapping[str, str]) -> str:
    """Return the tree of `LANDED`, or an empty string."""
    ask = [*NO_PROGRAMS, "rev-parse", "--verify", "--quiet", LANDED]
    own = private_git.environment(env)
    return call(ask, worktree.path, own, exit_codes=(0, 1)).decode().strip()


def is_merged(worktree: Worktree, env: Mapping[str, str]) -> bool:
    """Return whether the worktree has new commits and the user's HEAD contains them all."""
    repository = _repository(worktree, env)
    users = private_git.head(private_git.find(worktree.tree, env), env)
    commit = private_git.head(repository, env)
    if commit in ("", worktree.base) or not _has_own_commits(worktree, env):
        return False
    with _private(repository, env) as git:
        return _contains(git, users, commit)


def _has_own_commits(worktree: Worktree, env: Mapping[str, str]) -> bool:
    """Return whether a commit was made in the worktree, or may have been if there is no reflog."""
    ask = [*NO_PROGRAMS, "log", "--walk-reflogs", "--format=%gs", "HEAD"]
    own = private_git.environment(env)
    moves = os.fsdecode(call(ask, worktree.path, own, exit_codes=(0, 128))).splitlines()
    return not moves or any(map(_OWN_COMMIT.match, moves))


def _ancestor(
    worktree: Worktree, repository: Repository, git: PrivateGit, env: Mapping[str, str]
) -> str:
    """Return the tree of the common ancestor of the worktree and the user's tree."""
    users = private_git.head(private_git.find(worktree.tree, env), env)
    theirs = private_git.head(repository, env)
    output = git.run(["merge-base", users, theirs], exit_codes=(0, 1)) if users and theirs else b""
    commit = output.decode().strip() or worktree.base
    return git.run(["rev-parse", "--verify", f"{commit}^{{tree}}"]).decode().strip()


# -- removal --------------------------------------------------------------------------------------


def remove(worktree: Worktree, env: Mapping[str, str]) -> bool:
    """Remove a worktree with all its files, and its branch. Return whether the branch is gone.

    The branch is kept if some of its commits are not in the worktree's HEAD, which may be on
    another branch.
    """
    repository = _repository(worktree, env)
    own = private_git.environment(env)
    admin = Path(repository.index).parent
    if (admin / "locked").exists():
        raise GitError(words.WHY_LOCKED)
    commit = private_git.head(repository, env)
    tip = _tip(worktree, own)
    with _private(repository, env) as git:
        is_contained = bool(tip) and _contains(git, commit, tip)
    _remove_files(worktree, own)
    if is_contained:
        drop = ["update-ref", "-d", f"refs/heads/{worktree.branch}", tip]
        call([*NO_PROGRAMS, *drop], worktree.tree, own)
    return is_contained or not tip


def _remove_files(worktree: Worktree, own: Mapping[str, str]) -> None:
    """Remove the directory of a worktree, and git's data about it.

    The directory is moved first, so that a link in its place is never followed.
    """
    trash = tempfile.mkdtemp(prefix=".removed-", dir=Path(worktree.path).parent)
    moved = Path(trash, "files")
    try:
        Path(worktree.path).rename(moved)
        try:
            forget = ["worktree", "remove", "--force", "--", worktree.path]
            call([*NO_PROGRAMS, *forget], worktree.tree, own)
        except StoreError:
            moved.rename(worktree.path)
            raise
    except OSError as error:
        raise StoreError(f"{worktree.path}: {error.strerror}") from error
    shutil.rmtree(trash, ignore_errors=True)


def _tip(worktree: Worktree, own: Mapping[str, str]) -> str:
    """Return the commit of the worktree's branch, or an empty string if there is no such branch."""
    ask = [*NO_PROGRAMS, "rev-parse", "--verify", "--quiet", f"refs/heads/{worktree.branch}"]
    return call(ask, worktree.path, own, exit_codes=(0, 1)).decode().strip()


def _contains(git: PrivateGit, commit: str, earlier: str) -> bool:
    """Return whether a commit is `earlier` or a descendant of it."""
    if not commit:
        return False
    return git.run(["merge-base", commit, earlier], exit_codes=(0, 1)).decode().strip() == earlier


def _repository(worktree: Worktree, env: Mapping[str, str]) -> Repository:
    """Return the repository of a worktree. Raise `GitError` if its directory was replaced."""
    path = worktree.path
    if os.path.realpath(path) == path and Path(path, ".git").is_file():
        repository = private_git.find(path, env)
        admin = Path(repository.index).parent
        if repository.top == path and admin.parent.name == "worktrees":
            return repository
    raise GitError(words.WHY_NO_WORKTREE)


@contextmanager
def _private(repository: Repository, env: Mapping[str, str]) -> Iterator[PrivateGit]:
    """Yield a private git directory with its own index."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        yield PrivateGit(repository, Path(home), env, Path(home, "index"), LONG_S)
