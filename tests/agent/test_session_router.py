"""Updates that arrive together have the same effect as updates one by one."""

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
from acp_nvim.session.calls.tool_calls import ToolCall, first_call
from acp_nvim.session.session import NoObserver, Session
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
PARTS = st.one_of(
    st.builds(schema.TextContent, st.text("xy")),
    st.builds(schema.TextContent, st.just("aside"), annotations=st.just(ASIDE)),
    st.builds(schema.ImageContent, st.just("eA=="), st.just("image/png")),
)
UPDATES = st.one_of(
    st.builds(schema.ToolCall, IDS, st.text("ab", max_size=3), **FIELDS),
    st.builds(
        schema.ToolCallUpdate, IDS, **{name: value | st.none() for name, value in FIELDS.items()}
    ),
    st.builds(
        schema.AgentMessageChunk, PARTS, message_id=st.sampled_from([UNSET, UNSET, None, "m", "n"])
    ),
    st.builds(schema.Plan, st.just([])),
)


class ObservedSession(NoObserver):
    """A running session that records the calls of its observer."""

    def __init__(self, *, reports_plain_calls: bool = True) -> None:
        self.session = Session(1, "x", "/work", observer=self)
        self.session.id, self.session.status = "s", "running"
        self.reported: list[tuple[str, str]] = []
        self.statuses: dict[int, str] = {}
        """The last status of each call by its index. An id can have several calls."""
        self._reports_plain_calls = reports_plain_calls
        self.warnings = ProtocolWarnings()
        self.router = SessionRouter(Settings, self.warnings)
        self.router.adopt("s", self.session)

    def on_tool_call(self, session: Session, call: ToolCall) -> None:
        assert session is self.session
        self.reported.append((call.id, call.status))
        self.statuses[call.index] = call.status

    def on_plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        for call in calls if self._reports_plain_calls else ():
            self.on_tool_call(session, call)

    def update(self, updates: list[Any]) -> None:
        messages = [schema.SessionNotification("s", update) for update in updates]
        self.router.on_updates(messages, 100)

    def visible_state(self) -> Any:
        """Return everything that is visible: state, events, chat."""
        session = self.session
        entries = [
            (type(entry).__name__, getattr(entry, "message_id", None), _parts(entry))
            for entry in session.transcript.entries
        ]
        calls = [msgspec.to_builtins(call) for call in session.tool_calls]
        marks: dict[int, list[Any]] = {}
        for event in session.changes.take_events(10**9):
            marks.setdefault(event.mark, []).extend(_flat(event.name, event.data))
        dirty = {session.transcript.entries.index(entry) for entry in session.transcript.dirty}
        terminals = [terminal.snapshot() for terminal in session.terminals]
        return entries, calls, marks, dirty, terminals, take_calls(session)


def _parts(entry: Any) -> list[Any]:
    """Return the parts of a message without the borders of its chunks."""
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
    return [(name, *observed) for observed in zip(ids, statuses, strict=True)]


@given(st.lists(UPDATES, max_size=12))
def test_updates_together_equal_updates_one_by_one(updates: list[Any]) -> None:
    together, single = ObservedSession(), ObservedSession()
    together.update(updates)
    for update in updates:
        single.update([update])
    assert str(together.visible_state()) == str(single.visible_state())
    assert together.warnings.counts == single.warnings.counts
    assert together.statuses == single.statuses


@given(st.lists(UPDATES, max_size=12))
def test_each_update_of_a_call_with_a_file_is_reported(updates: list[Any]) -> None:
    together, single = (
        ObservedSession(reports_plain_calls=False),
        ObservedSession(reports_plain_calls=False),
    )
    together.update(updates)
    for update in updates:
        single.update([update])
    assert together.reported == single.reported


@given(UPDATES.filter(lambda update: isinstance(update, schema.ToolCall)))
def test_a_new_call_has_the_announced_fields(update: schema.ToolCall) -> None:
    call = ToolCall(update.tool_call_id, index=3)
    call.merge(update)
    assert msgspec.json.encode(first_call(update, 3)) == msgspec.json.encode(call)


def test_a_failing_update_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    observed = ObservedSession()
    calls = [schema.ToolCallUpdate(id, status="completed") for id in ("a", "b", "c")]
    merge = ToolCall.merge

    def fail(self: ToolCall, update: Any) -> None:
        if update.tool_call_id == "b":
            raise KeyError("b")
        merge(self, update)

    monkeypatch.setattr(ToolCall, "merge", fail)
    observed.update([*calls, schema.AgentMessageChunk(schema.TextContent("done"))])
    assert [call.id for call in observed.session.tool_calls if call.is_finished] == ["a", "c"]
    assert observed.reported == [("a", "completed"), ("c", "completed")]
    assert observed.router.turn_text("s") == "done"
    assert observed.warnings.counts["internal error"] == 1
