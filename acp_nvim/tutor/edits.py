"""The changes that the tutor proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Proposal(NamedTuple):
    """A change: its title, why it should be, the whole new text, and whether it is the sample's."""

    title: str
    why: str
    text: str
    sample: bool


class _Known(NamedTuple):
    old: str
    new: str
    title: str
    why: str
    besides: tuple[str, str] | None = None
    """A second, unasked change: one for the user to reject."""


FIXED: Final = "    for _, count, price in basket:\n"
WAVES: Final = 'lines.append("~" * 24)'
"""Lines of the sample that tell whether the change was kept and the second one rejected."""

PRICE: Final = '("honey", 1, 5.20)'
DEAR: Final = '("honey", 1, 52.00)'
"""What the user takes back by a rewind."""
_JOINED: Final = '    return "\\n".join(lines)\n'
LEFT: Final = '    lines.append("Come back soon!")\n'
"""A line that is not decided when the user leaves (`lua/acp/command/tutor_copy.lua`)."""


def spoiled(text: str) -> str | None:
    """The sample with a wrong price; None where that cannot be."""
    return text.replace(PRICE, DEAR, 1) if PRICE in text else None


def with_farewell(text: str) -> str | None:
    """The sample with one more line; None where that cannot be."""
    if LEFT in text or _JOINED not in text:
        return None
    return text.replace(_JOINED, LEFT + _JOINED, 1)


# The sample's mistakes, in the order in which they are found.
_SAMPLE: Final = (
    _Known(
        "    for _, count, price in basket[:-1]:\n",
        FIXED,
        "Charge for the whole basket",
        "There is a bug in `total`: `basket[:-1]` leaves out the last line of the basket, so the "
        "honey is free. The loop should run over all of `basket`. And I find waves under a receipt "
        "prettier than dashes, though nobody has asked me.",
        ('lines.append("-" * 24)', WAVES),
    ),
    _Known(
        "def total(basket):\n",
        "def total(basket: list[tuple[str, int, float]]) -> float:\n",
        "Say what a basket is",
        "Nothing is wrong here any more, but a reader of `total` has to guess what a basket is. "
        "Types would say it.",
    ),
)

_COMMENTS: Final = {
    ".c": "// ",
    ".cpp": "// ",
    ".go": "// ",
    ".java": "// ",
    ".js": "// ",
    ".lua": "-- ",
    ".py": "# ",
    ".rb": "# ",
    ".rs": "// ",
    ".sh": "# ",
    ".sql": "-- ",
    ".toml": "# ",
    ".ts": "// ",
    ".vim": '" ',
    ".yaml": "# ",
    ".yml": "# ",
    ".txt": "",
    ".md": "",
}

_LINE: Final = "The tutor was here: press u to take this line back."


def proposal(path: Path, text: str) -> Proposal | None:
    """A change for that text; None when the tutor knows none for this kind of file."""
    for known in _SAMPLE:
        if known.old in text:
            new = text.replace(known.old, known.new, 1)
            if known.besides is not None:
                new = new.replace(*known.besides, 1)
            return Proposal(known.title, known.why, new, sample=True)
    comment = _COMMENTS.get(path.suffix)
    if comment is None or _LINE in text:
        return None
    head, rest = ("", text)
    if text.startswith("#!"):
        first, newline, rest = text.partition("\n")
        head = first + newline
    why = (
        f"I have no model, so I can't judge `{path.name}`. To show you how a change of mine looks "
        "I propose one line at its top, which you can take back."
    )
    return Proposal("Add a line at the top", why, f"{head}{comment}{_LINE}\n{rest}", sample=False)
