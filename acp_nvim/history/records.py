"""Conversion between entries of a transcript and records.

A record is JSON without names: the number of a struct below, followed by its fields. Numbers and
the order of fields never change. A new field is added at the end with a default, so that records of
older versions can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from acp_nvim.protocol import schema, text, updates
from acp_nvim.protocol.unions import read_untagged
from acp_nvim.render.calls.tools import differs_from_answer
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Launch, Terminal
from acp_nvim.session.questions.decisions import Decision, Option, Outcome
from acp_nvim.session.transcript import entries
from acp_nvim.session.transcript.entries import Entry, Part

_Part = str | schema.ContentBlock
_CallItem = schema.ToolCallContent | updates.FileChanges


class Record(Struct, array_like=True, frozen=True, gc=False):
    """Base of the records. No record refers to itself."""


class MessageRecord(Record, tag=1, frozen=True):
    """Message without its content, which grows and is stored separately as a list of parts."""

    role: str
    message_id: str | None
    author: str | None
    sent: float | None
    prompt: int | None = None


class Heading(Record, tag=2, frozen=True):
    """Name of the agent."""

    name: str


class CallSnapshot(Record, frozen=True):
    """Tool call at the time of the user's answer."""

    title: str
    name: str | None
    kind: str
    content: Sequence[_CallItem]
    locations: Sequence[schema.ToolCallLocation]
    raw_input: Any
    meta: dict[str, Any] | None
    own: str


class DecisionRecord(Record, frozen=True):
    """Question and its outcome. An open question has no `kind`."""

    id: str
    subject: str
    title: str
    request_kind: str | None
    options: list[tuple[str, str, str]]
    details: list[str]
    problems: list[str]
    kind: str | None
    option: tuple[str, str, str] | None
    content: dict[str, Any] | None
    by: str
    agent: str
    completed: bool
    guarded: dict[str, str]
    form: schema.ElicitationFormMode | schema.ElicitationUrlMode | None = None
    asked: CallSnapshot | None = None
    """The call at the time of the answer, or None if it is unchanged since."""
    covers: Sequence[CallSnapshot] = ()
    """Open calls that the answer may have allowed."""
    reason: str = ""
    """Reason that the user gave with the answer."""


class TerminalRecord(Record, frozen=True):
    """Terminal: its launch, the last lines of its output, its exit."""

    id: str
    command: str
    cwd: str | None
    env: list[tuple[str, str]]
    ours: bool
    running: bool
    exit_code: int | None
    signal: str | None
    lines: list[str]
    count: int


class Call(Record, tag=3, frozen=True):
    """Tool call with its questions and terminals."""

    id: str
    title: str
    name: str | None
    kind: str
    status: str
    content: Sequence[_CallItem]
    locations: Sequence[schema.ToolCallLocation]
    raw_input: Any
    raw_output: Any
    meta: dict[str, Any] | None
    own: str
    user_tool: str
    assumed: bool
    shown_by: str
    """Id of the call of an editor's tool that is shown instead, or an empty text."""
    decisions: Sequence[DecisionRecord]
    terminals: Sequence[TerminalRecord]


class StandaloneTerminal(Record, tag=4, frozen=True):
    """Terminal outside of any tool call."""

    terminal: TerminalRecord
    embedded: bool


class Question(Record, tag=5, frozen=True):
    """Question outside of any tool call."""

    decision: DecisionRecord


class Plan(Record, tag=6, frozen=True):
    """Plan of an agent."""

    entries: list[schema.PlanEntry]
    left: int


class Line(Record, tag=7, frozen=True):
    """Line in the margin."""

    level: str
    title: str
    details: list[str]


class Compaction(Record, tag=8, frozen=True):
    """Compaction of the agent's context."""

    id: str
    status: str
    summary: list[_Part]
    error: str | None


class Subagent(Record, tag=9, frozen=True):
    """Child session."""

    id: str
    title: str | None
    description: str | None
    state: str
    stop_reason: str | None
    error: str | None
    calls: int
    latest: str


class SessionMessage(Record, tag=10, frozen=True):
    """Message between two sessions."""

    id: str
    sender: str | None
    recipient: str | None
    parts: list[_Part]
    names: dict[str, str]


class Document(Record, tag=11, frozen=True):
    """Plan in the form of a text or file."""

    id: str
    text: str | None
    uri: str | None
    removed: bool


class Past(Record, tag=12, frozen=True):
    """Lines of an earlier chat."""

    lines: list[str]
    folds: bool = False


class Unknown(Record, tag=13, frozen=True):
    """Update of an unknown kind."""

    tag: str
    raw: Any


AnyRecord = (
    MessageRecord
    | Heading
    | Call
    | StandaloneTerminal
    | Question
    | Plan
    | Line
    | Compaction
    | Subagent
    | SessionMessage
    | Document
    | Past
    | Unknown
)

_ENCODER: Final = msgspec.json.Encoder(enc_hook=str, decimal_format="number")
_DECODER: Final = msgspec.json.Decoder(AnyRecord, dec_hook=read_untagged, strict=False)
_PARTS: Final = msgspec.json.Decoder(list[_Part], dec_hook=read_untagged)


# -- to records -----------------------------------------------------------------------------------


def record_of(entry: Entry) -> Record:
    """Return the present record of an entry. That of a message has no content.

    The record contains no mutable values of the entry.
    """
    return _TO_RECORD[entry.__class__](entry)


def encode(value: Record | Sequence[Part]) -> bytes:
    """Encode a record, or a run of a message's content."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:  # lone surrogate
        return _ENCODER.encode(text.clean(value))


def join_texts(parts: Sequence[Part]) -> list[Part]:
    """Join consecutive texts of these parts."""
    try:
        return ["".join(parts)] if parts else []  # type: ignore[arg-type]
    except TypeError:  # contains blocks
        return _join_parts(parts)


def _join_parts(parts: Sequence[Part]) -> list[Part]:
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if texts:
            joined.append("".join(texts))
            texts = []
        joined.append(part)
    return [*joined, "".join(texts)] if texts else joined


def _message_record(entry: entries.Message) -> MessageRecord:
    return MessageRecord(entry.role, entry.message_id, entry.author, entry.sent, entry.prompt)


def _call_record(entry: entries.ToolEntry) -> Call:
    """Return the record of a call. Values that are only replaced as a whole need no copy."""
    call = entry.call
    return Call(
        call.id,
        call.title,
        call.name,
        call.kind,
        call.status,
        list(call.content) if call.streamed else call.content,
        call.locations,
        call.raw_input,
        call.raw_output,
        call.meta,
        call.own,
        call.user_tool,
        call.assumed,
        call.shown_by.id if call.shown_by is not None else "",
        [_decision_record(decision, call) for decision in entry.decisions]
        if entry.decisions
        else (),
        [_terminal_record(terminal) for terminal in entry.terminals.values()]
        if entry.terminals
        else (),
    )


def _decision_record(decision: Decision, call: ToolCall | None = None) -> DecisionRecord:
    outcome, request = decision.outcome, decision.request
    option = outcome.option if outcome is not None else None
    content = outcome.content if outcome is not None else None
    forms = (schema.ElicitationFormMode, schema.ElicitationUrlMode)
    return DecisionRecord(
        decision.id,
        decision.subject,
        decision.title,
        decision.kind,
        [_option_values(option) for option in decision.options],
        list(decision.details),
        list(decision.problems),
        outcome.kind if outcome is not None else None,
        _option_values(option) if option is not None else None,
        dict(content) if content is not None else None,
        decision.by,
        decision.agent,
        decision.completed,
        dict(decision.guarded),
        request if isinstance(request, forms) else None,
        _call_snapshot(decision.record) if call and differs_from_answer(decision, call) else None,
        [_call_snapshot(call) for call in decision.covers],
        decision.reason,
    )


def _call_snapshot(call: ToolCall) -> CallSnapshot:
    content, own = list(call.content), call.own
    fields = (call.title, call.name, call.kind, content, call.locations, call.raw_input, call.meta)
    return CallSnapshot(*fields, own)


def _option_values(option: Option) -> tuple[str, str, str]:
    return option.id, option.name, option.kind


def _terminal_record(terminal: Terminal) -> TerminalRecord:
    launch = terminal.launch
    return TerminalRecord(
        terminal.id,
        launch.command,
        launch.cwd,
        list(launch.env),
        terminal.ours,
        terminal.running,
        terminal.exit_code,
        terminal.signal,
        terminal.lines(),
        terminal.line_count,
    )


def _session_message(it: entries.SessionMessage) -> SessionMessage:
    return SessionMessage(it.id, it.sender, it.recipient, join_texts(it.parts), dict(it.names))


def _subagent_record(it: entries.Subagent) -> Subagent:
    return Subagent(
        it.id, it.title, it.description, it.state, it.stop_reason, it.error, it.calls, it.latest
    )


_TO_RECORD: Final[dict[type, Callable[[Any], Record]]] = {
    entries.Message: _message_record,
    entries.Heading: lambda it: Heading(it.name),
    entries.ToolEntry: _call_record,
    entries.TerminalEntry: lambda it: StandaloneTerminal(
        _terminal_record(it.terminal), it.embedded
    ),
    entries.Question: lambda it: Question(_decision_record(it.decision)),
    entries.PlanEntry: lambda it: Plan(list(it.entries), it.left),
    entries.Line: lambda it: Line(it.level, it.title, list(it.details)),
    entries.Compaction: lambda it: Compaction(it.id, it.status, join_texts(it.summary), it.error),
    entries.Subagent: _subagent_record,
    entries.SessionMessage: _session_message,
    entries.PlanDocument: lambda it: Document(it.id, it.text, it.uri, it.removed),
    entries.Past: lambda it: Past(list(it.lines), it.folds),
    entries.Unknown: lambda it: Unknown(it.tag, it.raw),
}


# -- to entries -----------------------------------------------------------------------------------


def decode(data: bytes, parts: Iterable[bytes] = (), index: int = 0) -> Entry:
    """Decode the entry of a record.

    `parts` is the content of a message, `index` the position of a tool call in its session. Raise
    `msgspec.DecodeError`.
    """
    record = _DECODER.decode(data)
    if isinstance(record, MessageRecord):
        content = join_texts([part for run in parts for part in _PARTS.decode(run)])
        role, sent = cast("entries.Role", record.role), record.sent
        message = entries.Message(role, record.message_id, content, True, record.author, sent)
        message.count_as(record.prompt)
        return message
    if isinstance(record, Call):
        return _tool_entry(record, index)
    return _TO_ENTRY[record.__class__](record)


def _tool_entry(it: Call, index: int) -> entries.ToolEntry:
    call = ToolCall(
        it.id,
        it.title,
        it.name,
        it.kind,
        it.status,
        it.content,
        it.locations,
        it.raw_input,
        it.raw_output,
        it.meta,
        index,
        it.own,
        it.user_tool,
        ToolCall(it.shown_by) if it.shown_by else None,
        assumed=it.assumed,
    )
    terminals = {shell.id: _terminal(shell) for shell in it.terminals}
    decisions = [_decision(answer, it.id) for answer in it.decisions]
    return entries.ToolEntry(call, decisions, it.status, {}, terminals)


def _decision(record: DecisionRecord, call: str | None = None) -> Decision:
    outcome = None
    if record.kind is not None:
        option = Option(*record.option) if record.option is not None else None
        outcome = Outcome(cast("Any", record.kind), option, record.content)
    return Decision(
        record.id,
        cast("Any", record.subject),
        record.title,
        record.request_kind,
        call,
        [Option(*option) for option in record.options],
        record.details,
        record.problems,
        request=record.form,
        outcome=outcome,
        by=record.by,
        agent=record.agent,
        guarded=record.guarded,
        completed=record.completed,
        reason=record.reason,
        record=_asked_tool_call(record.asked, call or "") if record.asked is not None else None,
        covers=[_asked_tool_call(covered, call or "") for covered in record.covers],
    )


def _asked_tool_call(snapshot: CallSnapshot, id: str) -> ToolCall:
    fields = {name: getattr(snapshot, name) for name in snapshot.__struct_fields__}
    return ToolCall(id, **fields)


def _terminal(it: TerminalRecord) -> Terminal:
    terminal = Terminal(it.id, Launch(it.command, it.cwd, it.env), 0, ours=it.ours)
    terminal.restore_output(it.lines, it.count, it.exit_code, it.signal)
    return terminal


def _line_entry(line: Line) -> entries.Line:
    return entries.Line(cast("Any", line.level), line.title, tuple(line.details))


def _subagent_entry(it: Subagent) -> entries.Subagent:
    fields: Mapping[str, Any] = {name: getattr(it, name) for name in it.__struct_fields__}
    return entries.Subagent(**fields)


_TO_ENTRY: Final[dict[type, Callable[[Any], Entry]]] = {
    Heading: lambda it: entries.Heading(it.name),
    StandaloneTerminal: lambda it: entries.TerminalEntry(_terminal(it.terminal), it.embedded),
    Question: lambda it: entries.Question(_decision(it.decision)),
    Plan: lambda it: entries.PlanEntry(tuple(it.entries), it.left),
    Line: _line_entry,
    Compaction: lambda it: entries.Compaction(it.id, it.status, it.summary, it.error),
    Subagent: _subagent_entry,
    SessionMessage: lambda it: entries.SessionMessage(
        it.id, it.sender, it.recipient, it.parts, it.names
    ),
    Document: lambda it: entries.PlanDocument(it.id, it.text, it.uri, it.removed),
    Past: lambda it: entries.Past(it.lines, it.folds),
    Unknown: lambda it: entries.Unknown(it.tag, it.raw),
}


# -- search ---------------------------------------------------------------------------------------


def words(data: bytes) -> str:
    """Return the searchable text of an entry other than a message.

    It is empty if the entry has no text of the user, the agent or a tool.
    """
    return words_of(_DECODER.decode(data))


def words_of(record: Record) -> str:
    """Return the searchable text of a record that is not encoded yet."""
    read = _SEARCHED_TEXTS.get(record.__class__)
    return "" if read is None else text.clean_text("\n".join(filter(None, read(record))))


def text_of(parts: Iterable[Part]) -> str:
    """Return the searchable text of a message."""
    return "".join(part if isinstance(part, str) else f"\n{_block_text(part)}\n" for part in parts)


def _block_text(block: Any) -> str:
    if block.__class__ is schema.TextContent:
        text: str = block.text
        return text
    match block:
        case schema.ResourceLink():
            return f"{block.name} {block.uri}"
        case schema.EmbeddedResource(resource=schema.TextResourceContents() as contents):
            return f"{contents.uri}\n{contents.text}"
        case _:
            return ""


def _call_texts(it: Call) -> Iterable[str]:
    texts = _request_texts(it)
    for answer in it.decisions:
        texts += [answer.reason] if answer.reason else ()
        texts += _request_texts(answer.asked) if answer.asked is not None else ()
        texts += (text for call in answer.covers for text in _request_texts(call))
    for terminal in it.terminals:
        texts += (terminal.command, *terminal.lines)
    return texts


def _request_texts(it: Call | CallSnapshot) -> list[str]:
    texts = [it.own or it.title]
    if it.raw_input.__class__ is dict:
        texts += [value for value in it.raw_input.values() if value.__class__ is str]
    for item in it.content:
        if item.__class__ is schema.Content:
            texts.append(_block_text(item.content))
        elif item.__class__ is schema.Diff:
            texts.append(f"{item.path}\n{item.new_text}")
    return texts


_SEARCHED_TEXTS: Final[dict[type, Callable[[Any], Iterable[str]]]] = {
    Call: _call_texts,
    StandaloneTerminal: lambda it: (it.terminal.command, *it.terminal.lines),
    Question: lambda it: (it.decision.title, *it.decision.details, it.decision.reason),
    Plan: lambda it: [entry.content for entry in it.entries],
    Compaction: lambda it: [text_of(it.summary)],
    Subagent: lambda it: (it.title or "", it.description or ""),
    SessionMessage: lambda it: [text_of(it.parts)],
    Document: lambda it: [it.text or ""],
    Past: lambda it: it.lines,
}
