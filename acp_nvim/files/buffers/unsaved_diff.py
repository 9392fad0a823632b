"""Unsaved text as diffs, for agents that read files on disk. Each change is sent once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from acp_nvim.edits import unified
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes import disk, guard, key_files
from acp_nvim.files.bytes.file_format import FILEENCODINGS, FILEFORMATS, clean
from acp_nvim.files.bytes.paths import Place, below, place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.ports import FileOptions

LARGEST: Final = 100_000
"""Maximum number of characters of a file's diff.

If it is longer, only the name of the file is sent.
"""


class SentText(msgspec.Struct, frozen=True):
    """State of a file as sent to an agent: its unsaved text, and the text on disk at that time."""

    text: Text
    saved: Text


class UnsavedFile(msgspec.Struct, frozen=True):
    """A file whose unsaved text the agent does not know."""

    path: str
    name: str
    """Path relative to the session's directory."""
    patch: str
    sent: SentText | None
    """Knowledge of the agent after this is sent; None if the file is again as on disk."""


def unsaved_files(
    texts: Mapping[str, Text],
    told: Mapping[str, SentText],
    cwd: str,
    roots: Sequence[str],
    options: FileOptions,
) -> list[UnsavedFile]:
    """Return the changes of unsaved ``texts`` (by path) to send to an agent that knows ``told``.

    Leave out secrets, and files outside of the session's directories. This call blocks.
    """
    found: list[UnsavedFile] = []
    for where in _places(texts, roots, options):
        text = clean(texts[where.path])
        saved = _text_on_disk(where, options)
        if saved is None or key_files.is_secret(where, text, str(text), whole=True):
            continue
        before = told.get(where.path)
        known = before.text if before is not None and before.saved == saved else saved
        found += _file(where, cwd, known, text, SentText(text, saved))
    for path in told.keys() - texts.keys():
        saved = _text_on_disk(place(path), options)
        if saved is not None:
            found += _file(place(path), cwd, told[path].text, saved, None)
    return found


def _places(
    texts: Mapping[str, Text], roots: Sequence[str], options: FileOptions
) -> Iterator[Place]:
    for path in sorted(texts):
        with suppress(Refusal):
            where = place(path)
            inside = below(where.real, roots)
            if inside is not None and guard.by_name(where, inside, "read", options) is None:
                yield where


def _text_on_disk(where: Place, options: FileOptions) -> Text | None:
    """Return the text on disk, empty if there is no file; None if the file is not text."""
    try:
        stored = disk.read_decoded(where, options.message_bytes, FILEENCODINGS, FILEFORMATS)
    except Refusal:
        return None
    return EMPTY if stored is None else stored.text


def _file(
    where: Place, cwd: str, known: Text, text: Text, told: SentText | None
) -> Iterator[UnsavedFile]:
    inside = below(where.real, [cwd]) is not None
    name = os.path.relpath(where.real, os.path.realpath(cwd)) if inside else where.real
    patch = unified.patch(name, known, text)
    if len(patch) > LARGEST:
        patch = f"{name}: changed, too long to show ({len(text.lines)} lines)\n"
    if patch or told is None:
        yield UnsavedFile(where.path, name, patch, told)
