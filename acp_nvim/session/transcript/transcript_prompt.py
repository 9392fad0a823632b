"""A transcript as the text that a new session is given, so that it can go on from there.

Each line that somebody has said is quoted by `> `: no text can pass for the words of another
speaker. What agents are told stands here, not among the words for users.
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
"""The most bytes of the text, if nothing else is asked for: some 25,000 tokens."""
_BEGINNING: Final = 4
"""One part of so many is kept of the beginning, which says what all is about; the rest is kept of
the end.
"""
_LINE: Final = 4000
"""The most characters of one line."""

_INTRODUCTION: Final = (
    "This session goes on from an earlier one whose context is lost. Below is what was said and "
    "done in it, oldest first; lines of user and assistant begin with `> `. Files may have changed "
    "since. Take it as the conversation so far: do nothing of it again, and answer the message of "
    "the user that it comes with."
)
_END: Final = "(End of the earlier session.)"
_CUT: Final = "[… {count} bytes of the earlier session are left out here …]"
_STATES: Final = {"pending": "never started", "in_progress": "not finished"}
_MARKS: Final = {"completed": "x", "in_progress": "~"}


def transcript_prompt(
    transcript: Iterable[Entry], *, before: int | None = None, limit: int = LIMIT
) -> str:
    """Return a transcript as the text for a new session, of at most `limit` bytes of UTF-8 and a
    few words around them; empty where nothing was said.

    `before`: only what stands before that prompt, 1 being the session's first one. Where the text
    is too long its middle is left out, which the text says. Thoughts and our own notices are no
    part of it, files that were attached only by their address.
    """
    entries = list(transcript)
    if before is not None:
        entries = entries[: prompt_start(entries, before)]
    lines = list(_lines(entries))
    if not lines:
        return ""
    return "\n".join([_INTRODUCTION, "", *_bounded(lines, limit), "", _END])


def prompt_start(entries: Sequence[Entry], n: int) -> int:
    """Return the index of the entry with which prompt n begins, 1 being the first; their number
    where there are fewer prompts.
    """
    starts = list(_prompts(entries))
    return starts[n - 1] if 0 < n <= len(starts) else len(entries) if n > 0 else 0


def latest_prompt(entries: Sequence[Entry]) -> int:
    """Return the number of the session's last prompt; 0 where there is none."""
    return sum(1 for _ in _prompts(entries))


def _prompts(entries: Sequence[Entry]) -> Iterator[int]:
    """The entries with which prompts begin. A prompt may stand in two messages, with nothing but
    notices between, where its attachments were found later.
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
    said = ""
    for entry in entries:
        speaker, lines = _entry(entry)
        if not lines:
            continue
        if speaker and speaker != said:
            yield from ("", f"{speaker}:", "")
        elif said and speaker:
            yield ">"
        elif said and not speaker:
            yield ""
        said = speaker
        yield from lines


def _entry(entry: Entry) -> tuple[str, list[str]]:
    """Who speaks, and the lines; no speaker for what was done."""
    match entry:
        case Message(role="user"):
            return entry.author or "User", _quoted(_text(entry.parts))
        case Message(role="agent"):
            return "Assistant", _quoted(_text(entry.parts))
        case Compaction():
            return "Summary by the assistant", _quoted(_text(entry.summary))
        case Past():
            return "What the chat showed before", _quoted("\n".join(entry.lines))
        case ToolEntry():
            return "", [_tool(entry)]
        case Subagent():
            return "", [_short(f"- [subagent] {entry.label}: {entry.stop_reason or entry.state}")]
        case PlanEntry():
            return "", [_step(step) for step in entry.entries]
        case _:
            return "", []


def _quoted(text: str) -> list[str]:
    """The lines of a text, whatever ends them, none of which can pass for one of ours."""
    return [_short(f"> {line}".rstrip()) for line in text.strip().splitlines()]


def _short(line: str) -> str:
    if len(line) <= _LINE:
        return line
    return f"{line[:_LINE]}… ({len(line) - _LINE} more characters)"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(parts: Iterable[Part]) -> str:
    return "".join(part if isinstance(part, str) else _block(part) for part in parts)


def _block(block: schema.ContentBlock) -> str:
    """What a block is; its text too where that is a state of the editor, which is nowhere else."""
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


def _tool(entry: ToolEntry) -> str:
    """One line: kind, title, files that the title does not name, and the outcome."""
    call = entry.call
    title = _one_line(call.own or call.title or call.name or call.id)
    others = [at.path for at in call.locations[:3] if at.path.rpartition("/")[2] not in title]
    files = f" ({', '.join(others)})" if others else ""
    return _short(f"- [{call.kind}] {title}{files}: {_outcome(entry)}")


def _outcome(entry: ToolEntry) -> str:
    call = entry.call
    outcome = _STATES.get(call.status, call.status)
    if call.status != "completed" and entry.decisions and entry.decisions[-1].refused:
        return "refused by the user"
    codes = [terminal.exit_code for terminal in entry.terminals.values() if terminal.exit_code]
    return f"{outcome}, exit code {codes[-1]}" if codes else outcome


def _step(step: schema.PlanEntry) -> str:
    return _short(f"- [plan] [{_MARKS.get(step.status, ' ')}] {_one_line(step.content)}")


# -- bounds ---------------------------------------------------------------------------------------


def _bounded(lines: list[str], limit: int) -> list[str]:
    """At most so many bytes of lines: those of the beginning and, more of them, of the end."""
    sizes = [len(line.encode("utf-8", "replace")) + 1 for line in lines]
    if sum(sizes) <= limit:
        return lines
    first = _fitting(sizes, limit // _BEGINNING)
    last = len(lines) - _fitting(sizes[first:][::-1], limit - sum(sizes[:first]))
    left_out = _CUT.format(count=sum(sizes[first:last]))
    speaker = _speaker(lines, last)
    return [*lines[:first], "", left_out, *speaker, *lines[last:]]


def _fitting(sizes: Sequence[int], room: int) -> int:
    """How many of the first lines fit into so many bytes."""
    used = 0
    for count, size in enumerate(sizes):
        used += size
        if used > room:
            return count
    return len(sizes)


def _speaker(lines: Sequence[str], at: int) -> list[str]:
    """Who goes on speaking in that line, for a message whose beginning is left out."""
    if at == len(lines) or not lines[at].startswith(">"):
        return [""]
    while lines[at].startswith(">"):
        at -= 1
    return ["", f"{lines[at - 1].removesuffix(':')}, going on:", ""]
