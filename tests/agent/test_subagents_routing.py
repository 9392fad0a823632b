"""Routing of the traffic of child sessions, without an editor (v1/subagents)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from acp_nvim.agent.serving.client import Client
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.servers import Handler
from acp_nvim.agent.serving.session_router import SessionRouter
from acp_nvim.agent.settings import Settings
from acp_nvim.session.session import Session
from acp_nvim.session.state import take_changes
from acp_nvim.session.subagents import Child, child_of, shown_child
from acp_nvim.session.transcript.entries import Message, Subagent


class Nothing:
    """A client part without files and terminals."""

    def __init__(self) -> None:
        self.handlers: Mapping[str, Handler] = {}

    async def read(self, session: Session, params: Any) -> Any:
        raise AssertionError("not asked for")

    async def write(self, session: Session, params: Any, answer: Any) -> Any:
        raise AssertionError("not asked for")

    def forget(self, session: Session) -> None:
        pass


@pytest.fixture
def client() -> Client:
    """Return a client with the session `s1`, number 1."""
    numbers = itertools.count(2)

    def child(parent: Session, id: str) -> Session:
        return child_of(parent, id, lambda above, link: Child(next(numbers), above, link))

    warnings = ProtocolWarnings()
    router = SessionRouter(Settings, warnings, new_child=child)
    nothing: Any = Nothing()
    made = Client("x", Settings, router, nothing, nothing, warnings)
    session = Session(1, "x", "/work")
    session.id, session.status = "s1", "running"
    router.adopt("s1", session)
    return made


def send_update(client: Client, session: str, kind: str, **fields: Any) -> None:
    update = {"sessionUpdate": kind, **fields}
    params = msgspec.json.encode({"sessionId": session, "update": update})
    client.on_notification("session/update", msgspec.Raw(params))


def say(client: Client, session: str, text: str) -> None:
    send_update(client, session, "agent_message_chunk", content={"type": "text", "text": text})


def words(session: Session) -> list[str]:
    return [it.text() for it in session.transcript.entries if isinstance(it, Message)]


def test_a_child_is_made_once(client: Client) -> None:
    for title in ("One", "Two"):
        send_update(client, "s1", "subagent_update", sessionId="c", title=title)
    child = client.router.sessions["c"]
    assert (child.n, child.title, child.root) == (2, "Two", client.router.sessions["s1"])
    entries = client.router.sessions["s1"].transcript.entries
    assert [type(it) for it in entries] == [Subagent]


def test_a_child_has_the_access_of_its_parent(client: Client) -> None:
    send_update(
        client, "s1", "subagent_update", sessionId="c", cwd="/", additionalDirectories=["/etc"]
    )
    assert client.router.sessions["c"].roots == ["/work"]


def test_a_muted_replay_is_muted_for_children_too(client: Client) -> None:
    send_update(client, "s1", "subagent_update", sessionId="c")
    client.router.mute("s1")
    say(client, "s1", "old")
    say(client, "c", "old too")
    client.router.unmute("s1")
    say(client, "c", "new")
    assert words(client.router.sessions["s1"]) == []
    assert words(client.router.sessions["c"]) == ["new"]


def test_questions_of_grandchildren_reach_the_top_session(client: Client) -> None:
    send_update(client, "s1", "subagent_update", sessionId="c")
    send_update(client, "c", "subagent_update", sessionId="g")
    root = client.router.sessions["s1"]
    assert client.router.sessions["g"].root is root
    assert client.router.sessions["g"].decisions is root.decisions
    assert set(root.children) == {"c", "g"}


def test_a_forgotten_session_removes_its_children(client: Client) -> None:
    send_update(client, "s1", "subagent_update", sessionId="c")
    client.forget(client.router.sessions["s1"])
    assert client.router.sessions == {}
    say(client, "c", "late words")
    assert len(client.router.pending_updates) == 0


def test_a_replay_of_a_child_makes_no_event(client: Client) -> None:
    send_update(client, "s1", "subagent_update", sessionId="c")
    child = client.router.sessions["c"]
    child.changes.take_events(10**9)
    client.router.sessions["s1"].replaying = True
    send_update(client, "c", "tool_call", toolCallId="t", title="T", status="completed")
    assert child.changes.take_events(10**9) == []


@pytest.mark.parametrize("id", ["s1", "s2", "c", ""])
def test_a_child_with_the_id_of_another_session_is_a_violation(client: Client, id: str) -> None:
    other = Session(9, "x", "/work")
    other.id, other.status = "s2", "running"
    client.router.adopt("s2", other)
    send_update(client, "s1", "subagent_update", sessionId="c")
    send_update(client, "c", "subagent_update", sessionId="g")
    routed = dict(client.router.sessions)
    for above in ("s1", "g") if id != "c" else ("g",):
        send_update(client, above, "subagent_update", sessionId=id, state={"state": "running"})
    assert client.router.sessions == routed
    assert client.warnings.counts["subagent with the id of another session"] >= 1
    assert set(routed["s1"].children) == {"c", "g"}
    say(client, "s2", "mine")
    assert words(other) == ["mine"]


def test_children_beyond_the_limit_share_one_chat(client: Client) -> None:
    for number in range(3000):
        send_update(client, "s1", "subagent_update", sessionId=f"c{number}", title=f"Kid {number}")
    root = client.router.sessions["s1"]
    say(client, "c2999", "heard")
    shared = shown_child(root, "c2999")
    assert shared is shown_child(root, "c200")
    assert shared is not None
    assert (len(root.children), words(shared), shared.title) == (201, ["heard"], "More subagents")
    told = {str(path[0]): value for path, value in take_changes(root)}
    assert [it["id"] for it in told["subagents"]] == [f"c{n}" for n in range(2800, 3000)]
    assert told["subagents"][-1]["session"] == shared.n
    assert told["more"] == {"subagents": 2800}


def test_the_cost_of_a_message_does_not_grow_with_their_number(client: Client) -> None:
    send_update(client, "s1", "subagent_update", sessionId="c", title="Kid")
    for number in range(2000):
        fields = {"senderSessionId": "s1", "recipientSessionId": "c"}
        send_update(client, "s1", "session_message", messageId=f"m{number}", **fields)
    root = client.router.sessions["s1"]
    assert root.reported.messages["m1999"].names == {"s1": "this session", "c": "Kid"}
