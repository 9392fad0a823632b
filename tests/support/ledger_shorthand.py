"""Ledgers and texts in shorthand: `ledger("abc", "aXc")` has one pending hunk in `/f`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text, from_lines

if TYPE_CHECKING:
    from acp_nvim.edits.pending import Pending, Restoration


def text(lines: str, eol: bool = True) -> Text:
    """One letter, one line."""
    return from_lines(lines, eol)


def ledger(before: str | None, after: str) -> Ledger:
    """The agent wrote /f."""
    made = Ledger()
    made.agent_wrote("/f", None if before is None else text(before), text(after))
    return made


def entry(found: Ledger, path: str = "/f") -> Pending:
    pending = found.get(path)
    assert pending is not None
    return pending


def base(found: Ledger, path: str = "/f") -> str | None:
    kept = entry(found, path).base
    return None if kept is None else "".join(kept.lines)


def accept_all(found: Ledger, session: int | None = None) -> list[Restoration]:
    """The user keeps everything, or all files that a session wrote to."""
    return [step for pending in found.files(session) for step in found.accept(pending.path)]


def reject_all(found: Ledger, session: int | None = None) -> list[Restoration]:
    """The user rejects everything, or all files that a session wrote to, in one go."""
    return found.reject_files([pending.path for pending in found.files(session)])
