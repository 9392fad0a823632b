"""Pending edits in the form that Lua expects: rows of hunks, and entries of the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from acp_nvim import wording
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY
from acp_nvim.files.bytes import obstacles
from acp_nvim.files.ports import AgentSession
from acp_nvim.session.session import Session

Table = dict[str, Any]
MAX_MARKED: Final = 5000
"""Maximum number of hunks of one file that are marked and listed. A note counts the others."""
MAX_REMOVED: Final = 20_000
"""Maximum number of removed lines sent to Lua for one file.

Beyond it, at most `LEAST_REMOVED` lines are sent for each hunk.
"""
LEAST_REMOVED: Final = 100
"""Number of removed lines that are sent even for the last hunks of a file."""


class ReviewView:
    """Implementation of the workspace's port `View`: frames, and events of sessions."""

    def __init__(
        self,
        push: Callable[..., None],
        notice: Callable[[str], None],
        session: Callable[[int], Session],
        titles: Callable[[Pending], Sequence[str]],
    ) -> None:
        """`push` queues a frame operation. `notice` shows a message outside of any session.

        `session` returns a session by its number, `titles` the titles of hunks
        (`HostObservers.titles`).
        """
        self._push = push
        self._notice = notice
        self._session = session
        self._titles = titles

    def hunks(self, path: str, entry: Pending | None, tick: int | None) -> None:
        if entry is None:
            self._push("hunks", path, [], {"kind": "modified", "conflict": False})
        else:
            listed = rows(entry, self._titles(entry))
            self._push("hunks", path, listed, meta(entry, listed, tick))

    def pending(self, paths: Sequence[str]) -> None:
        self._push("pending", list(paths))

    def next_hunk(self, place: tuple[str, int] | None) -> None:
        self._push("next_hunk", *(place or ()))

    def summary(
        self, session: AgentSession, entries: Sequence[Pending], *, silent: bool = False
    ) -> None:
        edits = [summary(entry, self._titles(entry)) for entry in entries]
        self._session(session.n).set_edits(edits, silent=silent)

    def report_edit(
        self, session: AgentSession, path: str, kind: str, source: str, conflict: bool
    ) -> None:
        data = {"path": path, "kind": kind, "source": source, "conflict": conflict}
        self._session(session.n).event("AcpEdit", **data)

    def checkpoints(self, session: AgentSession, labels: Mapping[int, str]) -> None:
        listed = [{"n": n, "label": label} for n, label in labels.items()]
        self._session(session.n).set_checkpoints(listed)

    def warn(self, session: AgentSession, text: str) -> None:
        self._session(session.n).notice("warning", text)

    def inform(self, session: AgentSession, text: str) -> None:
        self._session(session.n).notice("info", text)

    def notice(self, text: str) -> None:
        self._notice(text)

    def echo(self, text: str) -> None:
        self._push("echo", "info", text)


def rows(entry: Pending, titles: Sequence[str] = ()) -> list[Table]:
    """Return the hunks for `acp.features.review.inline`, or none if the file no longer exists.

    `more` counts the removed lines that are left out. `titles` are the titles of the hunks, or
    empty.
    """
    if entry.live is None:
        return []
    tables: list[Table] = []
    left = MAX_REMOVED
    for at, hunk in enumerate(entry.hunks[:MAX_MARKED]):
        removed = entry.removed_lines(hunk)
        sent = removed[: max(left, LEAST_REMOVED)]
        left -= len(sent)
        kind = "changed" if removed and hunk.lines else "added" if hunk.lines else "removed"
        row = {"first": hunk.new_start, "last": hunk.new_end, "removed": list(sent), "kind": kind}
        row |= {"title": titles[at]} if titles and titles[at] else {}
        tables.append(row | {"more": len(removed) - len(sent)} if sent != removed else row)
    return tables


def note(entry: Pending) -> str:
    """Describe the changes that no line shows.

    These are line endings, a BOM, the final newline, or a directory or device in place of the file.
    """
    notes = [] if entry.is_named else [wording.PART_UNNAMED]
    notes += [entry.format_change] if entry.format_change else []
    if entry.live is None and (instead := obstacles.describe(entry.path)):
        notes.append(f"{instead} is there now")
    if entry.base and entry.live and entry.base.eol != entry.live.eol and entry.base != EMPTY:
        notes.append("final newline added" if entry.live.eol else "final newline removed")
    if (more := entry.summary.hunks - MAX_MARKED) > 0:
        notes.append(f"{more} more hunks, not marked")
    return ", ".join(notes)


def meta(entry: Pending, listed: Sequence[Table], tick: int | None) -> Table:
    """Return the properties of a file for the operation `hunks`.

    `tick` is the changedtick to which the rows belong. `partial` means that the base cannot be
    computed from the rows.
    """
    table: Table = {"kind": entry.kind, "conflict": entry.is_conflict}
    if noted := note(entry):
        table["note"] = noted
    if entry.summary.hunks > MAX_MARKED or any("more" in row for row in listed):
        table["partial"] = True
    return table if tick is None else table | {"tick": tick}


def summary(entry: Pending, titles: Sequence[str] = ()) -> Table:
    """Return an entry of `state().edits`. `titles` are the titles of the hunks, or empty."""
    counts = entry.summary
    noted = note(entry)
    extra: Table = {"note": noted} if noted else {}
    extra |= {"instructions": list(dict.fromkeys(filter(None, titles)))} if any(titles) else {}
    return extra | {
        "path": counts.path,
        "hunks": counts.hunks,
        "added": counts.added,
        "removed": counts.removed,
        "kind": counts.kind,
        "conflict": counts.conflict,
        "named": entry.is_named,
    }
