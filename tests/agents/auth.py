"""Agents that require a login: at different times, by different methods."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.agents.agent import Agent, Frame
from tests.agents.loop import SCENARIOS, new_session, run_turn, whole_life

REQUIRED = -32000


def methods(kinds: str) -> list[Frame]:
    """Return the advertised methods, by the letters of KINDS: agent, second agent, terminal, meta,
    environment, failing.
    """
    known: dict[str, Frame] = {
        "a": {"id": "account", "name": "Account", "description": "Log in with an account"},
        "b": {"id": "browser", "name": "Browser"},
        "f": {"id": "broken", "name": "Broken"},
        "t": {
            "id": "device",
            "name": "Device code",
            "type": "terminal",
            "args": ["login"],
            "env": {"ACP_LOGIN": "yes"},
        },
        "m": {
            "id": "old-device",
            "name": "Device code",
            "_meta": {
                "terminal-auth": {
                    "command": sys.executable,
                    "args": ["-c", _login_code()],
                    "label": "Old login",
                    "env": {"ACP_LOGIN": "meta"},
                }
            },
        },
        "e": {
            "id": "key",
            "name": "API key",
            "type": "env_var",
            "vars": [{"name": "ACP_TEST_KEY"}, {"name": "ACP_TEST_EXTRA", "optional": True}],
        },
    }
    return [known[kind] for kind in kinds]


def _login_code() -> str:
    return "import os, pathlib; pathlib.Path(os.environ['ACP_MARK']).write_text('in')"


class Login:
    """The login state, which all processes of the agent share in a file."""

    def __init__(self, mark: str) -> None:
        self.mark = Path(mark)

    @property
    def done(self) -> bool:
        return self.mark.exists() or bool(os.environ.get("ACP_TEST_KEY"))

    def status(self) -> Frame:
        """Return the result of `auth/status`."""
        if not self.done:
            return {"state": "unauthenticated"}
        return {"state": "authenticated", "accounts": [{"label": "me@example.org"}]}


def _handshake(agent: Agent, kinds: str, capabilities: Frame) -> None:
    request = agent.expect("initialize")
    agent.client = request["params"].get("clientCapabilities", {})
    agent.reply(
        request,
        {
            "protocolVersion": 1,
            "agentCapabilities": {**agent.capabilities, **capabilities},
            "agentInfo": {"name": "scripted", "title": "Scripted", "version": "1"},
            "authMethods": methods(kinds),
        },
    )


def _authenticate(agent: Agent, login: Login, request: Frame) -> None:
    if request["params"]["methodId"] == "broken":
        agent.refuse(request, -32603, "no browser here")
        return
    login.mark.write_text("in")
    agent.reply(request, {})


def _serve(agent: Agent, login: Login, gated: str) -> None:
    while True:
        frame = agent.next()
        if frame["method"] in gated.split(",") and not login.done:
            agent.refuse(frame, REQUIRED, "Authentication required")
        else:
            _answer(agent, login, frame)


def _answer(agent: Agent, login: Login, frame: Frame) -> None:
    match frame["method"]:
        case "authenticate":
            _authenticate(agent, login, frame)
        case "session/new":
            new_session(agent, frame)
        case "session/prompt":
            agent.session = frame["params"]["sessionId"]
            run_turn(agent, frame, SCENARIOS["script"].run, [])
        case "session/list":
            agent.reply(frame, {"sessions": [{"sessionId": "x", "cwd": "/", "title": "Behind"}]})
        case "logout":
            login.mark.unlink(missing_ok=True)
            agent.reply(frame, {})
        case "auth/status":
            agent.reply(frame, login.status())
        case _ if "id" in frame:
            agent.reply(frame, {})


@whole_life
def wants_login(
    agent: Agent, mark: str, kinds: str, gated: str, code: str = "0", *more: str
) -> None:
    """Refuse the methods GATED until the user is logged in, that is, until the file MARK exists.

    With the argument `login` after these: log in and exit with CODE.
    """
    login = Login(mark)
    if more == ("login",):
        print("Your code is 1234. Press enter.", flush=True)
        sys.stdin.readline()
        if code == "0":
            login.mark.write_text(os.environ["ACP_LOGIN"])
        agent.exit(int(code))
    capabilities: dict[str, Any] = {
        "loadSession": True,
        "auth": {"logout": {}, "status": {}},
        "sessionCapabilities": {"list": {}},
    }
    _handshake(agent, kinds, capabilities)
    _serve(agent, login, gated)


@whole_life
def tells_login(agent: Agent, mark: str, method: str = "auth/status_update") -> None:
    """Refuse `session/new`. Report a login by METHOD once the file MARK exists."""
    login = Login(mark)
    _handshake(agent, "", {"auth": {"status": {}}})
    agent.reply(agent.expect("auth/status"), login.status())
    agent.refuse(agent.expect("session/new"), REQUIRED, "Authentication required")
    agent.note("refused")
    while not login.done:
        agent.check_cancel(0.02)
    agent.notify(method, login.status())
    _serve(agent, login, "")
