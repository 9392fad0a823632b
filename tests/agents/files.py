"""Files and terminals of the client, driven by the prompt's text through `script`."""

from __future__ import annotations

import json
import shlex
from typing import Any

from tests.agents.agent import Agent, Frame
from tests.agents.loop import scenario


def told(agent: Agent, what: str, response: Frame) -> Any:
    """Note and say the outcome of a request; returns the result, None for an error."""
    if "error" in response:
        error = response["error"]
        agent.note(f"{what} error {error['code']} {json.dumps(error.get('data'))}")
        agent.say(f"{what}: error {error['code']} {error['message']}\n")
        return None
    agent.note(f"{what} ok")
    return response["result"]


@scenario
def read(agent: Agent, path: str, line: str = "", limit: str = "") -> None:
    """Read PATH from LINE on, LIMIT lines (`-` for none); say its content as a JSON string."""
    params: Frame = {"path": path}
    if line not in ("", "-"):
        params["line"] = int(line)
    if limit not in ("", "-"):
        params["limit"] = int(limit)
    result = told(agent, f"read {path}", agent.ask("fs/read_text_file", params))
    if result is not None:
        agent.say(f"{json.dumps(result['content'], ensure_ascii=False)}\n")


@scenario
def write(agent: Agent, path: str, *text: str) -> None:
    """Write PATH. The text is a JSON string when it reads as one, else as it is."""
    content = " ".join(text)
    try:
        value = json.loads(content)
    except ValueError:
        value = content
    content = value if isinstance(value, str) else content
    told(
        agent, f"write {path}", agent.ask("fs/write_text_file", {"path": path, "content": content})
    )


@scenario
def replace(agent: Agent, path: str, old: str, new: str) -> None:
    """Read PATH, replace OLD by NEW everywhere, write it: what an edit tool does."""
    result = told(agent, f"read {path}", agent.ask("fs/read_text_file", {"path": path}))
    if result is not None:
        content = result["content"].replace(old, new)
        params = {"path": path, "content": content}
        told(agent, f"write {path}", agent.ask("fs/write_text_file", params))


@scenario
def reads(agent: Agent, path: str, count: str = "1000") -> None:
    """COUNT reads of PATH, one after another."""
    for _ in range(int(count)):
        response = agent.ask("fs/read_text_file", {"path": path})
        assert "result" in response, response
    agent.note("reads done")


@scenario
def write_disk(agent: Agent, path: str, *text: str) -> None:
    """Write PATH on disk by itself, past the client; the text as in `write`."""
    content = json.loads(" ".join(text))
    with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
        file.write(content)
    agent.note(f"wrote {path}")


@scenario
def shell(agent: Agent, *command: str) -> None:
    """Run a command in a terminal of the client, say its output and exit status."""
    program, *args = command if len(command) > 1 else shlex.split(command[0])
    created = told(
        agent, "create", agent.ask("terminal/create", {"command": program, "args": args})
    )
    if created is None:
        return
    terminal = {"terminalId": created["terminalId"]}
    status = told(agent, "wait", agent.ask("terminal/wait_for_exit", terminal))
    output = told(agent, "output", agent.ask("terminal/output", terminal))
    told(agent, "release", agent.ask("terminal/release", terminal))
    agent.say(f"{json.dumps(output)}\n{json.dumps(status)}\n")


@scenario
def request(agent: Agent, method: str, text: str = "{}") -> None:
    """Any request, its parameters as JSON; the response is said as JSON."""
    response = agent.ask(method, json.loads(text))
    kind = "result" if "result" in response else "error"
    agent.note(f"{method} {kind} {json.dumps(response[kind])}")
    agent.say(f"{json.dumps(response[kind])}\n")


@scenario
def notify(agent: Agent, method: str, text: str = "{}") -> None:
    """Any notification, its parameters as JSON."""
    agent.notify(method, json.loads(text))


@scenario
def read_growing(agent: Agent, path: str, count: str) -> None:
    """COUNT reads of PATH, each of which must begin with all of the one before; say the last."""
    before = ""
    for _ in range(int(count)):
        content = agent.ask("fs/read_text_file", {"path": path})["result"]["content"]
        assert content.startswith(before), f"{before[-80:]!r} has become {content[-80:]!r}"
        before = content.rstrip("\n")
    agent.say(f"{json.dumps(before, ensure_ascii=False)}\n")
