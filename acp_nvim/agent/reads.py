"""What each agent last read of each file: the base of the merge when it writes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from acp_nvim.edits.text import Text, size

MAX_BYTES: Final = 64 * 1024 * 1024


class LastReads:
    """Texts by session and file, the ones longest unused dropped past ``max_bytes`` of memory."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max = max_bytes
        self._bytes = 0
        self._texts: OrderedDict[tuple[str, str], Text] = OrderedDict()

    def __len__(self) -> int:
        return len(self._texts)

    def get(self, session: str, real: str) -> Text | None:
        """The text this session believes the file to have; None when it is not known."""
        return self._texts.get((session, real))

    def put(self, session: str, real: str, text: Text) -> None:
        """Remember what the session knows now. An unchanged text costs nothing."""
        key = session, real
        if self._texts.get(key) is not text:
            self._drop(key)
            self._texts[key] = text
            self._bytes += size(text)
        self._texts.move_to_end(key)
        while self._bytes > self._max and len(self._texts) > 1:
            self._drop(next(iter(self._texts)))

    def forget(self, session: str) -> None:
        """Drop all that is known of a session."""
        for key in [key for key in self._texts if key[0] == session]:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        text = self._texts.pop(key, None)
        if text is not None:
            self._bytes -= size(text)
