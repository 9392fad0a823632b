"""`python -m tests.support.full_disk PATH`: a history on a disk that is full and then has room
again.

Prints the number of notices and the first of them, then the stored prompts.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp_nvim.agent.settings import HistorySettings
from acp_nvim.features.history.history import History
from acp_nvim.history import writer
from acp_nvim.host.transcripts import UnreadableError
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from tests.support.stored_history import turn


def size(path: Path) -> int:
    return path.stat().st_size


def allow(count: int) -> None:
    """Limit the size of files to this number of bytes from now on."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, resource.RLIM_INFINITY))


async def main(path: Path) -> None:
    """Fill the disk, then make room."""
    writer.RETRY_S = 0.0, 0.0  # type: ignore[misc]
    lines: list[str] = []
    session = Session(1, "agent", "/work")
    loop = asyncio.get_running_loop()
    history = History(lambda: [session], lambda: "run", list, lines.append, loop)
    history.configure(HistorySettings(), path)
    for number in range(40):
        if number == 10:
            allow(size(path) + 65536)
        if number == 30:
            allow(resource.RLIM_INFINITY)
        history.on_prompt_sent(session, Prompt(f"prompt{number}"))
        turn(session, f"prompt{number}", f"{number} " * 5000)
        with suppress(UnreadableError):
            await history.read("session", 1)
    entries: list[Any] = await history.read("entries", 1)
    print(len(lines), *lines[:1])
    for entry in entries:
        if getattr(entry, "role", "") == "user":
            print(entry.text())
    history.close()
    history.wait_written()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
