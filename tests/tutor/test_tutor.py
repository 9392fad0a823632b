"""The tutor over real stdio, from the client's side."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.tutor import lessons
from acp_nvim.tutor.edits import proposal
from acp_nvim.tutor.texts import chunks, first_change
from tests.support import conformance
from tests.support.editor import ROOT
from tests.tutor.tutor_client import CAPABILITIES, TutorClient

SAMPLE = ROOT / "acp_nvim/tutor/sample"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., TutorClient]]:
    clients: list[TutorClient] = []
    sample = tmp_path / "sample"
    shutil.copytree(SAMPLE, sample, ignore=shutil.ignore_patterns("__pycache__"))

    def begin(cwd: Path = sample, **options: Any) -> TutorClient:
        client = TutorClient(cwd, **options)
        clients.append(client)
        client.hurry()
        client.files = {str(path): path.read_text() for path in sample.iterdir()}
        return client

    yield begin
    assert [client.close() for client in clients] == [0] * len(clients)


@pytest.fixture
def client(start: Callable[..., TutorClient]) -> TutorClient:
    return start()


def test_the_handshake_is_valid(client: TutorClient) -> None:
    assert conformance.against("InitializeResponse", client.initialized) == []
    assert conformance.against("NewSessionResponse", client.opened) == []
    assert client.initialized["agentInfo"]["name"] == "tutor"
    assert client.opened["modes"]["currentModeId"] == "ask"
    client.until(lambda: client.of("available_commands_update"))
    names = [c["name"] for c in client.of("available_commands_update")[0]["availableCommands"]]
    assert names == list(lessons.LESSONS)


def test_an_edit_is_shown_then_allowed_then_written(client: TutorClient) -> None:
    path = str(client.cwd / "till.py")
    before = client.files[path]
    client.prompt("/edit")
    methods = [method for method, _ in client.requests]
    assert methods == ["fs/read_text_file", "session/request_permission", "fs/write_text_file"]
    question = client.asked("session/request_permission")[0]
    assert conformance.against("RequestPermissionRequest", question) == []
    assert [o["kind"] for o in question["options"]] == [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
    ]
    diff = question["toolCall"]["content"][0]
    assert (diff["oldText"], diff["newText"]) == (before, client.files[path])
    call = next(c for c in client.of("tool_call") if c["kind"] == "edit")
    line = before.split("\n").index("    for _, count, price in basket[:-1]:") + 1
    assert call["locations"] == [{"path": path, "line": line}]
    states = [
        u.get("status")
        for u in client.of("tool_call_update")
        if u["toolCallId"] == call["toolCallId"]
    ]
    assert states == ["in_progress", "completed"]


def test_a_refusal_changes_nothing_and_fails_the_tool_call(client: TutorClient) -> None:
    client.choice = "reject_once"
    before = dict(client.files)
    assert "Nothing was changed" in client.prompt("/edit")
    assert client.files == before
    assert client.of("tool_call_update")[-1]["status"] == "failed"


@pytest.mark.parametrize(("choice", "changes"), [("allow_always", True), ("reject_always", False)])
def test_always_is_remembered(client: TutorClient, choice: str, changes: bool) -> None:
    client.choice = choice
    before = dict(client.files)
    client.prompt("/edit")
    client.prompt("/edit")
    assert len(client.asked("session/request_permission")) == 1
    assert (client.files != before) is changes
    assert len(client.asked("fs/write_text_file")) == (2 if changes else 0)


def test_modes_decide_whether_the_tutor_asks(client: TutorClient) -> None:
    params = {"sessionId": client.session, "modeId": "explain"}
    client.ask("session/set_mode", params)
    assert client.of("current_mode_update")[-1]["currentModeId"] == "explain"
    options = client.of("config_option_update")[-1]["configOptions"]
    assert next(o for o in options if o["id"] == "mode")["currentValue"] == "explain"
    assert "Explain only" in client.prompt("/edit")
    assert not client.asked("session/request_permission")
    options = client.ask(
        "session/set_config_option",
        {"sessionId": client.session, "configId": "mode", "value": "trust"},
    )["configOptions"]
    assert next(o for o in options if o["id"] == "mode")["currentValue"] == "trust"
    client.prompt("/edit")
    assert not client.asked("session/request_permission")
    assert client.asked("fs/write_text_file")


def test_a_cancel_ends_a_slow_answer(client: TutorClient) -> None:
    number = client.begin("/slow 60")
    client.until(lambda: "2. " in client.said())
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"
    assert "/tour" in client.prompt("/help"), "the session goes on"


def test_a_cancel_ends_an_open_question(client: TutorClient) -> None:
    client.choice = None
    number = client.begin("/edit")
    client.until(lambda: client.open)
    client.notify("session/cancel", {"sessionId": client.session})
    assert client.end(number) == "cancelled"
    client.until(lambda: client.withdrawn)
    outcome = {"outcome": {"outcome": "cancelled"}}
    client.write(client.peer.respond(client.open[0].id, outcome))
    assert client.prompt("/help")


def test_a_question_answered_as_cancelled_ends_the_turn(client: TutorClient) -> None:
    client.choice = None
    number = client.begin("/edit")
    client.until(lambda: client.open)
    outcome = {"outcome": {"outcome": "cancelled"}}
    client.write(client.peer.respond(client.open[0].id, outcome))
    assert client.end(number) == "cancelled"


def test_a_cancelled_prompt_is_answered_too(client: TutorClient) -> None:
    number = client.begin("/slow 60")
    client.until(lambda: "1. " in client.said())
    client.notify("$/cancel_request", {"requestId": number})
    assert client.end(number) == "cancelled"


def test_refusals_of_the_client_are_reported(client: TutorClient) -> None:
    client.refuse = {"fs/write_text_file": "lines 3 to 4 changed meanwhile"}
    assert "lines 3 to 4 changed meanwhile" in client.prompt("/edit")
    assert client.of("tool_call_update")[-1]["status"] == "failed"
    client.refuse = {"fs/read_text_file": "outside of the session"}
    assert "outside of the session" in client.prompt("/read /etc/passwd")


def test_the_tutor_uses_the_file_of_the_prompt(client: TutorClient, tmp_path: Path) -> None:
    path = tmp_path / "a file.lua"
    client.files[str(path)] = "local a = 1\n"
    link = {"type": "resource_link", "uri": path.as_uri(), "name": "a file.lua"}
    client.prompt("/edit", link)
    assert client.files[str(path)].startswith("-- The tutor was here")
    assert client.files[str(path)].endswith("\nlocal a = 1\n")
    resource = {"uri": path.as_uri(), "text": "local a = 1\n"}
    assert "a file.lua" in client.prompt("read it", {"type": "resource", "resource": resource})


def test_the_users_own_file_is_not_changed_without_a_question(
    start: Callable[..., TutorClient], tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("mine\n")
    client = start(tmp_path)
    client.files = {str(tmp_path / "README.md"): "mine\n"}
    reply = client.prompt("hello")
    assert "unasked" in reply
    assert "`:Acp tutor`" in reply
    assert not client.asked("session/request_permission")


def test_errors_of_the_client_are_refused(client: TutorClient) -> None:
    for method, params, code in (
        ("session/prompt", {"sessionId": "no", "prompt": []}, -32002),
        ("session/set_mode", {"sessionId": client.session, "modeId": "no"}, -32602),
        ("session/set_mode", {"sessionId": client.session}, -32602),
        ("session/load", {"sessionId": "x", "cwd": "/", "mcpServers": []}, -32601),
        ("_vendor/thing", {}, -32601),
    ):
        error = client.response(client.send(method, params)).error
        assert error is not None
        assert error.code == code, method
    assert client.violations == []
    client.write(b"not json\n")
    client.until(lambda: client.violations)
    assert b"-32700" in client.violations[0].raw
    assert "I don't know `/nonsense`" in client.prompt("/nonsense at all")


def test_a_fork_continues_from_a_cursor(start: Callable[..., TutorClient]) -> None:
    client = start(capabilities={**CAPABILITIES, "session": {"cursors": {}}})
    cursors = []
    for prompt in ("/help", "/plan"):
        client.prompt(prompt)
        cursors += client.of("cursor_update")
    assert [(one["capabilities"], one["anchor"]["position"]) for one in cursors] == [
        ({"fork": {}}, "after"),
        ({"fork": {}}, "after"),
    ]
    opening = {"sessionId": client.session, "cwd": str(client.cwd), "mcpServers": []}
    client.updates.clear()
    fork = client.ask("session/fork", {**opening, "cursorId": cursors[0]["cursorId"]})
    client.until(lambda: client.of("cursor_update"))
    assert client.of("cursor_update") == cursors[:1]
    wrong = client.send(
        "session/fork", {**opening, "sessionId": fork["sessionId"], "cursorId": "turn-2"}
    )
    error = client.response(wrong).error
    assert error is not None
    assert error.code == -32602
    client.session = fork["sessionId"]
    client.prompt("/help")
    assert client.of("cursor_update")[0]["cursorId"] == cursors[1]["cursorId"]
    assert client.ask("session/fork", opening)["sessionId"] not in (
        fork["sessionId"],
        client.session,
    )


def test_cursors_are_only_for_clients_that_know_them(client: TutorClient) -> None:
    client.prompt("/help")
    assert client.of("cursor_update") == []


def test_two_prompts_at_once_are_refused(client: TutorClient) -> None:
    first = client.begin("/slow 60")
    client.until(client.said)
    error = client.response(client.begin("me too")).error
    assert error is not None
    assert error.code == -32600
    client.ask("session/close", {"sessionId": client.session})
    assert client.end(first) == "cancelled"


def test_the_end_of_input_ends_the_tutor_during_a_turn(client: TutorClient) -> None:
    client.begin("/slow 60")
    client.until(client.said)  # the fixture closes and expects exit code 0


@pytest.mark.parametrize("name", [name for name in lessons.LESSONS if name != "slow"])
def test_every_lesson_has_a_text(client: TutorClient, name: str) -> None:
    assert client.prompt(f"/{name}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("can I cancel you", "`:AcpCancel`"),
        ("what is your plan", "Look at what is there"),
        ("please fix the bug", "leaves out the last line"),
        ("what is the meaning of life", "no model"),
    ],
)
def test_plain_words_find_a_lesson(client: TutorClient, text: str, expected: str) -> None:
    client.prompt("/help")
    assert expected in client.prompt(text)


def test_the_sample_has_the_bug_that_the_tutor_fixes(tmp_path: Path) -> None:
    path = tmp_path / "till.py"
    text = (SAMPLE / "till.py").read_text()

    def total(source: str) -> str:
        path.write_text(source)
        ran = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
        return ran.stdout.split()[-1]

    assert total(text) == "12.20"
    assert "12.20" in (SAMPLE / "README.md").read_text()
    fixed = proposal(path, text)
    assert fixed is not None
    assert total(fixed.text) == "17.40"
    again = proposal(path, fixed.text)
    assert again is not None
    assert total(again.text) == "17.40"


def test_the_chunks_of_a_text_add_up_to_it() -> None:
    for text in ("", "a", "  a b\n\n c d  e f\n", "\n\nx\n"):
        assert "".join(chunks(text)) == text


@pytest.mark.parametrize(
    ("live", "saved", "found"),
    [
        ("a\nb\n", "a\nb\n", None),
        ("a\nnew\nb\n", "a\nb\n", (2, "new")),
        ("a\nB\n", "a\nb\n", (2, "B")),
        ("a\n", "a\nb\n", None),
        ("a\n\n  \nb\n", "a\nb\n", None),
    ],
)
def test_the_first_change_is_found(live: str, saved: str, found: tuple[int, str] | None) -> None:
    assert first_change(saved, live) == found


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("/edit", "/edit"),
        ("/slow 60", "/slow 60"),
        ("/tour", "A tour with the tutor"),
        ("  look at\ntill.py ", "look at till.py"),
    ],
)
def test_a_session_has_the_title_of_its_lesson(prompt: str, title: str) -> None:
    assert lessons.title(prompt) == title
