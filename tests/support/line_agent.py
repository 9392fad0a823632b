"""Agent that reads lines and carries them out, as a process and in memory.

`say TEXT` answers, `complain TEXT` writes to stderr, `exit CODE` ends it; it ends with code 0 at
the end of its input. It also answers the few requests of a connection.

    StdioTransport([sys.executable, "-m", "tests.support.line_agent"], ...)
    MemoryAgent(in_memory)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.support.memory_transport import MemoryTransport


def replies(line: str) -> tuple[str, str, int | None]:
    """Return the agent's answer to a line, its line on stderr, and the exit code with which it then
    ends.
    """
    if line.startswith("{"):
        return _answer(json.loads(line)), "", None
    word, _, rest = line.rstrip("\n").partition(" ")
    match word:
        case "say":
            return rest + "\n", "", None
        case "complain":
            return "", rest + "\n", None
        case "exit":
            return "", "", int(rest)
    raise AssertionError(line)


def _answer(frame: dict[str, Any]) -> str:
    results = {"initialize": {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "1"}}}
    answer = {"jsonrpc": "2.0", "id": frame["id"], "result": results[frame["method"]]}
    return json.dumps(answer) + "\n"


async def in_memory(stream: MemoryTransport, complain: Callable[[bytes], None]) -> int:
    """Run the same agent in memory."""
    left = b""
    while data := await stream.receive():
        *lines, left = (left + data).split(b"\n")
        for line in lines:
            answer, complained, code = replies(line.decode() + "\n")
            stream.send(answer.encode())
            if complained:
                complain(complained.encode())
            if code is not None:
                return code
    return 0


def main() -> None:
    """Run the agent as a process."""
    for line in sys.stdin.buffer:
        answer, complained, code = replies(line.decode())
        sys.stdout.write(answer)
        sys.stdout.flush()
        sys.stderr.write(complained)
        sys.stderr.flush()
        if code is not None:
            sys.exit(code)


if __name__ == "__main__":
    main()
