"""A stored session is read and drawn without a change."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.history.records import encode, join_texts, record_of
from acp_nvim.protocol import schema, updates
from acp_nvim.protocol.text import clean
from acp_nvim.render.calls.tools import Style
from acp_nvim.render.document import Document
from acp_nvim.session import turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.output.terminal import Launch
from acp_nvim.session.questions.decisions import Decision, Option, Outcome
from acp_nvim.session.session import Session
from acp_nvim.session.transcript import entries as kinds
from acp_nvim.session.transcript.entries import Entry, Message
from acp_nvim.session.transcript.transcript import Transcript
from acp_nvim.session.updates import apply
from tests.support.chat_histories import HISTORIES, Act, Chat
from tests.support.drawn_chat import DrawnChat
from tests.support.stored_history import StoredHistory, begin, turn


def plain(entry: Entry) -> Any:
    """Return an entry as a comparable value."""
    parts = join_texts(entry.parts) if isinstance(entry, Message) else ()
    content = [part for part in parts if part != ""]
    return clean([encode(record_of(entry)).decode(), content])


def drawn(entries: list[Entry]) -> list[str]:
    transcript, picture = Transcript(), DrawnChat()
    transcript.append_all(entries)
    picture.apply(Document(1, Style(3)).draw(transcript, 1 << 40)[0])
    return [clean(line) for line in picture.lines]


@settings(max_examples=30)
@given(HISTORIES, st.integers(1, 7))
def test_any_transcript_is_read_and_drawn_unchanged(history: list[Act], gap: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        stored, chat = StoredHistory(Path(directory) / "history.db"), Chat()
        stored.sessions.append(chat.session)
        for number, act in enumerate(history):
            act(chat)
            if number % gap == 0:
                stored.recorder.flush()
        stored.recorder.flush(is_final=True)
        expected = chat.session.transcript.entries
        found = stored.entries() if stored.batches else []
        if stored.batches:
            assert [plain(entry) for entry in found] == [plain(entry) for entry in expected]
            assert drawn(found) == drawn(expected)
        stored.close()


def all_kinds(session: Session) -> None:
    """Add at least one entry of each kind."""
    transcript = session.transcript
    turn(session, "Do it", "Well.")
    transcript.stream("thought", "Hm.\nHm.", None)
    link = schema.ResourceLink(name="a.py", uri="file:///work/a.py")
    text = schema.TextResourceContents("body", "file:///work/b.py")
    transcript.stream("agent", schema.EmbeddedResource(text), "m")
    transcript.stream("agent", link, "m")
    unknown = schema.UnknownContent("hologram", {"type": "hologram", "depth": 3})
    transcript.stream("agent", unknown, "m")
    diff = schema.Diff("/work/a.py", "new\n", "old\n")
    changes = updates.FileChanges(content=schema.TextContent("```diff\n```"), paths=("a", "b"))
    content: list[Any] = [
        schema.Content(schema.TextContent("x\ny")),
        diff,
        schema.Terminal("t1"),
        changes,
    ]
    where = [schema.ToolCallLocation("/work/a.py", 3)]
    call = schema.ToolCall(
        "c1", "Run", content=content, locations=where, raw_input={"a": [1, None]}
    )
    terminal = session.terminals.new("t1", Launch("make", "/", [("A", "b")]), 0, is_hosted=True)
    session.terminals.add(terminal)
    call_updates.upsert(session, call)
    terminal.feed(b"one\r\ntwo\r\n")
    terminal.end(3, None)
    yes = Option("yes", "Yes", "allow_once")
    session.ask(Decision("d1", "permission", "May I?", options=(yes,)), session.tool_calls.at(0))
    (decision,) = session.decisions
    decision.set_reason("because\nof the test")
    decision.resolve(Outcome("selected", yes))
    again = schema.ToolCallUpdate("c1", title="Tidy up", raw_input={"command": "rm"})
    call_updates.upsert(session, again)
    form = schema.ElicitationSchema(properties={"n": schema.StringPropertySchema(title="Name")})
    asked = schema.ElicitationFormMode(message="Who?", requested_schema=form)
    session.ask(Decision("d2", "elicitation", "Who?", kind="form", request=asked))
    next(iter(session.decisions)).resolve(Outcome("accept", content={"n": "me"}))
    step = schema.PlanEntry("Look", "high", "completed")
    apply(session, schema.Plan([step]))
    session.notice("warning", "careful", ["why\nnot"])
    for entry in (
        kinds.Compaction("k", "completed", ["short"], None),
        kinds.Subagent("child", title="Helper", state="idle", stop_reason="end_turn", calls=2),
        kinds.SessionMessage("l", "a", "b", ["hello", link], {"a": "A"}),
        kinds.PlanDocument("p", "# Plan", None, True),
        kinds.Past(["## You", "hi"]),
        kinds.Past(["✓ Read a.py", "  20 lines"], folds=True),
        kinds.Unknown("strange", {"x": 1}),
    ):
        transcript.add(entry)
    turn(session, "And now?", "Done.")


def test_every_kind_of_entry_is_read_unchanged(tmp_path: Path) -> None:
    stored = StoredHistory(tmp_path / "history.db")
    session = stored.session()
    all_kinds(session)
    stored.flush()
    expected = session.transcript.entries
    assert {type(entry) for entry in expected} == set(kinds.Entry.__args__)
    found = stored.entries()
    assert [plain(entry) for entry in found] == [plain(entry) for entry in expected]
    assert drawn(found) == drawn(expected)
    times = [entry.sent for entry in expected if isinstance(entry, Message)]
    assert [entry.sent for entry in found if isinstance(entry, Message)] == times
    stored.close()


def test_chunks_that_are_joined_for_the_chat_are_stored(tmp_path: Path) -> None:
    """The history has some of them before."""
    history = StoredHistory(tmp_path / "history.db")
    session, document = history.session(), Document(1, Style(3))
    begin(session, "go")
    steps = "one two | three four / five six | seven / eight | nine ten"
    for word in steps.split():
        if word == "|":
            document.draw(session.transcript, 1 << 40)
        elif word == "/":
            history.now += 1
            history.recorder.flush()
        else:
            session.transcript.stream("agent", f"{word} ", "m1")
    turns.end(session, "end_turn")
    history.flush()
    text = "one two three four five six seven eight nine ten "
    assert history.messages() == ["go", text]
