"""Deterministic workloads of the agents, so that every run can be checked exactly."""

from __future__ import annotations

import json

CHUNK = 20
"""Number of characters in a chunk, about five tokens."""

_PARAGRAPH = """\
## Reading the parser

The parser keeps `state` and *never* looks back; **each byte** is seen once. A line that is long
enough to be wrapped by the window of the chat, as prose is written by most models, goes on and on
until it ends. See [the manual](https://example.org/manual) for what `feed()` returns.

- first the header, then `rows`
- then what is left over

```python
def feed(data: bytes) -> list[Event]:
    return [event for line in data.split(b"\\n") for event in parse(line)]
```

"""


def prose(characters: int) -> str:
    """Return Markdown in the style of models."""
    return (_PARAGRAPH * (characters // len(_PARAGRAPH) + 1))[:characters]


def chunks(count: int) -> list[str]:
    """Return this number of chunks of prose."""
    text = prose(count * CHUNK)
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


def long_message(lines: int = 200_000, width: int = 70) -> str:
    """Return lines of `width` characters, including the newline. The defaults make 14 MB."""
    return "".join(
        f"{n:07d} {'the quick brown fox jumps over it ' * 3}"[: width - 1] + "\n"
        for n in range(lines)
    )


def code(language: str, lines: int) -> str:
    """Return a fenced block in that language with a word below it."""
    comment = {"lua": "--"}.get(language, "#")
    body = [f'value_{n} = compute({n}, "text {n * 7 % 101}")  {comment} line' for n in range(lines)]
    return "\n".join([f"```{language}", *body, "```", "done", ""])


def output(lines: int) -> str:
    """Return output in the style of a build."""
    return "".join(f"[{n:5d}] compiling module number {n}\n" for n in range(lines))


def source(lines: int, edition: int = 0, hunks: int = 0) -> str:
    """Return the text of a file. `hunks` of its lines, evenly spread, contain the edition."""
    every = lines // hunks if hunks else 0
    text = [f"value_{n} = compute({n}, {n * 7 % 101})  # line" for n in range(lines)]
    for n in range(every // 2, lines, every) if hunks else ():
        text[n] = f"value_{n} = changed({edition})"
    return "\n".join(text) + "\n"


def notification(session: str, update: dict[str, object]) -> bytes:
    """Return one `session/update` line."""
    params = {"sessionId": session, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def say(session: str, text: str) -> bytes:
    """Return an `agent_message_chunk`."""
    content = {"type": "text", "text": text}
    return notification(session, {"sessionUpdate": "agent_message_chunk", "content": content})


def ask(session: str, n: int) -> bytes:
    """Return a `session/request_permission` about a command, under that id."""
    kinds = ("allow_once", "allow_always", "reject_once")
    options = [{"optionId": kind, "name": kind.replace("_", " "), "kind": kind} for kind in kinds]
    call = {"toolCallId": f"c{n}", "title": f"run command {n}", "kind": "execute"}
    params = {"sessionId": session, "toolCall": call, "options": options}
    message = {"jsonrpc": "2.0", "id": n, "method": "session/request_permission", "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
