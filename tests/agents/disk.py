"""Agents that change files on disk without the client, as many real ones do."""

from __future__ import annotations

import itertools
import os
from _signal import SIGPIPE, SIGXFSZ  # type: ignore[import-not-found]  # `signal` has imports

from tests.agents import quick_json as json
from tests.agents.agent import Agent, Frame
from tests.agents.loop import scenario, update_of


def announced(agent: Agent, id: str, kind: str, command: str, paths: list[str]) -> None:
    """Begin a tool call."""
    locations: list[Frame] = [{"path": path} for path in paths]
    agent.update(
        update_of(
            "tool_call",
            toolCallId=id,
            title=command,
            kind=kind,
            status="in_progress",
            locations=locations,
            rawInput={"command": command},
        )
    )


def run(command: str) -> None:
    """Run a shell command as `subprocess.run` does, whose imports take half of an agent's start."""
    signals = (SIGPIPE, SIGXFSZ)  # those that Python ignores
    argv = ["sh", "-c", command]
    os.waitpid(os.posix_spawnp("sh", argv, os.environ, setsigdef=signals), 0)


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


COUNT = itertools.count(1)


def spoken(command: str) -> str:
    """Return a command that was given as a JSON string or as plain text."""
    return str(json.loads(command)) if command.startswith('"') else command


@scenario
def runs(agent: Agent, *words: str) -> None:
    """Run a shell command (the last word) in a tool call of kind execute that names PATHS."""
    *paths, command = words
    command = spoken(command)
    id = f"runs {next(COUNT)}"
    announced(agent, id, "execute", command, paths)
    run(command)
    agent.note(f"ran {command}")
    agent.update(update_of("tool_call_update", toolCallId=id, status="completed"))


@scenario
def edits_by(agent: Agent, path: str, command: str) -> None:
    """Run a shell command in a tool call of kind edit that names only PATH."""
    id, here = f"edits {next(COUNT)}", [{"path": path}]
    call = {"toolCallId": id, "title": "edit", "kind": "edit", "locations": here}
    agent.update(update_of("tool_call", status="in_progress", **call))
    run(command)
    agent.update(update_of("tool_call_update", toolCallId=id, status="completed"))


@scenario
def silently(agent: Agent, command: str) -> None:
    """Run a shell command outside of any tool call."""
    run(spoken(command))
    agent.note(f"ran {command}")


@scenario
def edits_disk(agent: Agent, path: str, *text: str) -> None:
    """Write PATH on disk in a tool call of kind edit that has the diff."""
    content = json.loads(" ".join(text))
    old = read(path) if os.path.exists(path) else None
    announced(agent, f"edit {path}", "edit", f"edit {path}", [path])
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    diff: Frame = {"type": "diff", "path": path, "newText": content}
    if old is not None:
        diff["oldText"] = old
    update = update_of("tool_call_update", toolCallId=f"edit {path}", status="completed")
    agent.update(update | {"content": [diff]})


@scenario
def reads_call(agent: Agent, path: str, way: str) -> None:
    """Read PATH in a tool call of kind read: from `disk`, or through the `editor`."""
    id = f"read {next(COUNT)}"
    announced(agent, id, "read", f"Read {path}", [path])
    if way == "disk":
        read(path)
    else:
        agent.ask("fs/read_text_file", {"path": path})
    agent.update(update_of("tool_call_update", toolCallId=id, status="completed"))


@scenario
def edits_call(agent: Agent, path: str) -> None:
    """Add a line to PATH in a tool call of kind edit, read and written through the editor."""
    id = f"edit {next(COUNT)}"
    announced(agent, id, "edit", f"Edit {path}", [path])
    text = agent.ask("fs/read_text_file", {"path": path})["result"]["content"]
    agent.ask("fs/write_text_file", {"path": path, "content": f"{text}added\n"})
    agent.update(update_of("tool_call_update", toolCallId=id, status="completed"))


@scenario
def until_there(agent: Agent, path: str, seconds: str = "20") -> None:
    """Wait without output until a file exists, or for a cancel."""
    agent.note("waiting")
    for _ in range(int(float(seconds) / 0.01)):
        if os.path.exists(path):
            return
        agent.check_cancel(0.01)
