"""One agent over each transport: the user sees and does the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.remote_server import TUTOR, RemoteServer
from tests.support.traffic import Traffic
from tests.support.waiting import until

BEFORE = "one\ntwo\nthree\n"
AFTER = BEFORE.replace("two", "TWO")
IDLE = "require('acp').state().sessions[1].status == 'idle'"

Agent = Callable[..., Traffic]


class Servers:
    """Servers of a test, which end after it."""

    def __init__(self) -> None:
        self.all: list[RemoteServer] = []

    def serve(self, command: list[str], env: dict[str, str] | None = None) -> RemoteServer:
        server = RemoteServer(command, env)
        server.start()
        self.all.append(server)
        return server


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = Servers()
    yield made
    for server in made.all:
        if server.runs:
            server.kill()


@pytest.fixture
def agent(editor: Editor, servers: Servers, transport: str) -> Agent:
    """Return a function that configures a scripted agent reached by the transport."""

    def make(scenario: str = "script", **entry: Any) -> Traffic:
        if transport == "stdio":
            return editor.agent(scenario, **entry)
        return editor.agent(
            scenario,
            elsewhere=lambda command, env: servers.serve(command, env).url(transport),
            **entry,
        )

    return make


@pytest.fixture(params=["stdio", "ws", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_turn_with_all_kinds_of_updates_is_shown(
    editor: Editor, agent: Agent, transport: str
) -> None:
    traffic = agent()
    end = editor.turn("say one\nthink why\ntool\nplan\nupdates\nsay two")
    assert end["stop_reason"] == "end_turn"
    session = editor.session()
    assert (session["status"], session["title"]) == ("idle", "A title")
    assert [command["name"] for command in session["commands"]] == ["tour", "edit"]
    assert [e["status"] for e in session["plan"]] == ["completed", "in_progress", "pending"]
    assert [(c["id"], c["status"]) for c in session["tool_calls"]] == [("t1", "completed")]
    chat = editor.chat()
    assert [line for line in chat if line in ("one", "two")] == ["one", "two"]
    known = editor.state()["agents"]["script"]
    assert ("pid" in known, "url" in known) == (transport == "stdio", transport != "stdio")
    path = editor.write("a.txt", "unsaved\n")
    editor.open(path)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, {'live'})")
    editor.turn(f"read {path}")
    assert traffic.answers("fs/read_text_file")[0]["result"] == {"content": "live\n"}


def test_permissions_and_a_cancel_work(editor: Editor, agent: Agent) -> None:
    agent()
    for count, (key, wanted) in enumerate((("allow", "allow"), ("deny", "reject")), 1):
        editor.prompt(f"permission p{count}")
        editor.wait_event("AcpPermission", count)
        editor.answer(f"Acp {key}")
        editor.wait_event("AcpTurnEnd", count)
        assert any(line.startswith(f"p{count}: {wanted}") for line in editor.chat())
    editor.prompt("permission p3")
    editor.wait_event("AcpPermission", 3)
    editor.prompt("say later")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd", 3)["stop_reason"] == "cancelled"
    assert editor.session()["queue"] == ["say later"]
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 4)
    assert "later" in editor.chat()


def test_edits_on_disk_and_through_the_editor_can_be_reviewed(editor: Editor, agent: Agent) -> None:
    path = editor.write("a.txt", BEFORE)
    editor.open(path)
    agent()
    editor.turn(f"edits_disk {path} {json.dumps(AFTER)}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: path.read_text() == BEFORE)
    editor.turn(f"write {path} {json.dumps(AFTER)}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp accept all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == AFTER


def test_the_tutor_works_over_each_transport(
    editor: Editor, servers: Servers, transport: str
) -> None:
    if transport != "stdio":
        url = servers.serve(list(TUTOR)).url(transport)
        editor.setup({"agent": "tutor", "agents": {"tutor": {"url": url}}})
    else:
        editor.setup({"agent": "tutor"})
    assert editor.turn("hello")["stop_reason"] == "end_turn"
    path = editor.write("till.py", "total = 1\n")
    editor.prompt(f"edit {path}")
    editor.wait_event("AcpPermission")
    editor.answer("Acp allow")
    assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "end_turn"
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    assert editor.turn("hello")["stop_reason"] == "end_turn"


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_a_server_that_is_killed_in_a_turn_and_returns_continues(
    editor: Editor, servers: Servers, scheme: str
) -> None:
    server = servers.serve(list(TUTOR))
    editor.setup({"agent": "tutor", "agents": {"tutor": {"url": server.url(scheme)}}})
    editor.turn("hello")
    path = editor.write("till.py", "total = 1\n")
    editor.prompt(f"edit {path}")
    editor.wait_event("AcpPermission")
    editor.prompt("hello again")
    server.kill()
    end = editor.wait_event("AcpTurnEnd", 2)
    assert "Connecting again" in end["error"]
    assert editor.session()["queue"] == ["hello again"]
    server.start()
    assert editor.wait_event("AcpTurnEnd", 3)["stop_reason"] == "end_turn"
    editor.wait(IDLE)
    assert editor.session()["queue"] == []
    assert any("is connected again. The session was resumed" in line for line in editor.chat())
    assert editor.events("AcpAgentExit") == []
    back = editor.lua(
        "return vim.api.nvim_buf_get_lines(..., 0, 1, true)", editor.session()["composer_bufnr"]
    )
    assert back == [f"edit {path}"]
    editor.quit()
    assert server.runs
