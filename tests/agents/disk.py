"""Agents that change files on disk without the client, as many real ones do."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

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
    subprocess.run(["sh", "-c", command], check=False)
    agent.note(f"ran {command}")
    agent.update(update_of("tool_call_update", toolCallId=id, status="completed"))


@scenario
def edits_by(agent: Agent, path: str, command: str) -> None:
    """Run a shell command in a tool call of kind edit that names only PATH."""
    id, here = f"edits {next(COUNT)}", [{"path": path}]
    call = {"toolCallId": id, "title": "edit", "kind": "edit", "locations": here}
    agent.update(update_of("tool_call", status="in_progress", **call))
    subprocess.run(["sh", "-c", command], check=False)
    agent.update(update_of("tool_call_update", toolCallId=id, status="completed"))


@scenario
def silently(agent: Agent, command: str) -> None:
    """Run a shell command outside of any tool call."""
    subprocess.run(["sh", "-c", spoken(command)], check=False)
    agent.note(f"ran {command}")


@scenario
def edits_disk(agent: Agent, path: str, *text: str) -> None:
    """Write PATH on disk in a tool call of kind edit that has the diff."""
    content = json.loads(" ".join(text))
    file = Path(path)
    old = file.read_text(encoding="utf-8") if file.exists() else None
    announced(agent, f"edit {path}", "edit", f"edit {path}", [path])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
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
        Path(path).read_text(encoding="utf-8")
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
        if Path(path).exists():
            return
        agent.check_cancel(0.01)
