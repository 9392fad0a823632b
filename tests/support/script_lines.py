"""Lines of a prompt for the scenario `script`: `editor.turn(shell("rm a.txt"))`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def shell(command: str, *paths: Path) -> str:
    """Make the agent run a command in a tool call that names the paths."""
    return " ".join(["runs", *map(str, paths), json.dumps(command)])


def silently(command: str) -> str:
    """Make the agent run a command without a tool call."""
    return "silently " + json.dumps(command)


def update(**fields: Any) -> str:
    """Make the agent send an update."""
    return f"update {json.dumps(fields)}"


def say(text: str) -> str:
    """Make the agent send a message."""
    return update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})
