"""Agents that do not answer a request that a session waits for: a notice, and nothing is lost."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from acp_nvim.tasks import Tasks
from tests.support.editor import Editor
from tests.support.stalled_agent import let_answer, stalled_agent, stalled_name
from tests.support.stored_sessions import MODES
from tests.support.waiting import until

STATUS = "require('acp').state().sessions[{n}].status == '{status}'"
RESUMES = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
LOADS = {"loadSession": True}


def notices(editor: Editor) -> dict[int, str]:
    """Return the titles of notices by session."""
    return {e["data"]["session"]: e["data"]["title"] for e in editor.events("AcpNotice")}


def wait_status(editor: Editor, status: str, n: int = 1) -> None:
    editor.wait(STATUS.format(n=n, status=status))


def restart_silent(editor: Editor, n: int, method: str, capabilities: dict[str, Any]) -> None:
    """Open a session of an agent, and restart it so that it does not answer this method."""
    store = str(editor.home / f"{stalled_name(method)}.json")
    traffic = stalled_agent(editor, method, "stores", store, capabilities=capabilities)
    editor.cmd("AcpPrompt! say before")
    editor.wait(f"require('acp').state().sessions[{n}].stop_reason")
    editor.cmd(f"Acp restart {stalled_name(method)}")
    traffic.wait(method)


def test_each_is_reported_once_and_its_late_answer_counts(editor: Editor) -> None:
    restart_silent(editor, 1, "session/resume", RESUMES)
    restart_silent(editor, 2, "session/load", LOADS)
    login = ("wants_login", str(editor.home / "logged-in"), "a", "session/new")
    stalled_agent(editor, "initialize")
    editor.cmd("AcpPrompt! three")
    stalled_agent(editor, "session/new")
    editor.cmd("AcpPrompt! four")
    stalled_agent(editor, "authenticate", *login, auth_method="account")
    editor.cmd("AcpPrompt! say five")
    stalled_agent(editor, "session/set_mode", new_session={"modes": MODES["modes"]}, mode="code")
    editor.cmd("AcpPrompt! six")
    methods = ["session/resume", "session/load", "initialize", "session/new", "authenticate"]
    methods.append("session/set_mode")
    editor.wait_event("AcpNotice", len(methods))
    for n, method in enumerate(methods, 1):
        named = f"{stalled_name(method)} has not answered {method}"
        way_out = "for 10 s. :Acp restart starts it again"
        assert notices(editor)[n].startswith(named)
        assert notices(editor)[n].endswith(way_out)
        assert sum(named in line and way_out in line for line in editor.chat(n)) == 1
        assert editor.session(n)["status"] == "starting"
        let_answer(editor, method)
    for n in (1, 2):
        wait_status(editor, "idle", n)
    for n in (3, 4, 5, 6):
        editor.wait(f"require('acp').state().sessions[{n}].stop_reason == 'end_turn'")
    assert len(editor.events("AcpNotice")) == len(methods)


@pytest.mark.parametrize("method", ["initialize", "session/new"])
@pytest.mark.parametrize("cancelled", [True, False])
def test_a_restart_loses_no_prompt(editor: Editor, method: str, cancelled: bool) -> None:
    editor.setup({"timeouts": {"kill_s": 0.3}})
    traffic = stalled_agent(editor, method)
    for text in ("one", "two"):
        editor.prompt(text)
    traffic.wait(method)
    if cancelled:
        editor.cmd("AcpCancel")
        editor.wait_message("on hold. :Acp queue run sends")
    editor.cmd("Acp restart")
    until(lambda: len(traffic.pids()) == 2)
    let_answer(editor, method)
    if cancelled:
        wait_status(editor, "idle")
        assert (editor.session(1)["queue"], traffic.prompts()) == (["one", "two"], [])
        editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 2)
    assert traffic.prompts() == ["one", "two"]
    assert not any("was stopped" in line for line in editor.chat(1))
    assert editor.lua("return vim.fn.bufexists('acp://composer/1')") == 0


def test_a_logout_waits_until_the_agent_has_started(editor: Editor) -> None:
    traffic = stalled_agent(editor, "initialize", capabilities={"auth": {"logout": {}}})
    editor.prompt("one")
    traffic.wait("initialize")
    editor.cmd("Acp logout")
    let_answer(editor, "initialize")
    traffic.wait("logout")


async def test_a_quick_agent_is_not_reported() -> None:
    reports: list[str] = []
    named = anyio.Event()
    async with anyio.create_task_group() as group:
        tasks = Tasks(group, lambda what, error: reports.append(f"{what}: {error}"))
        with tasks.if_slow(0.0, named.set):
            await named.wait()
        with tasks.if_slow(0.0, lambda: reports.append("quick")):
            pass
        with pytest.raises(ValueError, match="its own"), tasks.if_slow(3600, lambda: None):
            raise ValueError("its own")
    assert reports == []
