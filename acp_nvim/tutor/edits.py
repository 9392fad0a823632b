"""Changes that the tutor proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Proposal(NamedTuple):
    """Change to a file, with the whole new text."""

    title: str
    reason: str
    text: str


BUG: Final = "    for _, count, price in basket[:-1]:\n"
FIXED: Final = "    for _, count, price in basket:\n"
DASHES: Final = 'lines.append("-" * 24)'
WAVES: Final = 'lines.append("~" * 24)'
"""Lines of the sample: a bug and its fix, and a change for the user to reject."""

_REASON: Final = """\
There is a bug in `total`: `basket[:-1]` leaves out the last line of the basket, so the honey is \
free. The loop should run over all of `basket`. And I find waves under a receipt prettier than \
dashes, though nobody has asked me.
"""

_COMMENTS: Final = {
    **dict.fromkeys((".c", ".cpp", ".go", ".java", ".js", ".rs", ".ts"), "// "),
    **dict.fromkeys((".py", ".rb", ".sh", ".toml", ".yaml", ".yml"), "# "),
    **dict.fromkeys((".lua", ".sql"), "-- "),
    **dict.fromkeys((".md", ".txt"), ""),
    ".vim": '" ',
}

_LINE: Final = "The tutor was here: press u to take this line back."


def proposal(path: Path, text: str) -> Proposal | None:
    """Return a change to a file, or None if the tutor knows none for this type of file."""
    if BUG in text:
        new = text.replace(BUG, FIXED, 1).replace(DASHES, WAVES, 1)
        return Proposal("Charge for the whole basket", _REASON, new)
    comment = _COMMENTS.get(path.suffix)
    if comment is None or _LINE in text:
        return None
    head, rest = ("", text)
    if text.startswith("#!"):
        first, newline, rest = text.partition("\n")
        head = first + newline
    reason = (
        f"I have no model, so I can't judge `{path.name}`. To show you how a change of mine looks "
        "I propose one line at its top, which you can take back."
    )
    new = f"{head}{comment}{_LINE}\n{rest}"
    return Proposal("Add a line at the top", reason, new)
