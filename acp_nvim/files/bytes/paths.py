"""Paths: resolution, containment in directories, globs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.patterns import late
from acp_nvim.render.text import remote_path
from acp_nvim.session.calls.named_files import resolve
from acp_nvim.session.questions.globs import alternatives


class Place(msgspec.Struct, frozen=True):
    """A path as the agent spelled it, and the absolute path with symlinks resolved."""

    path: str
    real: str


def place(path: str) -> Place:
    """Resolve a path. The file need not exist. Raise Refusal if the path is not absolute."""
    if "\0" in path:
        raise Refusal("missing", path, "a path cannot contain a NUL character")
    if remote_path(path) is not None:
        raise Refusal("outside", path, "in no directory of agents.*.paths, so not on this machine")
    if not os.path.isabs(path):  # noqa: PTH117
        raise Refusal("relative", path, "not an absolute path")
    return Place(path, resolve(path))


def targets_past_links(paths: Iterable[str]) -> list[str]:
    """Return the targets of absolute paths in which a `..` follows a link.

    A program that normalizes such a path accesses another file.
    """
    pairs = ((resolve(path), os.path.normpath(path)) for path in paths if "\0" not in path)
    return [real for real, normal in pairs if real != resolve(normal)]


def below(real: str, roots: Sequence[str]) -> str | None:
    """Return a resolved path relative to the first root that contains it, or None if none does.

    The root itself gives `''`. If the spelling is not conclusive (a file system that folds case, a
    bind mount), the parent directories are compared with the roots by inode.
    """
    folded = os.path.normcase(real)
    for root in roots:
        stem = _stem(root)
        if folded == stem or folded.startswith(stem + os.sep):
            return real[len(stem) + 1 :]
    return _below_by_identity(Path(real), [stem for root in roots if (stem := _stem(root))])


def is_below(path: str, root: str) -> bool:
    """Return whether a real path is in a directory, judged by its spelling."""
    return path.startswith(root.rstrip(os.sep) + os.sep)


_stems: dict[str, str] = {}


def pin(roots: Iterable[str]) -> None:
    """Resolve roots for a new session, so no later symlink can redirect them."""
    for root in roots:
        _stems[root] = _resolve_root(root)


def _stem(root: str) -> str:
    """Return the real path of a root at the time it was pinned or first resolved."""
    if root not in _stems:
        pin([root])
    return _stems[root]


def _resolve_root(root: str) -> str:
    return os.path.normcase(os.path.realpath(root)).rstrip(os.sep)


def _below_by_identity(real: Path, stems: Sequence[str]) -> str | None:
    """Return a path relative to a root, compared by inode, or None.

    A root that a symlink has replaced contains nothing.
    """
    kept = (stem for stem in stems if _resolve_root(stem) == stem)
    wanted = {identity for stem in kept if (identity := _identity(Path(stem))) is not None}
    for parent in [real, *real.parents] if wanted else []:
        if _identity(parent) in wanted:
            return "" if parent == real else str(real.relative_to(parent))
    return None


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode, or None if the path cannot be examined."""
    try:
        stat = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL
        return None
    return stat.st_dev, stat.st_ino


def matches(place: Place, inside: str | None, globs: Sequence[str]) -> bool:
    """Return whether one of the globs matches the file.

    A glob without a slash matches any part of the path. One with a slash matches the whole path.
    `**` matches any number of parts, `{a,b}` matches either. An absolute glob, or one that begins
    with `~`, is compared with the absolute path. A glob that begins with `!` excludes files,
    whatever its position in the list.

    `inside` is the path below the session's directory, or None if it is outside. The name of the
    directory itself is not matched. Case is ignored. The spelled and the resolved path both count.
    """
    if not globs:
        return False
    named, spared = _compile_globs(tuple(globs))
    relative = real = place.real.replace(os.sep, "/")
    if inside is not None:
        relative = "/" + inside.replace(os.sep, "/")
    if named.match(relative, real) and not spared.match(relative, real):
        return True
    name = "/" + place.path.replace(os.sep, "/").rstrip("/").rpartition("/")[2]
    return not relative.endswith(name) and named.match(name) and not spared.match(name)


class _Patterns(msgspec.Struct, frozen=True):
    """One expression for all relative globs, and one for all absolute ones."""

    anywhere: re.Pattern[str] | None
    anchored: re.Pattern[str] | None

    def match(self, relative: str, real: str = "") -> bool:
        """Return whether the path below the directory, or the absolute one, matches."""
        if self.anywhere is not None and self.anywhere.fullmatch(relative):
            return True
        return self.anchored is not None and self.anchored.fullmatch(real) is not None


@lru_cache(maxsize=32)
def _compile_globs(globs: tuple[str, ...]) -> tuple[_Patterns, _Patterns]:
    """Return the patterns that include files, and those that exclude files."""
    written = [alternative for glob in globs for alternative in alternatives(glob)]
    named = [glob for glob in written if not glob.startswith("!")]
    return _patterns(named), _patterns([glob[1:] for glob in written if glob.startswith("!")])


def _patterns(globs: Sequence[str]) -> _Patterns:
    anywhere, anchored = [], []
    for glob in globs:
        expanded = os.path.expanduser(glob).replace(os.sep, "/")  # noqa: PTH111
        if expanded.startswith("/"):
            anchored.append(translate_glob(expanded[1:]))
        else:
            below_it = "" if "/" in glob else "(?:/.*)?"
            anywhere.append(translate_glob(expanded) + below_it)
    return _Patterns(_alternatives(anywhere, "(?:.*/)?"), _alternatives(anchored))


def _alternatives(patterns: list[str], before: str = "") -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile(f"/{before}(?:" + "|".join(patterns) + ")", re.IGNORECASE | re.DOTALL)


_TOKEN = late(r"(?<![^/])\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_FOLDERS: Final = {"**/": "(?:.*?/)??", "**": ".*?"}
"""Wildcards that match slashes."""


def _class(token: str) -> str:
    """Translate a character class. Escape an invalid one."""
    inner = re.sub(r"[\\\[&|~]|(?<=-)-", r"\\\g<0>", token[1:-1])
    written = "[" + ("^" + inner[1:] if inner.startswith("!") else inner) + "]"
    try:
        re.compile(written)
    except re.error:
        return re.escape(token)
    return written


def _plain(token: str) -> str:
    """Translate a token of a glob that is not a star: `?`, a class, or a character."""
    if token == "?":
        return "[^/]"
    return "(?!/)" + _class(token) if len(token) > 1 else re.escape(token)


def translate_glob(glob: str) -> str:
    """Translate a glob to a regular expression over a path with slashes.

    Agents write globs too, so no glob may take exponential time: the text after a wildcard is
    matched at its first occurrence without backtracking (`(?>…)`), except after the last
    wildcard.
    """
    spans = [("", [""])]  # a wildcard that matches slashes, and the texts between the `*` after it
    for token in _TOKEN.findall(glob):
        if token in _FOLDERS:
            spans.append((_FOLDERS[token], [""]))
        elif token == "*":
            spans[-1][1].append("")
        else:
            spans[-1][1][-1] += _plain(token)
    *before, (folders, (first, *rest)) = spans
    parts = [f"(?>{gap}{first}{_after_stars(more)})" for gap, (first, *more) in before]
    parts += [folders, first, _after_stars(rest[:-1]), *(f"[^/]*?{text}" for text in rest[-1:])]
    return "".join(parts)


def _after_stars(texts: Sequence[str]) -> str:
    """Return a pattern of the texts, each after a `*`."""
    return "".join(f"(?>[^/]*?{text})" for text in texts)
