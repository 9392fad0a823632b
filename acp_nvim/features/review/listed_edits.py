"""Pending edits as quickfix items, and as files of the review."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.pending import ParkedEdits, Pending
from acp_nvim.edits.text import Text
from acp_nvim.features.review import words
from acp_nvim.files.bytes import obstacles
from acp_nvim.host.review_view import MAX_MARKED, Table, note, summary


def quickfix(entry: Pending, titles: Sequence[str] = ()) -> list[Table]:
    """Return an item for each hunk (`:help setqflist-what`).

    `titles` are the titles of the hunks.

    A file that no longer exists or has a conflict gets one item.
    """
    if entry.is_conflict:
        text = words.PART_OVERTAKEN if entry.is_overtaken else words.PART_UNSAVED
        return [{"filename": entry.path, "lnum": 1, "text": text, "type": "W"}]
    if entry.live is None:
        instead = obstacles.describe(entry.path)
        text = f"deleted: {instead} is there now" if instead else "deleted"
        return [{"filename": entry.path, "lnum": 1, "text": text, "type": "I"}]
    hunks = entry.hunks[:MAX_MARKED]
    items = [
        _item(entry, *titled) for titled in zip(hunks, titles or [""] * len(hunks), strict=False)
    ]
    noted = note(entry)
    if noted or not items:
        empty = f"renamed from {entry.origin}" if entry.origin else "created, empty"
        text = noted or empty
        items.insert(0, {"filename": entry.path, "lnum": 1, "text": text, "type": "I"})
    return items


def _item(entry: Pending, hunk: Hunk, title: str) -> Table:
    removed = entry.removed_lines(hunk)
    shown = next((line.strip() for line in (*hunk.lines, *removed) if line.strip()), "")
    shown = f"{title} · {shown}" if title else shown
    text = f"+{len(hunk.lines)} -{len(removed)} {shown}".rstrip()
    item: Table = {"filename": entry.path, "lnum": hunk.new_start + 1, "text": text, "type": "I"}
    return item | {"end_lnum": hunk.new_end} if hunk.new_end > hunk.new_start + 1 else item


def parked_items(parked: ParkedEdits) -> list[Table]:
    """Return quickfix items for parked edits, which are not in the file."""
    named = words.PART_PARKED_ON.format(branch=parked.branch, text="{text}")
    line = named if parked.branch else words.PART_PARKED
    return [item | {"text": line.format(text=item["text"])} for item in quickfix(parked.entry)]


def review(entry: Pending, loaded: bool, titles: Sequence[str] = ()) -> Table:
    """Return the review's table for a file. Omit `live` if the file is loaded in a buffer."""
    table = summary(entry, titles)
    table["base"] = _lines(entry.base)
    table["base_eol"] = entry.base.eol if entry.base else True
    if not loaded:
        table["live"] = _lines(entry.live)
    if entry.is_conflict:
        table["theirs"] = _lines(entry.theirs)
    return table


def _lines(text: Text | None) -> list[str]:
    return list(text.lines) if text else []
