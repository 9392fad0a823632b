"""Parser of patches that agents send instead of texts. `patch_apply` applies them.

There are two formats: unified diffs (also git's, by unidiff), and the envelope of Codex's
`apply_patch` tool (`*** Begin Patch`), whose hunks have no line numbers. Models often miscount the
lines of a unified diff, so wrong counts are corrected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from acp_nvim.patterns import late

if TYPE_CHECKING:
    from unidiff.patch import Hunk as UnifiedHunk
    from unidiff.patch import PatchedFile

Kind = Literal["created", "deleted", "modified", "moved", "copied"]

_ENVELOPE: Final = late(r"^[^\S\n]*\*\*\* Begin Patch\s*$", re.MULTILINE)
_HUNK_HEADER: Final = late(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|^@@(?: |$)")
_FILE_HEADER: Final = late(r"^(?:diff --git |\*\*\* Begin Patch|--- [^\n]*\n\+\+\+ )", re.MULTILINE)
_HUNK_NUMBERS: Final = late(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_OCTAL: Final = late(rb"\\([0-7]{3}|.)")
_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f"}
_MAX_QUOTED: Final = 40
"""Maximum number of characters of a line quoted in a message."""
_FRAME: Final = late(
    r"diff --git |index [0-9a-f]|(?:dis)?similarity index |(?:rename|copy) (?:from|to) |Index: |=+$"
    r"|(?:new|deleted) file mode 100644$|--- |\+\+\+ |@@|\\ "
    r"|\s*\*\*\* (?:Begin Patch|End Patch|End of File|Move to:|(?:Add|Update|Delete) File:)"
)
"""Lines that are not part of a file's text. `FilePatch` represents them."""
_NAMED: Final = late(r"(?:--- |\+\+\+ |(?:rename|copy) (?:from|to) |Index: )(.+)")
"""Frame lines that name a file."""
_MAY_NAME_FILES: Final = late(r"^(?:diff --git |\+\+\+ )", re.MULTILINE)
_FILE_LINE: Final = late(
    r"^(?:[^\S\n]*\*\*\* (?:(?:Add|Update|Delete) File|Move to):"
    r"|(?:rename|copy) (?:from|to) |Index: )(?P<name>.+)"
    r"|^(?:---|\+\+\+) (?P<side>[^\t\n]+)|^diff --git (?P<both>.+)",
    re.MULTILINE,
)
"""Lines that name a file, wherever they are in a patch."""
_QUOTED_NAME: Final = late(r'"(?:[^"\\]|\\.)*"')
_NOTE: Final = late(r"(?:old|new|new file|deleted file) mode |Binary files? |GIT binary patch")
"""Header lines that become `FilePatch.notes`."""
MAX_LENGTH: Final = 1 << 17
"""Maximum number of characters in a patch for `parse_complete`."""


class PatchError(ValueError):
    """Failure to read a text as a patch. The message is the reason in one line."""


class PatchHunk(msgspec.Struct, frozen=True, dict=True):
    """Replacement of the lines `old`, including context, with `new`."""

    lines: tuple[str, ...]
    """Lines with their sign: blank, `-` or `+`."""
    row: int | None = None
    """0-based row of `old` in the text before, or None if the patch does not have it."""
    anchors: tuple[str, ...] = ()
    """Lines above `old`, in order (`@@ class A` in an envelope)."""
    is_at_end: bool = False
    """Whether `old` is at the end of the file."""
    old_eol: bool = True
    """False if `old` ends the file without a newline."""
    new_eol: bool = True
    """False if `new` ends the file without a newline."""

    @cached_property
    def old(self) -> tuple[str, ...]:
        """Return the lines before the change."""
        return tuple(line[1:] for line in self.lines if line[0] != "+")

    @cached_property
    def new(self) -> tuple[str, ...]:
        """Return the lines after the change."""
        return tuple(line[1:] for line in self.lines if line[0] != "-")


class FilePatch(msgspec.Struct, frozen=True):
    """Change that a patch makes to one file. Paths are as in the patch."""

    kind: Kind
    path: str
    """The new path or, for a deletion, the old one."""
    origin: str | None = None
    """The file that is moved or copied."""
    hunks: tuple[PatchHunk, ...] = ()
    is_binary: bool = False
    """Whether the contents are binary, so the patch cannot be applied."""
    may_replace: bool = False
    """Whether a created file may replace an existing one."""
    notes: tuple[str, ...] = ()
    """Header lines about modes and binary contents."""

    def count(self, sign: str) -> int:
        """Return the number of added (`+`) or removed (`-`) lines."""
        return sum(line[0] == sign for hunk in self.hunks for line in hunk.lines)


@lru_cache(maxsize=32)
def parse_complete(text: str, path: str | None = None) -> tuple[FilePatch, ...] | None:
    """Return the result of `parse_patch`, or None if that would omit a line of the text."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        patches = parse_patch(text, path)
    except PatchError:
        return None
    return tuple(patches) if _is_complete(text, patches) else None


def named_files(text: str) -> list[str]:
    """Return the distinct files that a patch may name, even if it cannot be parsed.

    A text that is not a patch names none. Prefixes as in `a/file` are removed. If not all names
    have one, the names with their prefixes are returned too.
    """
    if "*** Begin Patch" not in text and not _MAY_NAME_FILES.search(text):
        return []
    names: list[str | None] = []
    sides: list[str] = []
    for line in _FILE_LINE.finditer(text):
        if line["name"]:
            names.append(_header_path(line["name"]))
        else:
            written = [line["side"]] if line["side"] else _names_in_git_header(line["both"])
            found = [name for name in map(_header_path, written) if name]
            names += [re.sub("^[ab]/", "", name) for name in found]
            sides += found
    if not all(side.startswith(("a/", "b/")) for side in sides):
        names += sides
    return list(dict.fromkeys(name for name in names if name))


def _names_in_git_header(line: str) -> Iterator[str]:
    """Yield the possible names of a `diff --git` line, whose separator may be part of a name."""
    yield from (quoted[0] for quoted in _QUOTED_NAME.finditer(line))
    if " b/" not in line:
        yield from (line[: len(line) // 2], line[(len(line) + 1) // 2 :])
        return
    for before, _, after in (line.partition(" b/"), line.rpartition(" b/")):
        yield from (before, f"b/{after}")


def parse_patch(text: str, path: str | None = None) -> list[FilePatch]:
    """Parse a patch. Raise PatchError.

    `path` is the file of a diff without a header.
    """
    if _ENVELOPE.search(text):
        return _parse_envelope(text)
    if path is not None and not has_file_header(text):
        patches = _parse_unified(f"--- a/file\n+++ b/file\n{text}")
        return [msgspec.structs.replace(patch, path=path) for patch in patches]
    return _parse_unified(text)


def _is_complete(text: str, patches: Iterable[FilePatch]) -> bool:
    """Return whether the parsed patches represent every line of a text."""
    counts = Counter(line for patch in patches for hunk in patch.hunks for line in hunk.lines)
    counts.update(note for patch in patches for note in patch.notes)
    names = {name for patch in patches for name in (patch.path, patch.origin)}
    for line in text.split("\n"):
        if counts[line] > 0:
            counts[line] -= 1
        elif line.strip() and not _is_frame(line.rstrip(), names):
            return False
    return True


def _is_frame(line: str, names: set[str | None]) -> bool:
    named = _NAMED.match(line)
    return bool(_FRAME.match(line)) and (not named or not names.isdisjoint(_spellings(named[1])))


def _spellings(written: str) -> set[str | None]:
    """Return the file that a header line names, with and without its prefix."""
    name = _header_path(written.partition("\t")[0])
    bare = name[2:] if name and name.startswith(("a/", "b/")) else name
    return {name, bare} if name is not None else {None}


# Unified diffs


def has_file_header(text: str) -> bool:
    """Return whether a patch names its files."""
    return bool(_FILE_HEADER.search(text))


def _parse_unified(text: str) -> list[FilePatch]:
    # Imported here: most sessions never see a patch.
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    ended = text if text.endswith("\n") else f"{text}\n"
    try:
        files = PatchSet(ended)
    except UnidiffParseError:
        files = None
    if not files or not _is_read_completely(ended, files):
        try:
            files = PatchSet(_recount(ended))
        except UnidiffParseError as error:
            raise PatchError(" ".join(str(error).split())) from error
    if not files:
        raise PatchError("it contains no diff")
    return [_unified_file(file) for file in files]


def _is_read_completely(text: str, files: Iterable[PatchedFile]) -> bool:
    """Return whether all hunks were read completely. Counts that are too small end a hunk early."""
    heads = sum(bool(_HUNK_HEADER.match(line)) for line in text.split("\n"))
    if heads != sum(len(file) for file in files):
        return False
    return not any(info.startswith(("+", "-")) for file in files for info in _stray_lines(file))


def _stray_lines(file: PatchedFile) -> Iterator[str]:
    heads = ("--- ", "+++ ")
    yield from (line for line in file.patch_info or () if not line.startswith(heads))


def _recount(text: str) -> str:
    """Recount the lines in the hunk headers of a diff, and add counts to headers without any."""
    lines = text.split("\n")
    heads = [n for n, line in enumerate(lines) if _HUNK_HEADER.match(line)]
    for head, following in pairwise([*heads, len(lines) - 1]):
        end = _body_end(lines, head + 1, following)
        old = sum(line[:1] in ("", " ", "-") for line in lines[head + 1 : end])
        new = sum(line[:1] in ("", " ", "+") for line in lines[head + 1 : end])
        numbers = _HUNK_NUMBERS.match(lines[head])
        rows = numbers.group(1, 2) if numbers else ("1", "1")
        rest = numbers.group(3) if numbers else ""
        lines[head] = f"@@ -{rows[0]},{old} +{rows[1]},{new} @@{rest}"
    return "\n".join(lines)


def _body_end(lines: Sequence[str], start: int, following: int) -> int:
    """Return the row after the last line of a hunk's body."""
    end = start
    while end < following and lines[end][:1] in ("", " ", "+", "-", "\\"):
        new_file = lines[end].startswith("--- ") and lines[end + 1 : end + 2]
        if new_file and new_file[0].startswith("+++ "):
            break
        end += 1
    while end > start and not lines[end - 1]:
        end -= 1  # blank lines between files, and after the last one
    return end


def _unified_file(file: PatchedFile) -> FilePatch:
    old, new = _header_path(file.source_file), _header_path(file.target_file)
    if _has_prefix(old, "a/") and _has_prefix(new, "b/"):
        old, new = old and old[2:], new and new[2:]
    hunks = tuple(_unified_hunk(hunk) for hunk in file)
    info = [line.rstrip("\n") for line in file.patch_info or ()]
    if old is None:
        kind: Kind = "created"
    elif new is None:
        kind = "deleted"
    elif old != new:
        kind = "copied" if any(line.startswith("copy from ") for line in info) else "moved"
    else:
        kind = "modified"
    origin = old if kind in ("moved", "copied") else None
    path = (old if kind == "deleted" else new) or ""
    notes = tuple(line for line in info if _NOTE.match(line) and not _FRAME.match(line))
    return FilePatch(kind, path, origin, hunks, file.is_binary_file, notes=notes)


def _has_prefix(name: str | None, prefix: str) -> bool:
    return name is None or name.startswith(prefix)


def _header_path(written: str) -> str | None:
    """Return the path in a header, or None for `/dev/null`."""
    name = written.strip()
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        name = _unquote(name[1:-1])
    return None if name == "/dev/null" else name


def _unquote(name: str) -> str:
    """Return a path without git's quoting, which follows the rules of C strings."""

    def byte(match: re.Match[bytes]) -> bytes:
        escaped = match.group(1)
        return (
            bytes([int(escaped, 8) & 0xFF]) if len(escaped) == 3 else _ESCAPES.get(escaped, escaped)
        )

    return _OCTAL.sub(byte, name.encode()).decode("utf-8", "surrogateescape")


def _unified_hunk(hunk: UnifiedHunk) -> PatchHunk:
    """Convert a hunk of a unified diff.

    A line with a backslash marks the line above it, old or new or both, as one without a newline.
    """
    lines: list[str] = []
    has_eol = {"-": True, "+": True}
    for line in hunk:
        if line.line_type == "\\":
            last = lines[-1][0] if lines else ""
            has_eol.update(dict.fromkeys("-+" if last == " " else last, False))
        elif line.line_type:
            lines.append(f"{line.line_type}{line.value}".removesuffix("\n"))
    row = hunk.source_start - any(line[0] != "+" for line in lines)
    return PatchHunk(tuple(lines), max(row, 0), old_eol=has_eol["-"], new_eol=has_eol["+"])


# The envelope of `apply_patch`


def _parse_envelope(text: str) -> list[FilePatch]:
    lines = iter(_lines_of_envelope(text))
    patches: list[FilePatch] = []
    line = next(lines, None)
    while line is not None:
        word, _, path = line.partition(":")
        path = path.strip()
        body: list[str] = []
        following = next(lines, None)
        while following is not None and not _is_file_start(following):
            body.append(following)
            following = next(lines, None)
        patches.append(_file_patch(word, path, body))
        line = following
    if not patches:
        raise PatchError("the patch names no file")
    return patches


def _lines_of_envelope(text: str) -> list[str]:
    """Return the lines between `*** Begin Patch` and `*** End Patch`, from the first file on."""
    begin = _ENVELOPE.search(text)
    assert begin is not None
    lines = text[begin.end() :].split("\n")[1:]
    ends = [n for n, line in enumerate(lines) if line.strip() == "*** End Patch"]
    lines = lines[: ends[0]] if ends else lines
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    if lines and not _is_file_start(lines[0]):
        raise PatchError(f"no file is named before: {quote_line(lines[0])}")
    return lines


def _is_file_start(line: str) -> bool:
    return line.startswith(("*** Add File:", "*** Update File:", "*** Delete File:"))


def _file_patch(word: str, path: str, body: list[str]) -> FilePatch:
    if not path:
        raise PatchError("a file of the patch has no name")
    match word:
        case "*** Add File":
            lines = tuple(line for line in body if line.startswith("+"))
            hunks = (PatchHunk(lines, 0),) if lines else ()
            return FilePatch("created", path, hunks=hunks, may_replace=True)
        case "*** Delete File":
            return FilePatch("deleted", path)
    if body and body[0].startswith("*** Move to:"):
        target = body[0].partition(":")[2].strip()
        return FilePatch("moved", target, path, _envelope_hunks(body[1:]))
    return FilePatch("modified", path, hunks=_envelope_hunks(body))


def _envelope_hunks(body: Sequence[str]) -> tuple[PatchHunk, ...]:
    """Return the hunks of a file. Each begins with `@@`, which is optional for the first."""
    hunks: list[PatchHunk] = []
    anchors: list[str] = []
    rows: list[str] = []
    is_at_end = False

    def finish() -> None:
        nonlocal rows, anchors, is_at_end
        if rows:
            hunks.append(PatchHunk(tuple(rows), anchors=tuple(anchors), is_at_end=is_at_end))
            rows, anchors, is_at_end = [], [], False

    for line in body:
        if line.startswith("@@"):
            finish()
            if anchor := line[2:].removesuffix("@@").strip():
                anchors.append(anchor)
        elif line.strip() == "*** End of File":
            is_at_end = True
            finish()
        elif line[:1] in ("", " ", "+", "-"):
            rows.append(line or " ")
        else:
            raise PatchError(f"neither context nor change: {quote_line(line)}")
    finish()
    return tuple(hunks)


def quote_line(line: str) -> str:
    """Quote a line for a message. Cut it if it is long."""
    short = line.strip()
    return repr(short if len(short) <= _MAX_QUOTED else short[: _MAX_QUOTED - 1] + "…")
