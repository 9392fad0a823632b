"""Redaction of a report's lines.

If no host runs, Lua runs `python -m acp_nvim.features.report.redaction`. It reads a JSON object
with `lines` and the option `agents` from stdin, and writes the redacted lines to stdout.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.agent import connection_options
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.agent.transport import addresses
from acp_nvim.agent.wire.redact import Redactor
from acp_nvim.agent.wire.secret_names import secret_values

STREAM: Final = "report"
"""Name under which the redactor remembers that a private key has begun."""


class _Request(msgspec.Struct):
    lines: list[str]
    agents: dict[str, AgentSettings]


def known_secrets(agents: Iterable[AgentSettings], env: Mapping[str, str]) -> list[str]:
    """Return the secret values of the user's environment and in the settings of agents."""
    secrets = secret_values(env)
    for spec in agents:
        secrets += connection_options.secrets(env, spec)
        secrets += spec.headers.values()
        secrets += addresses.secrets(spec.url or "")
    return secrets


def redact(lines: Iterable[str], redactor: Redactor) -> list[str]:
    """Return lines without secrets, with `~` for the home directory, split at any newlines."""
    flat = (part for line in lines for part in line.split("\n"))
    redacted = [redactor.line(line, STREAM) for line in flat]
    home = os.fspath(Path.home())
    for path in sorted({home, os.path.realpath(home)} - {"/"}, key=len, reverse=True):
        in_home = re.compile(re.escape(path) + r"(?![\w-]|\.+\w)")
        redacted = [in_home.sub("~", line) for line in redacted]
    return redacted


def main() -> None:
    """Redact the lines on stdin without a host."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    redactor = Redactor(known_secrets(request.agents.values(), os.environ))
    sys.stdout.buffer.write(msgspec.json.encode(redact(request.lines, redactor)))


if __name__ == "__main__":
    main()
