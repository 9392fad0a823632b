r"""Traffic between the client and one scripted agent: the agent's own log, read while it runs.

Example:

    traffic = editor.agent("script")
    traffic.wait("session/prompt")
    assert traffic.answers("fs/read_text_file")[0]["result"] == {"content": "one\n"}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENCE_S, until

Frame = dict[str, Any]


@dataclass
class Traffic:
    """One agent's log. `in` are the client's frames, `out` the agent's."""

    path: Path
    scenario: str = ""
    _cache: list[Frame] = field(default_factory=list, repr=False)
    _offset: int = field(default=0, repr=False)

    def entries(self) -> list[Frame]:
        """Return every line so far: `{t, dir: in|out|note, frame | raw | note}`; `t` in seconds."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._offset += len(whole)
            self._cache += [json.loads(line) for line in whole.split(b"\n") if line]
        return self._cache

    def received(self, method: str | None = None) -> list[Frame]:
        """Return the client's frames, of one method or all."""
        return list(self._of("in", method))

    def sent(self, method: str | None = None) -> list[Frame]:
        """Return the agent's frames, of one method or all."""
        return list(self._of("out", method))

    def answers(self, method: str) -> list[Frame]:
        """Return the client's responses to the agent's requests of `method`, in the order of the
        requests.
        """
        by_id: dict[str, list[Frame]] = {}
        for frame in self.received():
            if "method" not in frame:
                by_id.setdefault(json.dumps(frame.get("id")), []).append(frame)
        ids = [json.dumps(f["id"]) for f in self.sent(method) if "id" in f]
        return [frame for key in ids for frame in by_id.get(key, [])]

    def wait(self, method: str, count: int = 1, timeout: float = PATIENCE_S) -> Frame:
        """Wait for the `count`-th frame of `method` from the client and return it."""
        until(lambda: len(self.received(method)) >= count, timeout, f"{count} x {method}")
        return self.received(method)[count - 1]

    def wait_answers(self, method: str, count: int = 1, timeout: float = PATIENCE_S) -> list[Frame]:
        """Wait until the client has answered `count` requests of `method`, and return the
        responses.
        """
        until(lambda: len(self.answers(method)) >= count, timeout, f"{count} answers to {method}")
        return self.answers(method)

    def prompts(self) -> list[str]:
        """Return the text blocks of every prompt, joined."""
        return [
            "".join(b.get("text", "") for b in frame["params"]["prompt"] if b["type"] == "text")
            for frame in self.received("session/prompt")
        ]

    def notes(self) -> list[str]:
        """Return the agent's notes about itself: `start PID`, `eof`, `signal`, `exit CODE`, …"""
        return [entry["note"] for entry in self.entries() if entry["dir"] == "note"]

    def wait_note(self, note: str, timeout: float = PATIENCE_S) -> str:
        """Wait for the first note that starts with `note` and return it."""
        return until(
            lambda: next((n for n in self.notes() if n.startswith(note)), ""), timeout, note
        )

    def pids(self) -> list[int]:
        """Return the process id of every start of the agent, in order."""
        return [int(note.split()[1]) for note in self.notes() if note.startswith("start ")]

    def _of(self, direction: str, method: str | None) -> Iterator[Frame]:
        for entry in self.entries():
            frame = entry.get("frame")
            if entry["dir"] == direction and isinstance(frame, dict):
                yield from [frame] if method in (None, frame.get("method")) else []
