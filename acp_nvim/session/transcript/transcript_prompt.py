"""Transcript as text for a new session that continues it.

Each spoken line is quoted with `> `, so no text can imitate another speaker. Texts for agents are
here, not among the texts for users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from acp_nvim.protocol import schema
from acp_nvim.session.prompts import BUFFER_URI, VARIABLE_URI, block_name
from acp_nvim.session.transcript.entries import (
    Compaction,
    Entry,
    Line,
    Message,
    Part,
    Past,
    PlanEntry,
    Subagent,
    ToolEntry,
)

LIMIT: Final = 96 << 10
"""Default maximum size of the text in bytes: about 25,000 tokens."""
_BEGINNING: Final = 4
"""Fraction (1/n) of the kept text that is from the beginning, which states the subject.

The rest is from the end.
"""
_LINE: Final = 4000
"""Maximum number of characters in one line."""

_INTRODUCTION: Final = (
    "This session continues an earlier one whose context is lost. Below is what was said and done "
    "in it, oldest first; lines by the user and the assistant begin with `> `. Files may have "
    "changed since. Treat it as the conversation so far: do not repeat any of it, and answer the "
    "user's message that comes with it."
)
_END: Final = "(End of the earlier session.)"
_CUT: Final = "[… {count} bytes of the earlier session are left out here …]"
_STATES: Final = {"pending": "never started", "in_progress": "not finished"}
_MARKS: Final = {"completed": "x", "in_progress": "~"}


def transcript_prompt(
    transcript: Iterable[Entry], *, before: int | None = None, limit: int = LIMIT
) -> str:
    """Return a transcript as text for a new session, of about `limit` bytes of UTF-8.

    It is empty if there is nothing to quote. `before` limits it to the entries before that prompt,
    counted from 1. If the text is too long, its middle is left out, with a remark. Thoughts,
    notices and files of which only the address was attached are not included.
    """
    entries = list(transcript)
    if before is not None:
        entries = entries[: prompt_start(entries, before)]
    lines = list(_lines(entries))
    if not lines:
        return ""
    return "\n".join([_INTRODUCTION, "", *_cut_lines(lines, limit), "", _END])


def prompt_start(entries: Sequence[Entry], n: int) -> int:
    """Return the index of the entry that begins prompt n, from 1.

    It is the number of entries if there are fewer prompts.
    """
    starts = list(_prompts(entries))
    return starts[n - 1] if 0 < n <= len(starts) else len(entries) if n > 0 else 0


def latest_prompt(entries: Sequence[Entry]) -> int:
    """Return the number of the session's last prompt, or 0."""
    return sum(1 for _ in _prompts(entries))


def _prompts(entries: Sequence[Entry]) -> Iterator[int]:
    """Yield the indexes of the entries that begin prompts.

    A prompt may span two messages, with only notices between, if its attachments were resolved
    late.
    """
    before: Message | None = None
    for index, entry in enumerate(entries):
        if isinstance(entry, Message) and entry.role == "user" and entry.author is None:
            if before is None or before.message_id != entry.message_id:
                yield index
            before = entry
        elif not isinstance(entry, Line):
            before = None


# -- entries as lines -----------------------------------------------------------------------------


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    last_speaker = ""
    for entry in entries:
        speaker, lines = _entry(entry)
        if not lines:
            continue
        if speaker and speaker != last_speaker:
            yield from ("", f"{speaker}:", "")
        elif last_speaker and speaker:
            yield ">"
        elif last_speaker and not speaker:
            yield ""
        last_speaker = speaker
        yield from lines


def _entry(entry: Entry) -> tuple[str, list[str]]:
    """Return the speaker and the lines. Actions have no speaker."""
    match entry:
        case Message(role="user"):
            return entry.author or "User", _quote_lines(_text(entry.parts))
        case Message(role="agent"):
            return "Assistant", _quote_lines(_text(entry.parts))
        case Compaction():
            return "Summary by the assistant", _quote_lines(_text(entry.summary))
        case Past():
            return "What the chat showed before", _quote_lines("\n".join(entry.lines))
        case ToolEntry():
            return "", [_call_line(entry)]
        case Subagent():
            return "", [
                _cut_line(f"- [subagent] {entry.label}: {entry.stop_reason or entry.state}")
            ]
        case PlanEntry():
            return "", [_plan_line(step) for step in entry.entries]
        case _:
            return "", []


def _quote_lines(text: str) -> list[str]:
    """Quote the lines of a text. All line separators count, so no line can imitate a heading."""
    return [_cut_line(f"> {line}".rstrip()) for line in text.strip().splitlines()]


def _cut_line(line: str) -> str:
    if len(line) <= _LINE:
        return line
    return f"{line[:_LINE]}… ({len(line) - _LINE} more characters)"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(parts: Iterable[Part]) -> str:
    return "".join(part if isinstance(part, str) else _block(part) for part in parts)


def _block(block: schema.ContentBlock) -> str:
    """Return a description of a block.

    The text of variables and buffers is included, because no file has it.
    """
    match block:
        case schema.ResourceLink():
            return f"\n[attached: {block.uri}]\n"
        case schema.EmbeddedResource(resource=schema.TextResourceContents() as contents):
            if not contents.uri.startswith((VARIABLE_URI, BUFFER_URI)):
                return f"\n[attached: {contents.uri}]\n"
            return f"\n[attached: {contents.uri.rpartition('/')[2]}]\n{contents.text}\n"
        case schema.EmbeddedResource(resource=schema.BlobResourceContents() as contents):
            return f"\n[attached: {contents.uri}]\n"
        case schema.TextContent():
            return block.text
        case _:
            return f"\n[{block_name(block)}]\n"


def _call_line(entry: ToolEntry) -> str:
    """Return one line: kind, title, files that the title does not name, and the outcome."""
    call = entry.call
    title = _one_line(call.own or call.title or call.name or call.id)
    others = [at.path for at in call.locations[:3] if at.path.rpartition("/")[2] not in title]
    files = f" ({', '.join(others)})" if others else ""
    return _cut_line(f"- [{call.kind}] {title}{files}: {_outcome(entry)}")


def _outcome(entry: ToolEntry) -> str:
    call = entry.call
    outcome = _STATES.get(call.status, call.status)
    if call.status != "completed" and entry.decisions and entry.decisions[-1].is_refused:
        reason = _one_line(entry.decisions[-1].reason)
        return f"refused by the user: {reason}" if reason else "refused by the user"
    codes = [terminal.exit_code for terminal in entry.terminals.values() if terminal.exit_code]
    return f"{outcome}, exit code {codes[-1]}" if codes else outcome


def _plan_line(step: schema.PlanEntry) -> str:
    return _cut_line(f"- [plan] [{_MARKS.get(step.status, ' ')}] {_one_line(step.content)}")


# -- bounds ---------------------------------------------------------------------------------------


def _cut_lines(lines: list[str], limit: int) -> list[str]:
    """Return lines of at most `limit` bytes: some from the beginning, most from the end."""
    sizes = [len(line.encode("utf-8", "replace")) + 1 for line in lines]
    if sum(sizes) <= limit:
        return lines
    first = _count_fitting(sizes, limit // _BEGINNING)
    last = len(lines) - _count_fitting(sizes[first:][::-1], limit - sum(sizes[:first]))
    left_out = _CUT.format(count=sum(sizes[first:last]))
    speaker = _speaker(lines, last)
    return [*lines[:first], "", left_out, *speaker, *lines[last:]]


def _count_fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first lines fit into `room` bytes."""
    used = 0
    for count, size in enumerate(sizes):
        used += size
        if used > room:
            return count
    return len(sizes)


def _speaker(lines: Sequence[str], at: int) -> list[str]:
    """Return a heading with the speaker of a line whose message begins in the part left out."""
    if at == len(lines) or not lines[at].startswith(">"):
        return [""]
    while lines[at].startswith(">"):
        at -= 1
    return ["", f"{lines[at - 1].removesuffix(':')}, going on:", ""]
