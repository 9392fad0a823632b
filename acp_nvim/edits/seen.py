"""What each session's agent last read or wrote of each file: the base of its next write.

Whole texts are kept up to a number of bytes, the least recently used go first; of those that went
only the digest stays, which is enough to know whether the live text is still that one.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from acp_nvim.edits.text import Text, digest, size

MAX_BYTES = 64 * 1024 * 1024
"""Of texts, all sessions together."""
MAX_DIGESTS = 20_000


class Stale(msgspec.Struct, frozen=True):
    """A write against a text that is neither the live one nor the one last read."""

    reason: str


class Seen:
    """The texts by (session, path)."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_digests: int = MAX_DIGESTS) -> None:
        self._texts: OrderedDict[tuple[int, str], Text] = OrderedDict()
        self._digests: OrderedDict[tuple[int, str], str] = OrderedDict()
        self._max_bytes = max_bytes
        self._max_digests = max_digests
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """How many bytes of texts are held, about."""
        return self._bytes

    def note(self, session: int, path: str, text: Text) -> None:
        """The agent was given this text, or wrote it."""
        key = session, path
        self._drop(key)
        self._digests.pop(key, None)
        self._texts[key] = text
        self._bytes += size(text)
        while self._bytes > self._max_bytes:
            oldest, gone = next(iter(self._texts.items()))
            self._drop(oldest)
            self._digests[oldest] = digest(gone)
        while len(self._digests) > self._max_digests:
            self._digests.popitem(last=False)

    def last(self, session: int, path: str) -> Text | None:
        """The text that the agent last saw, where it is still held."""
        key = session, path
        if key in self._texts:
            self._texts.move_to_end(key)
        return self._texts.get(key)

    def formatted(self, path: str, before: Text, after: Text) -> None:
        """A save changed the text. Who knew the one before is taken to know the one after.

        So a next write that builds on the unformatted text is no conflict with the formatter.
        """
        knew = [key for key, text in self._texts.items() if key[1] == path and text == before]
        for session, _ in knew:
            self.note(session, path, after)

    def base_of(
        self, session: int, path: str, live: Text, against: str | None = None
    ) -> Text | Stale:
        """The text that a write is to be merged from.

        ``against`` is the digest of the text that the write was made for, where the agent told it;
        else that is the one last seen, or the live one for a file that the agent never read here.
        """
        last = self.last(session, path)
        known = digest(last) if last is not None else self._digests.get((session, path))
        if (against or known) in (None, digest(live)):
            return live
        if last is not None and against in (None, known):
            return last
        if against in (None, known):
            return Stale("the file has changed since it was read; read it again")
        return Stale(
            "the write is for a text that is neither the present one nor the one last read"
        )

    def forget(self, session: int) -> None:
        """The session is over."""
        for key in [key for key in self._texts if key[0] == session]:
            self._drop(key)
        for key in [key for key in self._digests if key[0] == session]:
            del self._digests[key]

    def _drop(self, key: tuple[int, str]) -> None:
        text = self._texts.pop(key, None)
        if text is not None:
            self._bytes -= size(text)
