"""Files and terminals of the client, used by lines of the prompt through `script`."""

from __future__ import annotations

from tests.agents import quick_json as json
from tests.agents.agent import Agent, Frame
from tests.agents.loop import scenario, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def report_outcome(agent: Agent, what: str, response: Frame) -> Any:
    """Note and print the outcome of a request. Return the result, or None for an error."""
    if "error" in response:
        error = response["error"]
        agent.note(f"{what} error {error['code']} {json.dumps(error.get('data'))}")
        agent.say(f"{what}: error {error['code']} {error['message']}\n")
        return None
    agent.note(f"{what} ok")
    return response["result"]


@scenario
def read(agent: Agent, path: str, line: str = "", limit: str = "") -> None:
    """Read LIMIT lines (`-`: all) of PATH from LINE on, and print the content as a JSON string."""
    params: Frame = {"path": path}
    if line not in ("", "-"):
        params["line"] = int(line)
    if limit not in ("", "-"):
        params["limit"] = int(limit)
    result = report_outcome(agent, f"read {path}", agent.ask("fs/read_text_file", params))
    if result is not None:
        agent.say(f"{json.dumps(result['content'], ensure_ascii=False)}\n")


@scenario
def write(agent: Agent, path: str, *text: str) -> None:
    """Write PATH. TEXT is a JSON string, or plain text if it does not parse as JSON."""
    content = " ".join(text)
    try:
        value = json.loads(content)
    except ValueError:
        value = content
    content = value if isinstance(value, str) else content
    report_outcome(
        agent, f"write {path}", agent.ask("fs/write_text_file", {"path": path, "content": content})
    )


@scenario
def replace(agent: Agent, path: str, old: str, new: str) -> None:
    """Read PATH, replace OLD by NEW everywhere, and write it, as an edit tool does."""
    result = report_outcome(agent, f"read {path}", agent.ask("fs/read_text_file", {"path": path}))
    if result is not None:
        content = result["content"].replace(old, new)
        params = {"path": path, "content": content}
        report_outcome(agent, f"write {path}", agent.ask("fs/write_text_file", params))


@scenario
def reads(agent: Agent, path: str, count: str = "1000") -> None:
    """Read PATH COUNT times, one after another."""
    for _ in range(int(count)):
        response = agent.ask("fs/read_text_file", {"path": path})
        assert "result" in response, response
    agent.note("reads done")


@scenario
def write_disk(agent: Agent, path: str, *text: str) -> None:
    """Write PATH on disk, without the client. TEXT is as in `write`."""
    content = json.loads(" ".join(text))
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(content)
    agent.note(f"wrote {path}")


@scenario
def shell(agent: Agent, *command: str) -> None:
    """Run a command in a terminal of the client, and print its output and exit status."""
    program, *args = command if len(command) > 1 else words(command[0])
    created = report_outcome(
        agent, "create", agent.ask("terminal/create", {"command": program, "args": args})
    )
    if created is None:
        return
    terminal = {"terminalId": created["terminalId"]}
    status = report_outcome(agent, "wait", agent.ask("terminal/wait_for_exit", terminal))
    output = report_outcome(agent, "output", agent.ask("terminal/output", terminal))
    report_outcome(agent, "release", agent.ask("terminal/release", terminal))
    agent.say(f"{json.dumps(output)}\n{json.dumps(status)}\n")


@scenario
def request(agent: Agent, method: str, text: str = "{}") -> None:
    """Send any request with parameters in JSON, and print the response as JSON."""
    response = agent.ask(method, json.loads(text))
    kind = "result" if "result" in response else "error"
    agent.note(f"{method} {kind} {json.dumps(response[kind])}")
    agent.say(f"{json.dumps(response[kind])}\n")


@scenario
def notify(agent: Agent, method: str, text: str = "{}") -> None:
    """Send any notification with parameters in JSON."""
    agent.notify(method, json.loads(text))


@scenario
def read_growing(agent: Agent, path: str, count: str) -> None:
    """Read PATH COUNT times. Each content must begin with the one before. Print the last."""
    before = ""
    for _ in range(int(count)):
        content = agent.ask("fs/read_text_file", {"path": path})["result"]["content"]
        assert content.startswith(before), f"{before[-80:]!r} has become {content[-80:]!r}"
        before = content.rstrip("\n")
    agent.say(f"{json.dumps(before, ensure_ascii=False)}\n")
