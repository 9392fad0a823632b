"""Updates that come together are applied as if they came one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.session_router import SessionRouter
from acp_nvim.agent.settings import Settings
from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall, announced
from acp_nvim.session.session import Session, Unobserved
from acp_nvim.session.state import take_calls

TEXT = schema.Content(schema.TextContent("words"))
CONTENT = st.sampled_from(
    [
        [],
        [TEXT],
        [schema.Terminal(terminal_id="t")],
        [schema.Diff(path="/work/a.py", new_text="new\n")],
    ]
)
STATUS = st.sampled_from(["pending", "in_progress", "completed", "failed"])
PLACES = st.lists(st.sampled_from([schema.ToolCallLocation(f"/work/{n}.py") for n in "ab"]))
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "status": STATUS,
    "content": CONTENT,
    "locations": PLACES,
    "raw_input": st.just({"path": "a.py"}),
    "meta": st.just({"terminal_output": {"terminal_id": "m", "data": "out"}}),
}
IDS = st.sampled_from(["one", "two", "three"])
ASIDE = schema.Annotations(audience=["assistant"])
SAID = st.one_of(
    st.builds(schema.TextContent, st.text("xy")),
    st.builds(schema.TextContent, st.just("aside"), annotations=st.just(ASIDE)),
    st.builds(schema.ImageContent, st.just("eA=="), st.just("image/png")),
)
TOLD = st.one_of(
    st.builds(schema.ToolCall, IDS, st.text("ab", max_size=3), **FIELDS),
    st.builds(
        schema.ToolCallUpdate, IDS, **{name: value | st.none() for name, value in FIELDS.items()}
    ),
    st.builds(
        schema.AgentMessageChunk, SAID, message_id=st.sampled_from([UNSET, UNSET, None, "m", "n"])
    ),
    st.builds(schema.Plan, st.just([])),
)


class Told(Unobserved):
    """A running session, and what its observer heard of its calls."""

    def __init__(self, *, hears_plain_calls: bool = True) -> None:
        self.session = Session(1, "x", "/work", observer=self)
        self.session.id, self.session.status = "s", "running"
        self.heard: list[tuple[str, str]] = []
        self._hears_plain_calls = hears_plain_calls
        self.warnings = ProtocolWarnings()
        self.router = SessionRouter(Settings, self.warnings)
        self.router.adopt("s", self.session)

    def tool_call(self, session: Session, call: ToolCall) -> None:
        assert session is self.session
        self.heard.append((call.id, call.status))

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        for call in calls if self._hears_plain_calls else ():
            self.tool_call(session, call)

    def tell(self, updates: list[Any]) -> None:
        messages = [schema.SessionNotification("s", update) for update in updates]
        self.router.updated(messages, 100)

    def seen(self) -> Any:
        """All that can be seen of it: the state, the events, the chat."""
        session = self.session
        entries = [
            (type(entry).__name__, getattr(entry, "message_id", None), _said(entry))
            for entry in session.transcript.entries
        ]
        calls = [msgspec.to_builtins(call) for call in session.tool_calls]
        marks: dict[int, list[Any]] = {}
        for event in session.changes.take_events(10**9):
            marks.setdefault(event.mark, []).extend(_flat(event.name, event.data))
        dirty = {session.transcript.entries.index(entry) for entry in session.transcript.dirty}
        terminals = [terminal.snapshot() for terminal in session.terminals]
        return entries, calls, marks, dirty, terminals, take_calls(session)


def _said(entry: Any) -> list[Any]:
    """Parts of a message; how its text was cut into chunks cannot be seen."""
    said: list[Any] = []
    for part in getattr(entry, "parts", ()):
        if said and isinstance(part, str) and isinstance(said[-1], str):
            said[-1] += part
        else:
            said.append(part)
    return said


def _flat(name: str, data: dict[str, Any]) -> list[Any]:
    if name != "AcpToolCall":
        return [(name, str(data))]
    ids, statuses = data["calls"][::2], data["calls"][1::2]
    return [(name, *told) for told in zip(ids, statuses, strict=True)]


@given(st.lists(TOLD, max_size=12))
def test_together_is_one_by_one(updates: list[Any]) -> None:
    together, single = Told(), Told()
    together.tell(updates)
    for update in updates:
        single.tell([update])
    assert str(together.seen()) == str(single.seen())
    assert together.warnings.counts == single.warnings.counts
    assert dict(together.heard) == dict(single.heard)


@given(st.lists(TOLD, max_size=12))
def test_a_call_that_names_a_file_is_heard_of_with_each_message(updates: list[Any]) -> None:
    together, single = Told(hears_plain_calls=False), Told(hears_plain_calls=False)
    together.tell(updates)
    for update in updates:
        single.tell([update])
    assert together.heard == single.heard


@given(TOLD.filter(lambda update: isinstance(update, schema.ToolCall)))
def test_an_announced_call_is_what_it_is_said_to_be(update: schema.ToolCall) -> None:
    call = ToolCall(update.tool_call_id, index=3)
    call.merge(update)
    assert msgspec.json.encode(announced(update, 3)) == msgspec.json.encode(call)


def test_what_cannot_be_applied_keeps_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    calls = [schema.ToolCallUpdate(id, status="completed") for id in ("a", "b", "c")]
    merge = ToolCall.merge

    def fail(self: ToolCall, update: Any) -> None:
        if update.tool_call_id == "b":
            raise KeyError("b")
        merge(self, update)

    monkeypatch.setattr(ToolCall, "merge", fail)
    told.tell([*calls, schema.AgentMessageChunk(schema.TextContent("done"))])
    assert [call.id for call in told.session.tool_calls if call.finished] == ["a", "c"]
    assert told.heard == [("a", "completed"), ("c", "completed")]
    assert told.router.said("s") == "done"
    assert told.warnings.counts["internal error"] == 1
