"""Lines of a prompt for the scenario `script`: `editor.turn(shell("rm a.txt"))`."""

from __future__ import annotations

import json
from pathlib import Path


def shell(command: str, *paths: Path) -> str:
    """The agent runs a command within a tool call, which names the paths."""
    return " ".join(["runs", *map(str, paths), json.dumps(command)])


def silently(command: str) -> str:
    """The agent runs a command that no tool call tells of."""
    return "silently " + json.dumps(command)
