"""Colours of command output."""

from __future__ import annotations

import pytest

from acp_nvim.render.command_output import Piece, coloured_pieces


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", [[("plain", None)]]),
        ("\x1b[31mred\x1b[0m on", [[("red", "AcpRed"), (" on", None)]]),
        (
            "\x1b[32mgreen\nstill\x1b[39m on",
            [[("green", "AcpGreen")], [("still", "AcpGreen"), (" on", None)]],
        ),
        (
            "\x1b[1mbold\x1b[22m \x1b[2mfaint",
            [[("bold", "AcpStrong"), (" ", None), ("faint", "AcpMuted")]],
        ),
        ("\x1b[38;5;3myellow\x1b[38:5:12mblue", [[("yellow", "AcpYellow"), ("blue", "AcpBlue")]]),
        ("\x1b[38;2;1;2;31mtrue\x1b[48;5;31m on", [[("true", None), (" on", None)]]),
        ("\x1b[37mwhite\x1b[41m on red", [[("white", None), (" on red", None)]]),
        ("\x1b[35m 10 %\r100 %\x1b[K\nrest", [[("100 %", None)], [("rest", "AcpMagenta")]]),
        ("\x1b[32m|\b/\b-\nN\bNA\bA", [[("-", None)], [("NA", None)]]),
        ("a\r\n\x1b]0;title\x07b\x1b[?25l", [[("a", None)], [("b", None)]]),
        ("\x1b[;m\x1b[38m\x1b[38;5mx\x1b[99999999999999999999my", [[("x", None), ("y", None)]]),
    ],
)
def test_the_colours_of_an_output(text: str, wanted: list[list[Piece]]) -> None:
    assert coloured_pieces(text) == wanted
