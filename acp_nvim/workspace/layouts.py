"""How files lay on disk before agents worked on them: line ends, encoding, BOM.

A base is a text. What a reject brings back is to be the user's file, byte for byte, also where the
file is gone, or what is left of it does not tell in which encoding it was.
"""

from __future__ import annotations

from acp_nvim.edits.text import Text
from acp_nvim.workspace.file_format import Format, encode


class Layouts:
    """By real path."""

    def __init__(self) -> None:
        self._kept: dict[str, Format] = {}
        self._lies: dict[str, tuple[Text, Format]] = {}
        self.agents: dict[str, Format] = {}
        """How agents have laid files, of those that they have laid otherwise."""

    def lies(self, path: str, text: Text | None, layout: Format | None) -> None:
        """The file has this very text, and lies so."""
        if text is None or layout is None:
            self._lies.pop(path, None)
        else:
            self._lies[path] = text, layout

    def of(self, path: str, text: Text | None) -> Format | None:
        """How the file lies of which this very text is known; None where that is not known."""
        known, layout = self._lies.get(path, (None, None))
        return layout if known is text else None

    def data(self, path: str, text: Text | None) -> bytes | None:
        """What the file holds of which this very text is known, as far as it is known how it lies;
        None: there is none.
        """
        return None if text is None else in_bytes(text, self.of(path, text))

    def holds(self, path: str, text: Text | None, data: bytes | None) -> bool:
        """Whether ``data`` is what the file holds of which this very text is known. A BOM and the
        CR of line ends may be characters of the text, as it was written: then none is added.
        """
        if text is None or data is None:
            return text is None and data is None
        plain = text.lines[0].startswith("\ufeff") or shows_cr(text)
        return data in (self.data(path, text), in_bytes(text, None) if plain else None)

    def note(self, path: str, layout: Format | None) -> None:
        """Nothing is pending in the file, which lies so, as far as is known, and will be."""
        if layout is not None:
            self._kept[path] = layout

    def all(self) -> dict[str, Format]:
        """How all files lay that something came to be pending in."""
        return self._kept

    def get(self, path: str) -> Format | None:
        """How the file lay when something came to be pending in it last."""
        return self._kept.get(path)

    def wanted(
        self, path: str, present: Format | None, before: Text | None, after: Text, whole: bool
    ) -> Format | None:
        """How the file is to lie when its text is made another; None: as it does.

        ``present`` is how it lies now (None: there is no file), ``whole`` tells that nothing of the
        agent's is left in it. Else a layout that the agent changed stays, as the rest of its edit
        does.
        """
        kept = self._kept.get(path)
        if kept is None or kept == present or _bytes(after, kept) is None:
            return None
        if present is None or before is None or whole:
            return kept
        return kept if _bytes(before, kept) == _bytes(before, present) else None


def shows_cr(text: Text) -> bool:
    """Whether the CR of line ends is a part of lines, as in a buffer that was read so."""
    return any(line.endswith("\r") for line in text.lines)


def in_bytes(text: Text, layout: Format | None) -> bytes:
    """A file of that text, as far as it is known how it lies."""
    data = _bytes(text, layout or Format())
    return str(text).encode("utf-8", "surrogatepass") if data is None else data


def _bytes(text: Text, layout: Format) -> bytes | None:
    """The file; None where the encoding lacks a character."""
    try:
        return encode(text, layout)
    except UnicodeEncodeError:
        return None
