"""Steps that put the changed files of a worktree into the user's tree.

A change to a text becomes a pending edit. Any other change, such as one to a binary file, is copied
as a whole after a question, and only onto a file that the user has not changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.features.worktrees import words
from acp_nvim.features.worktrees.worktree_git import LINK, NESTED, PROGRAM, Change, File
from acp_nvim.files.bytes import disk, nofollow, obstacles
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Format,
    decode,
    describe_change,
    encodable,
    format_change,
)
from acp_nvim.files.bytes.guard import Globs, by_name
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal, one_line
from acp_nvim.files.writes.change_set import FileChange

_EXECUTE: Final = 0o111


class Step(msgspec.Struct, frozen=True):
    """Change to one file, with its path in the user's tree."""

    path: str
    change: Change
    text: FileChange | None = None
    """Change to the file's text, or None if the file is copied as a whole."""
    executable: bool | None = None
    """Whether the file becomes executable, or None if that does not change."""
    ends: Format | None = None
    """Line ends and BOM that the file gets with its new text, or None if these do not change."""
    questions: list[str] = []
    """Reasons to ask the user first."""
    is_guarded: bool = False
    """Whether no part of the change may land without an answer."""
    blocked: str = ""
    """Reason that the change cannot land, or an empty string."""

    def line(self) -> str:
        """Return the line of the question about this file."""
        return f"{one_line(self.change.path)}: {', '.join(self.questions)}"


def steps(changes: Iterable[Change], tree: str, globs: Globs) -> list[Step]:
    """Return the steps for a user's tree, removals first: a file may take the place of a folder.

    `globs` are the options of guarded files.
    """
    changes = sorted(changes, key=lambda change: change.after is not None)
    return [_step(change, os.path.join(tree, change.path), globs) for change in changes]  # noqa: PTH118


def _step(change: Change, path: str, globs: Globs) -> Step:
    """Return the step that lands a change, with its questions to the user."""
    before, after = change.before, change.after
    if any(file is not None and file.mode == NESTED for file in (before, after)):
        return Step(path, change, blocked=words.WHY_NESTED)
    if any(file is not None and file.is_unread for file in (before, after)):
        return Step(path, change, blocked=words.WHY_UNREAD)
    texts, whole = _texts(before, after)
    executable = _executable(before, after)
    questions = list(_guards(change, path, globs))
    is_guarded = bool(questions or whole)
    questions += [whole] if whole else []
    if executable is not None and before is not None:
        questions.append(words.PART_PROGRAM if executable else words.PART_NO_PROGRAM)
    if whole:
        return Step(path, change, None, executable, None, questions, is_guarded)
    text, ends = FileChange(path, *texts), None
    if before is not None and after is not None:
        formats = format_change(None, before.data, after.data)
        if formats is not None and formats.is_change:
            ends = formats.new
            questions.append(describe_change(formats.old, ends))
    return Step(path, change, text, executable, ends, questions, is_guarded)


def _texts(before: File | None, after: File | None) -> tuple[tuple[Text | None, Text | None], str]:
    """Return both texts, and the reason to copy the file as a whole, or an empty string."""
    if after is not None and after.mode == LINK:
        return (None, None), words.PART_LINK.format(target=one_line(os.fsdecode(after.data)))
    old, new = _text(before), _text(after)
    if (old is None) != (before is None) or (new is None) != (after is None):
        return (None, None), words.PART_BINARY if after is not None else words.PART_DELETED
    if new is not None and after is not None:
        if old is None and encodable(new, Format()) != after.data:
            return (None, None), words.PART_FORMAT
        if old == new and before is not None and before.data != after.data:
            return (None, None), words.PART_FORMAT
    return (old, new), ""


def _text(file: File | None) -> Text | None:
    """Return the text of a regular file in UTF-8, otherwise None."""
    if file is None or file.mode == LINK:
        return None
    try:
        file.data.decode()
        return decode(file.data).text
    except (UnicodeDecodeError, BinaryError):
        return None


def _executable(before: File | None, after: File | None) -> bool | None:
    if after is None or after.mode == LINK:
        return None
    was_executable = before is not None and before.mode == PROGRAM
    return None if was_executable == (after.mode == PROGRAM) else after.mode == PROGRAM


def _guards(change: Change, path: str, globs: Globs) -> Iterator[str]:
    guarded = by_name(Place(path, path), change.path, "write", globs)
    if guarded is not None:
        yield words.PART_EXECUTED if guarded == "executed" else words.PART_SECRET


# -- on disk: these functions block and raise Refusal --------------------------------------------


def clear_folder(path: str) -> None:
    """Remove a folder without files, which a file replaces."""
    if obstacles.describe(path) != "a folder":
        return
    try:
        obstacles.clear(path)
    except obstacles.Blocked as error:
        raise Refusal("conflict", path, str(error)) from error
    except OSError as error:
        raise Refusal("failed", path, error.strerror or str(error)) from error


def copy(step: Step) -> None:
    """Copy the whole file if the user's file is the same as before the change."""
    before, after, path = step.change.before, step.change.after, step.path
    try:
        present = _present(path)
        if _is_same(present, after):
            return
        if not _is_same(present, before):
            raise Refusal("conflict", path, words.WHY_DIFFERS)
        is_link = present is not None and present.mode == LINK
        if after is None or (is_link and after.mode != LINK):
            with nofollow.spot(path) as at:
                at.unlink()
        if after is not None and after.mode == LINK:
            nofollow.symlink(path, after.data)
        elif after is not None:
            disk.write(Place(path, path), after.data)
    except OSError as error:
        raise Refusal("failed", path, error.strerror or str(error)) from error


def set_executable(path: str, executable: bool) -> None:
    """Make a file executable for all who may read it, or remove all executable bits."""
    try:
        info = nofollow.info(path)
        if info is None:
            return
        mode = stat.S_IMODE(info.st_mode)
        mode = mode | (mode & 0o444) >> 2 if executable else mode & ~_EXECUTE
        nofollow.set_rights(path, Rights(mode, info.st_uid, info.st_gid))
    except OSError as error:
        raise Refusal("failed", path, error.strerror or str(error)) from error


def _present(path: str) -> File | None:
    """Return the current file. Raise OSError if it is neither a regular file nor a link."""
    info = nofollow.info(path)
    if info is None:
        return None
    if stat.S_ISLNK(info.st_mode):
        with nofollow.spot(path) as at:
            return File(LINK, "", os.fsencode(os.readlink(at.name, dir_fd=at.folder)))
    return File("", "", nofollow.read(path) or b"")


def _is_same(present: File | None, file: File | None) -> bool:
    """Return whether `present` has the kind and content of `file`, whatever the mode."""
    if present is None or file is None:
        return present is file
    return (present.mode == LINK) == (file.mode == LINK) and present.data == file.data
