"""Effects of a proposed edit on the diagnostics of its files."""

from __future__ import annotations

import pytest

from acp_nvim.edits.text import parse
from acp_nvim.session.questions.effects import (
    Diagnostic,
    Effect,
    Mark,
    ServerDiagnostics,
    effect,
    marks,
    new_words,
    summary,
)

ERROR, WARNING, HINT = 1, 2, 4
PATH = "/p/app.py"


def error(message: str, row: int = 0) -> Diagnostic:
    return Diagnostic(ERROR, message, row)


def test_a_diagnostic_of_both_texts_is_not_new_in_another_line() -> None:
    opinion = ServerDiagnostics(
        [error("a", 1), error("b", 2)], [error("a", 9), error("c", 3), error("b")]
    )
    found = effect(PATH, [opinion], [], ())
    assert found == Effect(PATH, [error("c", 3)], {})


def test_a_repeated_message_is_new() -> None:
    opinion = ServerDiagnostics([error("a", 1)], [error("a", 1), error("a", 2)])
    assert effect(PATH, [opinion], [], ()) == Effect(PATH, [error("a", 2)], {})


def test_fixed_diagnostics_are_counted_and_no_change_is_omitted() -> None:
    warning = Diagnostic(WARNING, "w")
    assert effect(PATH, [ServerDiagnostics([error("a"), warning], [warning])], [], ()) == Effect(
        PATH, [], {ERROR: 1}
    )
    assert effect(PATH, [ServerDiagnostics([error("a")], [error("a")])], [], ()) is None


def test_style_hints_are_not_shown() -> None:
    assert effect(PATH, [ServerDiagnostics([], [Diagnostic(HINT, "shorter")])], [], ()) is None


def test_a_late_diagnostic_of_the_old_text_is_not_new() -> None:
    opinion = ServerDiagnostics([], [error("a"), error("b")])
    assert effect(PATH, [opinion], [error("a")], ()) == Effect(PATH, [error("b")], {})


def test_a_name_from_another_file_of_the_edit_is_not_an_error() -> None:
    words = new_words(parse("def grow(): pass\n"), parse("def expand(): pass\n"))
    assert words == {"expand"}
    opinion = ServerDiagnostics(
        [], [error('"expand" is unknown'), error('"expanded" is unknown', 1)]
    )
    assert effect(PATH, [opinion], [], words) == Effect(
        PATH, [error('"expanded" is unknown', 1)], {}
    )


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        ([Effect(PATH, [error("a"), error("b")], {})], "This edit adds 2 errors"),
        (
            [
                Effect(PATH, [error("a"), Diagnostic(WARNING, "b")], {}),
                Effect("/q", [], {WARNING: 2}),
            ],
            "This edit adds 1 error, 1 warning and fixes 2 warnings",
        ),
        ([Effect(PATH, [], {ERROR: 1})], "This edit fixes 1 error"),
    ],
)
def test_the_effect_is_one_line(effects: list[Effect], words: str) -> None:
    assert summary(effects) == words


def test_a_mark_is_in_its_hunk_or_at_the_nearest_one() -> None:
    base, text = parse("a\nb\nc\nd\ne\nf\n"), parse("a\nB\nc\nd\ne\nF\nG\n")
    found = Effect(PATH, [error("here", 1), error("near\nthe end", 4), error("past", 99)], {})
    assert marks(found, base, text) == [
        Mark(1, ERROR, "here"),
        Mark(6, ERROR, "5: near the end"),
        Mark(6, ERROR, "100: past"),
    ]


def test_a_mark_of_a_removal_is_at_its_row() -> None:
    found = Effect(PATH, [error("gone", 0)], {})
    assert marks(found, parse("a\nb\nc\n"), parse("a\nb\n")) == [Mark(1, ERROR, "1: gone")]
