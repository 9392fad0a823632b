"""Requests of an agent for a session whose `session/new` has not been answered."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec
import pytest

from acp_nvim.agent.serving.client import Client
from acp_nvim.agent.serving.protocol_warnings import ProtocolWarnings
from acp_nvim.agent.serving.servers import Handler
from acp_nvim.agent.serving.session_router import SessionRouter
from acp_nvim.agent.settings import Settings
from acp_nvim.agent.wire.endpoint import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from acp_nvim.session.session import Session


class Files:
    """Files that contain the number of the session. There are no terminals."""

    def __init__(self) -> None:
        self.handlers: Mapping[str, Handler] = {}

    async def read(self, session: Session, params: Any) -> Any:
        return schema.ReadTextFileResponse(str(session.n))

    async def write(self, session: Session, params: Any, answer: Any) -> Any:
        raise AssertionError("not asked for")

    def forget(self, session: Session) -> None:
        pass


@pytest.fixture
def client() -> Client:
    warnings = ProtocolWarnings()
    router = SessionRouter(Settings, warnings)
    files: Any = Files()
    return Client("x", Settings, router, files, files, warnings)


def ask(client: Client, session_id: str) -> Awaitable[Any]:
    params = msgspec.json.encode({"sessionId": session_id, "path": "/a"})
    method = "fs/read_text_file"
    answer = client.on_request(method, msgspec.Raw(params), IncomingCall(1, method))
    assert answer is not None
    return answer


async def read(client: Client, session_id: str) -> str:
    answer: schema.ReadTextFileResponse = await ask(client, session_id)
    return answer.content


def answer(session_id: str) -> schema.NewSessionResponse:
    return schema.NewSessionResponse(session_id)


async def test_a_request_before_the_answer_belongs_to_the_session_that_is_being_opened(
    client: Client,
) -> None:
    with client.router.route_when_named(Session(1, "x", "/work")) as named:
        assert await read(client, "a") == "1"
        named(answer("a"), None)
    assert await read(client, "a") == "1"


async def test_a_session_is_known_from_its_answer_on(client: Client) -> None:
    one, two = Session(1, "x", "/work"), Session(2, "x", "/work")
    with (
        client.router.route_when_named(one) as first,
        client.router.route_when_named(two) as second,
    ):
        second(answer("b"), None)
        first(answer("a"), None)
        assert [await read(client, id) for id in "ab"] == ["1", "2"]


async def test_a_request_is_refused_while_two_sessions_are_being_opened(client: Client) -> None:
    with (
        client.router.route_when_named(Session(1, "x", "/work")),
        client.router.route_when_named(Session(2, "x", "/work")),
        pytest.raises(RequestError, match="unknown session"),
    ):
        await read(client, "a")


async def test_an_id_that_differs_from_the_answer_is_forgotten(client: Client) -> None:
    with client.router.route_when_named(Session(1, "x", "/work")) as named:
        assert await read(client, "wrong") == "1"
        named(answer("a"), None)
    with pytest.raises(RequestError, match="unknown session"):
        await read(client, "wrong")


async def test_a_refusal_and_a_late_answer_assign_no_id(client: Client) -> None:
    with client.router.route_when_named(Session(1, "x", "/work")) as named:
        named(None, RequestError(-32603, "no"))
    named(answer("a"), None)
    with pytest.raises(RequestError, match="unknown session"):
        await read(client, "a")


async def test_a_closed_session_is_not_mistaken_for_the_new_one(client: Client) -> None:
    old = Session(1, "x", "/work")
    client.router.adopt("old", old)
    client.forget(old)
    with (
        client.router.route_when_named(Session(2, "x", "/work")),
        pytest.raises(RequestError, match="unknown session"),
    ):
        await read(client, "old")
