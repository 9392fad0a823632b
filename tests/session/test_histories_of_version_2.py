"""Random histories of version 2.

In any order, a session equals the fold of the specification, and no turn ends twice
(v2/prompt-lifecycle, v2/migration).
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.protocol.updates import Work
from acp_nvim.protocol.v2.turns import Turns
from acp_nvim.session import turns
from acp_nvim.session.transcript.entries import Message
from tests.support.json_chat import JsonChat

IDS = st.sampled_from(["a", "b"])
WORDS = st.sampled_from(["x", "yy", "z\n"])
ROLES = {"user_message": "user", "agent_message": "agent", "agent_thought": "thought"}
CLEARED = {"title": "", "kind": "other", "status": "pending"}
FIELDS = {
    "title": st.sampled_from(["One", "Two", None]),
    "kind": st.sampled_from(["read", "edit", None]),
    "status": st.sampled_from(["in_progress", "completed", "cancelled", "paused", None]),
}


def block(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def messages(role: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for messages with content, without it, or cleared, and for chunks."""
    content = st.one_of(st.none(), st.lists(WORDS.map(block), max_size=2))
    base = {"sessionUpdate": st.just(role), "messageId": IDS}
    chunk = {"sessionUpdate": st.just(f"{role}_chunk"), "messageId": IDS}
    return st.one_of(
        st.fixed_dictionaries(base, optional={"content": content}),
        st.fixed_dictionaries({**chunk, "content": WORDS.map(block)}),
    )


CALLS = st.fixed_dictionaries(
    {"sessionUpdate": st.just("tool_call_update"), "toolCallId": IDS}, optional=FIELDS
)
PIECES = st.builds(
    lambda call, words: {
        "sessionUpdate": "tool_call_content_chunk",
        "toolCallId": call,
        "content": {"type": "content", "content": block(words)},
    },
    IDS,
    WORDS,
)
STATES = st.builds(
    lambda state: {"sessionUpdate": "state_update", "state": state},
    st.sampled_from(["running", "requires_action", "idle", "dreaming"]),
)
UPDATES = st.lists(st.one_of(*map(messages, ROLES), CALLS, PIECES, STATES), min_size=1, max_size=25)


class Fold:
    """The specification alone: maps of entities, patched field by field."""

    def __init__(self) -> None:
        self.messages: dict[tuple[str, str], str] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self.works = False

    def apply(self, update: dict[str, Any]) -> None:
        tag = update["sessionUpdate"]
        if tag == "state_update":
            self.works = update["state"] != "idle"
        elif tag.startswith("tool_call"):
            self._call(update)
        else:
            self._message(ROLES[tag.removesuffix("_chunk")], update)

    def _message(self, role: str, update: dict[str, Any]) -> None:
        key = role, update["messageId"]
        before = self.messages.setdefault(key, "")
        if update["sessionUpdate"].endswith("_chunk"):
            self.messages[key] = before + update["content"]["text"]
        elif "content" in update:
            self.messages[key] = "".join(it["text"] for it in update["content"] or ())

    def _call(self, update: dict[str, Any]) -> None:
        call = self.calls.setdefault(update["toolCallId"], {**CLEARED, "content": ""})
        if update["sessionUpdate"] == "tool_call_content_chunk":
            call["content"] += update["content"]["content"]["text"]
        for name, cleared in CLEARED.items():
            if name in update:
                call[name] = cleared if update[name] is None else update[name]


PROMPT = "user", "ours"


def play(history: list[dict[str, Any]]) -> JsonChat:
    chat = JsonChat(version=2)
    turns.name_prompt(chat.session, PROMPT[1])
    turns.end(chat.session, "end_turn")
    for update in history:
        fields = {name: value for name, value in update.items() if name != "sessionUpdate"}
        chat.update(update["sessionUpdate"], **fields)
    return chat


def messages_of(chat: JsonChat) -> dict[tuple[str, str], str]:
    entries = [it for it in chat.session.transcript.entries if isinstance(it, Message)]
    return {(it.role, it.message_id): it.text() for it in entries if it.message_id is not None}


@settings(max_examples=100, deadline=None)
@given(UPDATES)
def test_a_session_is_the_fold_of_its_updates(history: list[dict[str, Any]]) -> None:
    chat, fold = play(history), Fold()
    for update in history:
        fold.apply(update)
    assert {key: text for key, text in messages_of(chat).items() if key != PROMPT} == {
        key: text for key, text in fold.messages.items() if key in messages_of(chat)
    }
    assert {key for key, text in fold.messages.items() if text} <= messages_of(chat).keys()
    assert (chat.session.status == "running") == fold.works
    ended = not any(update["sessionUpdate"] == "state_update" for update in history)
    for id, call in fold.calls.items():
        ours = chat.session.tool_calls.by_id[id]
        assert (ours.title, ours.kind) == (call["title"], call["kind"])
        assert "".join(it.content.text for it in ours.content) == call["content"]
        if ended:
            assert ours.status == call["status"]
    shown = chat.lines
    fresh = play(history)
    assert fresh.lines == shown, "what was drawn step by step is what is drawn at once"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["sent", "inserted", "message", "running", "idle", "refused"]),
        st.integers(1, 3),
    ),
    max_size=20,
)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_no_turn_ends_twice_and_none_before_its_prompt_was_inserted(
    steps: list[tuple[str, int]],
) -> None:
    turns = Turns()
    sent, inserted, over = set[int](), set[int](), list[int]()
    for step, id in steps:
        ended: list[Any] = []
        if step == "sent" and id not in sent:
            turns.on_sent(id)
            sent.add(id)
        elif step == "inserted" and id in sent - inserted:
            inserted.add(id)
            ended = [id] if turns.on_inserted(id, f"m{id}") is not None else []
        elif step == "message":
            turns.add_message(f"m{id}")
        elif step == "refused" and id in sent - inserted:
            turns.on_refused(id)
            inserted.add(id)
            over.append(id)
        elif step in ("running", "idle"):
            reason = "end_turn" if step == "idle" else None
            ended = turns.apply_state(Work(step, reason))
        over += ended
        assert set(over) <= inserted, "an answer came first"
        assert len(over) == len(set(over)), "a turn ended twice"
    assert set(turns.apply_state(Work("running"))) == set()
    late = turns.apply_state(Work("idle", "end_turn"))
    assert set(late) == inserted - set(over), "and none is held for ever"
