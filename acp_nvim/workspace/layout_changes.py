"""Files that an agent has laid otherwise on disk: their line ends, their BOM."""

from __future__ import annotations

import codecs

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.workspace.file_format import Format, codec_of, decode, encodable, in_bytes, shows_cr


class Laid(msgspec.Struct, frozen=True):
    """How a file lay before a change of an agent's, and how it lies since."""

    old: Format
    new: Format

    @property
    def changed(self) -> bool:
        """Whether that is a difference."""
        return self.old != self.new

    def over(self, layout: Format | None) -> tuple[Format | None, Format | None]:
        """How to decode the file as it was and as it is: as in a buffer, if it has one, but for
        what the agent has changed.
        """
        if not self.changed:
            return layout, layout
        return _with(layout or self.old, self.old), _with(layout or self.new, self.new)


def laid(known: Format | None, before: bytes | None, after: bytes | None) -> Laid | None:
    """What became of a file's layout; None for a file that is gone. One that came lies as it does.

    ``known`` is how it lay, where ``before`` does not tell. A file in which line ends are mixed
    has the ones that it had, as a buffer of it has; an empty one lies as it did.
    """
    if after is None:
        return None
    old = known or decode(after if before is None else before).format
    wide = (codec_of(old.encoding) or "").startswith(("utf-16", "utf-32"))
    if wide or old.mac or old.binary:
        return Laid(old, old)
    dos = _are_dos(after)
    if dos is None or (known is None and before is not None and _are_dos(before) is None):
        dos = old.dos
    tells = old.encoding == "utf-8" and after != b""
    bomb = after.startswith(codecs.BOM_UTF8) if tells else old.bomb
    return Laid(old, msgspec.structs.replace(old, dos=dos, bomb=bomb))


def as_written(text: Text, layout: Format | None) -> Format | None:
    """How a file lies that was written with this text from a buffer of that layout: a CR at the end
    of a line is in the file what it would be there by itself.
    """
    if layout is None or not shows_cr(text):
        return layout
    found = laid(layout, None, in_bytes(text, layout))
    return found.new if found else layout


def words(old: Format, new: Format) -> str:
    """The difference, as the user is told it; empty where there is none."""
    found: list[str] = []
    if old.fileformat != new.fileformat:
        found.append(f"line ends: {old.fileformat} → {new.fileformat}")
    if old.bomb != new.bomb:
        found.append("BOM added" if new.bomb else "BOM removed")
    return ", ".join(found)


def to_write(
    kept: Format | None, present: Format | None, before: Text | None, after: Text, whole: bool
) -> Format | None:
    """In which format a file is to be written when its text is made another; None: as it is.

    ``kept`` is how the file lay before agents changed it, ``present`` how it lies now (None: there
    is no file), ``whole`` tells that nothing of the agent's is left in it. Else a format that the
    agent changed stays, as the rest of its edit does.
    """
    if kept is None or kept == present or encodable(after, kept) is None:
        return None
    if present is None or before is None or whole:
        return kept
    return kept if encodable(before, kept) == encodable(before, present) else None


def _are_dos(data: bytes) -> bool | None:
    """Whether all lines end in CR LF; None where some do, or none is ended."""
    ends, pairs = data.count(b"\n"), data.count(b"\r\n")
    if not ends or 0 < pairs < ends:
        return None
    return pairs == ends


def _with(layout: Format, other: Format) -> Format:
    """The line ends and the BOM of another layout."""
    return msgspec.structs.replace(layout, dos=other.dos, mac=other.mac, bomb=other.bomb)
