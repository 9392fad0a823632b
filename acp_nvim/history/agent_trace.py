"""Authors of lines in the format Agent Trace 0.1.0 (https://agent-trace.dev)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from acp_nvim.history.blames import Author, FileAuthors

VERSION: Final = "0.1.0"


def trace(
    files: Mapping[str, FileAuthors], version: str, now: float, revision: str = ""
) -> dict[str, Any]:
    """Return a record of the files, by path relative to the workspace.

    Files without lines by agents are left out. `version` is the version of this plugin. Without a
    git `revision`, line numbers refer to the current texts.
    """
    by_path = {path: _conversations(authors) for path, authors in files.items()}
    return {
        "version": VERSION,
        "id": str(uuid4()),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        **({"vcs": {"type": "git", "revision": revision}} if revision else {}),
        "tool": {"name": "acp.nvim", "version": version},
        "files": [
            {"path": path, "conversations": conversations}
            for path, conversations in by_path.items()
            if conversations
        ],
    }


def _conversations(file: FileAuthors) -> list[dict[str, Any]]:
    """Return one item for each prompt, with its lines (1-based, inclusive)."""
    ranges: dict[int, list[dict[str, int]]] = {}
    for first, end, author in file.ranges:
        ranges.setdefault(author, []).append({"start_line": first + 1, "end_line": end})
    return [
        {
            "url": _url(file.authors[author]),
            "contributor": {"type": "ai"},
            "ranges": lines,
        }
        for author, lines in ranges.items()
    ]


def _url(author: Author) -> str:
    """Return a URL made of the agent, its session id, and the number of the prompt."""
    session = f"acp://{quote(author.agent, '')}/{quote(author.agent_id, '')}"
    return f"{session}#prompt-{author.prompt}" if author.prompt else session
