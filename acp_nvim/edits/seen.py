"""What each session's agent last read or wrote of each file: the base of its next write.

Whole texts are kept up to a number of bytes, the least recently used go first; of those that went
only the digest stays, which is enough to know whether a present text is still that one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from acp_nvim.edits.text import Text, digest, size

MAX_BYTES = 64 * 1024 * 1024
"""Of texts, all sessions together."""
MAX_DIGESTS = 20_000


class Stale(msgspec.Struct, frozen=True):
    """A write that is a change to a text which nobody has any more."""

    reason: str


class Seen:
    """The texts by session (its id on the wire) and real path."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_digests: int = MAX_DIGESTS) -> None:
        self._texts: OrderedDict[tuple[str, str], Text] = OrderedDict()
        self._digests: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._max_bytes = max_bytes
        self._max_digests = max_digests
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """How many bytes of texts are held, about."""
        return self._bytes

    def note(self, session: str, path: str, text: Text) -> None:
        """The agent was given this text, or wrote it. An unchanged text costs nothing."""
        key = session, path
        if self._texts.get(key) is text:
            self._texts.move_to_end(key)
            return
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

    def last(self, session: str, path: str) -> Text | None:
        """The text that the agent last saw, where it is still held."""
        key = session, path
        if key in self._texts:
            self._texts.move_to_end(key)
        return self._texts.get(key)

    def base_of(self, session: str, path: str, present: Iterable[Text]) -> Text | Stale | None:
        """The text that a write is to be merged from; None for a file that the agent never saw.

        Where the text is no longer held it is found among the ``present`` ones, if it is one.
        """
        last = self.last(session, path)
        known = self._digests.get((session, path))
        if last is not None or known is None:
            return last
        found = next((text for text in present if digest(text) == known), None)
        if found is None:
            return Stale("the file has changed since it was read, and what it held is not kept")
        return found

    def forget(self, session: str) -> None:
        """The session is over."""
        for key in [key for key in self._texts if key[0] == session]:
            self._drop(key)
        for key in [key for key in self._digests if key[0] == session]:
            del self._digests[key]

    def _drop(self, key: tuple[str, str]) -> None:
        text = self._texts.pop(key, None)
        if text is not None:
            self._bytes -= size(text)
