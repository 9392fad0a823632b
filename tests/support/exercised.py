"""Parts of the protocol that a test exercises, from the traffic of its agents.

With `ACP_RECORD=FILE` each test with a real Neovim appends a line to FILE; `python -m
tests.project.coverage FILE` makes a table of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support.traffic import Traffic

Frame = dict[str, Any]
FILE = os.environ.get("ACP_RECORD", "")


def record(test: str, traffic: Iterable[Traffic]) -> None:
    """Record the parts that a test has exercised, if `ACP_RECORD` is set."""
    if FILE:
        found = sorted(set().union(*(parts(one.entries()) for one in traffic)))
        line = json.dumps({"test": test, "parts": found}) + "\n"
        with Path(FILE).open("a", encoding="utf-8") as file:
            file.write(line)


def parts(entries: Iterable[Frame]) -> set[str]:
    """Return the parts as `VERSION KIND NAME`: requests of either side that were answered with a
    result, and notifications (`ask`, `serve`); updates; content blocks; content of tool calls.
    """
    found: set[str] = set()
    version, requests = 1, dict[tuple[str, str], str]()
    for entry in entries:
        frame, side = entry.get("frame"), {"in": "ask", "out": "serve"}.get(entry["dir"], "")
        if not isinstance(frame, dict) or not side:
            continue
        method, id = frame.get("method"), json.dumps(frame.get("id"))
        if method == "initialize":
            version = 2 if (frame.get("params") or {}).get("protocolVersion") == 2 else 1
        if method is not None and "id" in frame:
            requests[side, id] = method
        elif method is not None:
            found.add(f"{version} {side} {method}")
        elif "result" in frame:
            other = "serve" if side == "ask" else "ask"
            if (answered := requests.pop((other, id), None)) is not None:
                found.add(f"{version} {other} {answered}")
        found.update(f"{version} {one}" for one in _content(frame))
    return found


def _content(frame: Frame) -> Iterator[str]:
    params = frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    if isinstance(update, dict) and "sessionUpdate" in update:
        yield f"update {update['sessionUpdate']}"
        is_call = str(update["sessionUpdate"]).startswith("tool_call")
        yield from _blocks(update.get("content"), "content" if is_call else "block")
    if isinstance(params, dict) and "prompt" in params:
        yield from _blocks(params["prompt"], "block")


def _blocks(value: Any, kind: str) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and isinstance(item.get("type"), str):
            yield f"{kind} {item['type']}"
            if kind == "content":
                yield from _blocks(item.get("content"), "block")
