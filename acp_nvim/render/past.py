"""What was said in one session, for the chat of another that goes on from there."""

from __future__ import annotations

from acp_nvim.render import tools
from acp_nvim.render.margin import draw_entry
from acp_nvim.session.entries import Entry, Heading, Line, Message, Past, Question, ToolEntry
from acp_nvim.session.session import Session


def before(session: Session, look: tools.Look) -> list[Entry]:
    """Return what stands in its transcript, without a turn that runs: words as they are, all else
    as the rows it has in the chat, for what it leads to is another session's.
    """
    entries = _ended(session)
    return [_copied(entry, look) for entry in entries if not isinstance(entry, Question)]


def _ended(session: Session) -> list[Entry]:
    entries = session.transcript.entries
    if session.status not in ("running", "cancelling"):
        return list(entries)
    turns = (at for at in range(len(entries) - 1, -1, -1) if _is_prompt(entries[at]))
    return list(entries[: next(turns, 0)])


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role == "user"


def _copied(entry: Entry, look: tools.Look) -> Entry:
    if isinstance(entry, Message | Heading | Line | Past):
        return entry
    if isinstance(entry, ToolEntry):
        rows = tools.draw(entry, look)
    else:
        rows = draw_entry(entry, look.tool_lines, look.cwd)
    return Past([text for text, _, _ in rows])
