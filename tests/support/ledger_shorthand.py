"""Ledgers and texts in shorthand: `ledger("abc", "aXc")` has one pending hunk in `/f`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text, from_lines

if TYPE_CHECKING:
    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.pending import Pending, Restoration, Summary


def text(lines: str, eol: bool = True) -> Text:
    """Return a text with one letter per line."""
    return from_lines(lines, eol)


def ledger(before: str | None, after: str) -> Ledger:
    """Return a ledger in which the agent wrote /f."""
    made = Ledger()
    made.record_agent_write("/f", None if before is None else text(before), text(after))
    return made


def entry(found: Ledger, path: str = "/f") -> Pending:
    pending = found.get(path)
    assert pending is not None
    return pending


def base(found: Ledger, path: str = "/f") -> str | None:
    before = entry(found, path).base
    return None if before is None else "".join(before.lines)


def accept_all(found: Ledger, session: int | None = None) -> list[Restoration]:
    """Accept everything, or all files that a session wrote to."""
    return [step for pending in found.files(session) for step in found.accept(pending.path)]


def reject_all(found: Ledger, session: int | None = None) -> list[Restoration]:
    """Reject everything, or all files that a session wrote to, in one step."""
    return found.reject_files([pending.path for pending in found.files(session)])


def summary_of(found: Ledger, session: int | None = None) -> list[Summary]:
    """Return the counts of all entries, or of those that a session wrote to."""
    return [pending.summary for pending in found.files(session)]


def hunks_of(found: Ledger, path: str) -> list[Hunk]:
    """Return the file's pending hunks in ascending order of rows."""
    pending = found.get(path)
    return pending.hunks if pending else []


def hunk_at(found: Ledger, path: str, row: int) -> Hunk | None:
    """Return the pending hunk at a 0-based row of the live text."""
    pending = found.get(path)
    return pending.hunk_at(row) if pending else None
