"""Files for which an agent needs the user's permission, and the question about them.

A file is guarded because of its name (options `files.secret` and `files.executed`), another name of
the same file (a hard link), or its content (`key_files`). Files outside of the session's
directories also require permission.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Generic, Literal, Protocol, TypeVar

from anyio import to_thread

from acp_nvim.files.bytes.paths import Place, below, matches, place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.checkpoints.store import SKIPPED
from acp_nvim.files.ports import AgentSession, FileOptions
from acp_nvim.session.calls.named_files import resolve

S = TypeVar("S", bound=AgentSession)

Verb = Literal["read", "write"]
Guarded = Literal["secret", "executed"]
Why = Guarded | Literal["outside"]
Ask = Callable[[S, Verb, Place, Why], Awaitable[bool]]
"""Function that asks the user whether access to a path is allowed, with the reason to ask."""

PATH_BYTES: Final = 1000
"""Length of the longest path that is served, in bytes.

Neovim exits when it writes a file whose name fills its line for messages (1,024 bytes).
"""
READING: Final = frozenset({"read", "search", "think", "fetch", "switch_mode"})
"""Kinds of tool calls that write no file (v1/tool-calls#kinds)."""
MAX_ENTRIES: Final = 50_000
"""Maximum number of directory entries searched for other names of a file."""
MAX_NAMED: Final = 100
"""Maximum number of files that a question names."""
_STORED: Final = frozenset({"objects", "logs", "refs", "lfs"})
"""Folders in a git directory that contain no guarded files."""
_ABOUT: Final[dict[Why, str]] = {
    "outside": "outside of the session's directories",
    "secret": "a secret file",
    "executed": "a file that other programs run",
}


class Globs(Protocol):
    """Options with globs of guarded files, such as `FileOptions` and `FileSettings`."""

    @property
    def secret(self) -> Sequence[str]: ...

    @property
    def executed(self) -> Sequence[str]: ...


def by_name(where: Place, inside: str | None, verb: Verb, globs: Globs) -> Guarded | None:
    """Return why the name of a file requires a question, or None if it does not.

    `inside` has the same meaning as in `matches`.
    """
    if verb == "write" and matches(where, inside, globs.executed):
        return "executed"
    return "secret" if matches(where, inside, globs.secret) else None


def is_guarded(kind: str, paths: Iterable[str], roots: Sequence[str], globs: Globs) -> bool:
    """Return whether a tool call of this kind names a guarded file.

    A rule that allows tool calls does not apply to such a call. `paths` are absolute.
    """
    verb: Verb = "read" if kind in READING else "write"
    places = (Place(path, resolve(path)) for path in paths if "\0" not in path)
    return any(by_name(where, below(where.real, roots), verb, globs) for where in places)


def reasons(kind: str, paths: Sequence[str], roots: Sequence[str], globs: Globs) -> dict[str, Why]:
    """Return the files about which the user has to be asked, each with the reason.

    `paths` are absolute. Only the first `MAX_NAMED` are examined.
    """
    verb: Verb = "read" if kind in READING else "write"
    by_path: dict[str, Why] = {}
    for path in [path for path in paths if "\0" not in path][:MAX_NAMED]:
        where = Place(path, resolve(path))
        inside = below(where.real, roots)
        why = by_name(where, inside, verb, globs)
        if why is not None or inside is None:
            by_path[path] = why or "outside"
    return by_path


async def guarded_by_link(
    where: Place, roots: Sequence[str], verb: Verb, globs: Globs
) -> Guarded | None:
    """Return why another name of the file (a hard link) requires a question.

    This costs one `stat` if the file has only one name, as nearly all have.
    """
    info = _stat_if_linked(where.real)
    if info is None or not (globs.secret or globs.executed):
        return None
    names = await to_thread.run_sync(_names, info, roots)
    answers = {by_name(Place(name, name), below(name, roots), verb, globs) for name in names}
    return "executed" if "executed" in answers else "secret" if "secret" in answers else None


def _stat_if_linked(path: str) -> os.stat_result | None:
    """Return the `stat` of a regular file with several names, otherwise None."""
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return info if stat.S_ISREG(info.st_mode) and info.st_nlink > 1 else None


def _names(wanted: os.stat_result, roots: Sequence[str]) -> list[str]:
    """Return the paths below these directories that are hard links of the file."""
    names: list[str] = []
    for entry in _files(roots):
        if entry.inode() != wanted.st_ino:
            continue
        info = _stat_if_linked(entry.path)
        if info is not None and os.path.samestat(info, wanted):
            names.append(entry.path)
            if len(names) == wanted.st_nlink:
                break
    return names


def _files(roots: Sequence[str]) -> Iterator[os.DirEntry[str]]:
    """Yield the files below these directories, except generated files and git's own."""
    waiting = deque(os.path.realpath(root) for root in roots)
    left = MAX_ENTRIES
    while waiting:
        folder = waiting.popleft()
        skipped = _STORED if ".git" in Path(folder).parts else SKIPPED - {".git"}
        for entry in _entries(folder):
            left -= 1
            if left < 0:
                return
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif entry.name not in skipped:
                waiting.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


# -- question --------------------------------------------------------------------------------------


class PathGuard(Generic[S]):
    """Guard of all paths through which agents reach files."""

    def __init__(self, options: Callable[[], FileOptions], ask: Ask[S]) -> None:
        """`options` is called for each request."""
        self._options = options
        self._ask = ask

    async def allow(self, session: S, verb: Verb, path: str) -> tuple[Place, Why | None]:
        """Resolve the path, and ask the user if necessary. Raise Refusal.

        Return the place, and the reason for the question if there was one.
        """
        where, why = await self.reason_to_ask(session, verb, path)
        if why is not None:
            await self.question(session, verb, where, why)
        return where, why

    async def reason_to_ask(self, session: S, verb: Verb, path: str) -> tuple[Place, Why | None]:
        """Return the resolved path, and the reason to ask the user, if any.

        Raise Refusal if an option forbids the access, or the path would crash Neovim.
        """
        where = place(path)
        if len(os.fsencode(where.real)) > PATH_BYTES:
            raise Refusal("failed", path, f"the path is longer than {PATH_BYTES} bytes")
        options, roots = self._options(), session.roots
        inside = below(where.real, roots)
        if inside is None and options.outside == "deny":
            raise Refusal("outside", path, "outside of the session's directories")
        why: Why | None = by_name(where, inside, verb, options)
        why = why or await guarded_by_link(where, roots, verb, options)
        if why is None and inside is None and options.outside == "ask":
            why = "outside"
        return where, why

    async def question(self, session: S, verb: Verb, where: Place, why: Why) -> None:
        """Ask the user. Raise Refusal if they do not allow it."""
        if not await self._ask(session, verb, where, why):
            what = f"the user did not allow to {verb} {_ABOUT[why]}"
            raise Refusal("denied", where.path, what)
        if place(where.path).real != where.real:
            raise Refusal(
                "failed", where.path, "no longer leads to the file that the user was asked about"
            )

    async def may_show(self, session: S, real: str) -> bool:
        """Return whether an answer may contain lines of the file without asking the user."""
        if not self.may_list(session, real):
            return False
        where = Place(real, real)
        return await guarded_by_link(where, session.roots, "read", self._options()) is None

    def may_list(self, session: S, real: str) -> bool:
        """Return whether an answer may name the file without asking the user.

        Only the path is checked.
        """
        options, inside = self._options(), below(real, session.roots)
        if inside is None and options.outside != "allow":
            return False
        return by_name(Place(real, real), inside, "read", options) is None
