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
    """Base of the records. Records contain no reference cycles."""


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
    """The call at the time of the answer, or None if it has not changed since."""
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
    is_hosted: bool
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
    """Id of the call of an editor's tool that is shown instead, or an empty string."""
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
    """Notice in the chat."""

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
    """Return the current record of an entry. The record of a message has no content.

    The record contains no mutable values of the entry.
    """
    return _TO_RECORD[entry.__class__](entry)


def encode(value: Record | Sequence[Part]) -> bytes:
    """Encode a record, or some parts of a message's content."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:  # lone surrogate
        return _ENCODER.encode(text.clean(value))


def join_texts(parts: Sequence[Part]) -> list[Part]:
    """Join consecutive texts. Leave blocks as they are."""
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
    """Return the record of a call. Values that are never changed in place are not copied."""
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
        terminal.is_hosted,
        terminal.running,
        terminal.exit_code,
        terminal.signal,
        terminal.lines(),
        terminal.line_count,
    )


def _session_message(message: entries.SessionMessage) -> SessionMessage:
    return SessionMessage(
        message.id,
        message.sender,
        message.recipient,
        join_texts(message.parts),
        dict(message.names),
    )


def _subagent_record(subagent: entries.Subagent) -> Subagent:
    return Subagent(
        subagent.id,
        subagent.title,
        subagent.description,
        subagent.state,
        subagent.stop_reason,
        subagent.error,
        subagent.calls,
        subagent.latest,
    )


_TO_RECORD: Final[dict[type, Callable[[Any], Record]]] = {
    entries.Message: _message_record,
    entries.Heading: lambda entry: Heading(entry.name),
    entries.ToolEntry: _call_record,
    entries.TerminalEntry: lambda entry: StandaloneTerminal(
        _terminal_record(entry.terminal), entry.is_embedded
    ),
    entries.Question: lambda entry: Question(_decision_record(entry.decision)),
    entries.PlanEntry: lambda entry: Plan(list(entry.entries), entry.left),
    entries.Line: lambda entry: Line(entry.level, entry.title, list(entry.details)),
    entries.Compaction: lambda entry: Compaction(
        entry.id, entry.status, join_texts(entry.summary), entry.error
    ),
    entries.Subagent: _subagent_record,
    entries.SessionMessage: _session_message,
    entries.PlanDocument: lambda entry: Document(entry.id, entry.text, entry.uri, entry.is_removed),
    entries.Past: lambda entry: Past(list(entry.lines), entry.folds),
    entries.Unknown: lambda entry: Unknown(entry.tag, entry.raw),
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


def _tool_entry(record: Call, index: int) -> entries.ToolEntry:
    call = ToolCall(
        record.id,
        record.title,
        record.name,
        record.kind,
        record.status,
        record.content,
        record.locations,
        record.raw_input,
        record.raw_output,
        record.meta,
        index,
        record.own,
        record.user_tool,
        ToolCall(record.shown_by) if record.shown_by else None,
        assumed=record.assumed,
    )
    terminals = {shell.id: _terminal(shell) for shell in record.terminals}
    decisions = [_decision(answer, record.id) for answer in record.decisions]
    return entries.ToolEntry(call, decisions, record.status, {}, terminals)


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


def _terminal(record: TerminalRecord) -> Terminal:
    terminal = Terminal(
        record.id, Launch(record.command, record.cwd, record.env), 0, is_hosted=record.is_hosted
    )
    terminal.restore_output(record.lines, record.count, record.exit_code, record.signal)
    return terminal


def _line_entry(line: Line) -> entries.Line:
    return entries.Line(cast("Any", line.level), line.title, tuple(line.details))


def _subagent_entry(subagent: Subagent) -> entries.Subagent:
    fields: Mapping[str, Any] = {
        name: getattr(subagent, name) for name in subagent.__struct_fields__
    }
    return entries.Subagent(**fields)


_TO_ENTRY: Final[dict[type, Callable[[Any], Entry]]] = {
    Heading: lambda entry: entries.Heading(entry.name),
    StandaloneTerminal: lambda entry: entries.TerminalEntry(
        _terminal(entry.terminal), entry.embedded
    ),
    Question: lambda entry: entries.Question(_decision(entry.decision)),
    Plan: lambda entry: entries.PlanEntry(tuple(entry.entries), entry.left),
    Line: _line_entry,
    Compaction: lambda entry: entries.Compaction(
        entry.id, entry.status, entry.summary, entry.error
    ),
    Subagent: _subagent_entry,
    SessionMessage: lambda entry: entries.SessionMessage(
        entry.id, entry.sender, entry.recipient, entry.parts, entry.names
    ),
    Document: lambda entry: entries.PlanDocument(entry.id, entry.text, entry.uri, entry.removed),
    Past: lambda entry: entries.Past(entry.lines, entry.folds),
    Unknown: lambda entry: entries.Unknown(entry.tag, entry.raw),
}


# -- search ---------------------------------------------------------------------------------------


def words(data: bytes) -> str:
    """Return the searchable text of an entry other than a message.

    It is empty if the entry has no text by the user, the agent or a tool.
    """
    return words_of(_DECODER.decode(data))


def words_of(record: Record) -> str:
    """Return the searchable text of a record that has not been encoded."""
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


def _call_texts(record: Call) -> Iterable[str]:
    texts = _request_texts(record)
    for answer in record.decisions:
        texts += [answer.reason] if answer.reason else ()
        texts += _request_texts(answer.asked) if answer.asked is not None else ()
        texts += (text for call in answer.covers for text in _request_texts(call))
    for terminal in record.terminals:
        texts += (terminal.command, *terminal.lines)
    return texts


def _request_texts(call: Call | CallSnapshot) -> list[str]:
    texts = [call.own or call.title]
    if call.raw_input.__class__ is dict:
        texts += [value for value in call.raw_input.values() if value.__class__ is str]
    for item in call.content:
        if item.__class__ is schema.Content:
            texts.append(_block_text(item.content))
        elif item.__class__ is schema.Diff:
            texts.append(f"{item.path}\n{item.new_text}")
    return texts


_SEARCHED_TEXTS: Final[dict[type, Callable[[Any], Iterable[str]]]] = {
    Call: _call_texts,
    StandaloneTerminal: lambda entry: (entry.terminal.command, *entry.terminal.lines),
    Question: lambda entry: (entry.decision.title, *entry.decision.details, entry.decision.reason),
    Plan: lambda plan: [entry.content for entry in plan.entries],
    Compaction: lambda entry: [text_of(entry.summary)],
    Subagent: lambda entry: (entry.title or "", entry.description or ""),
    SessionMessage: lambda entry: [text_of(entry.parts)],
    Document: lambda entry: [entry.text or ""],
    Past: lambda entry: entry.lines,
}
