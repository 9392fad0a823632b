"""Lines of the question about the MCP servers in a project file.

The user agrees to these lines, so they show everything: program and arguments, address, each
variable and header, and any other key that an agent may read. Only secret values are hidden.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from acp_nvim.agent.opening.shown_values import (
    HIDDEN,
    names_of_variables,
    shown_text,
    shown_value,
    shown_words,
)
from acp_nvim.patterns import late

_READ: Final = ("name", "type", "command", "args", "url", "env", "headers", "disabled")
_PLAIN: Final = late(r"[\w@%+=:,./${}-]+")


def server_lines(entry: Mapping[str, Any], program: Callable[[], str | None]) -> list[str]:
    """Return the lines about a server.

    `program` returns the file that the server's command would start, or None if that is the user's
    own program of this name.
    """
    name, url = str(entry["name"]), entry.get("url")
    kind = f" ({entry['type']})" if entry.get("type") not in (None, "stdio") else ""
    lines = []
    if entry.get("command") or entry.get("args") or not url:
        lines.append(f"{name}: {_line(entry) or 'no command'}{_note_on_environment(_line(entry))}")
        path = program()
        lines += [f"  which is {path}"] if path else []
    if url:
        lines.append(f"{name}: {shown_text(str(url))}{kind}{_note_on_environment(str(url))}")
    lines += [f"  with {line}" for line in _pairs(entry.get("env"), "=")]
    lines += [f"  sends {line}" for line in _pairs(entry.get("headers"), ": ")]
    others = {key: value for key, value in entry.items() if key not in _READ}
    return lines + [f"  {key}: {shown_text(_text(value))}" for key, value in others.items()]


def _line(entry: Mapping[str, Any]) -> str:
    """Return the program and its arguments as shell words.

    The words are quoted, so that the user sees where each one ends.
    """
    args = entry.get("args") or []
    words = [entry.get("command") or "", *(args if isinstance(args, list) else [args])]
    texts = shown_words([_text(word) for word in words if word != ""])
    return " ".join(map(_quote, texts))


def _quote(word: str) -> str:
    return word if word == HIDDEN or _PLAIN.fullmatch(word) else shlex.quote(word)


def _pairs(value: Any, separator: str) -> Iterator[str]:
    """Yield the names and values of a map or list. Any other value is shown unchanged."""
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        pairs = [(str(item.get("name")), item.get("value")) for item in value]
    elif isinstance(value, dict):
        pairs = [(str(name), text) for name, text in value.items()]
    else:
        pairs = [] if value is None else [("?", value)]
    for name, text in pairs:
        note = _note_on_environment(_text(text))
        yield f"{name}{separator}{shown_value(name, _text(text))}{note}"


def _note_on_environment(text: str) -> str:
    names = names_of_variables(text)
    return f"  ({', '.join(names)} filled in from your environment)" if names else ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    import json  # few servers have such values

    return json.dumps(value, ensure_ascii=False)
