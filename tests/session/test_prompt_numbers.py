"""Prompts of another process get the numbers of their checkpoints."""

from __future__ import annotations

import pytest

from acp_nvim.session.prompt_numbers import fill_gaps, prompts_in, recognize_numbers
from acp_nvim.session.transcript.entries import Entry, Heading, Line, Message


def user_message(text: str, prompt: int | None = None, sent: float | None = None) -> Message:
    message = Message("user", parts=[text], sent=sent)
    message.count_as(prompt)
    return message


def answer() -> Message:
    return Message("agent", parts=["answer"])


def test_a_prompt_may_be_replayed_in_several_messages() -> None:
    entries: list[Entry] = [
        user_message("fix "),
        user_message("this"),
        Heading("agent"),
        answer(),
        user_message("and that"),
        Line("info", "Loaded"),
        user_message("mine", sent=1.0),
        user_message("mine too", sent=2.0),
        Message("user", parts=["do this for me"], author="parent"),
    ]
    texts = [[message.text() for message in run] for run in prompts_in(entries)]
    assert texts == [["fix ", "this"], ["and that"], ["mine"], ["mine too"]]


@pytest.mark.parametrize(
    ("prompts", "labels", "expected"),
    [
        (["a", "b"], {}, [None, None]),
        (["a", "b"], {1: "a", 2: "b"}, [1, 2]),
        (["go on", "go on"], {1: "a", 2: "go on", 3: "go on"}, [2, 3]),
        (["a", "x", "b"], {4: "a", 5: "y", 6: "b"}, [4, None, 6]),
        (["write  a\nlong text"], {7: "write a lo…"}, [7]),
        (["so far it went\n\nwrite a text about zebras"], {2: "write a text about zebras"}, [2]),
        (["let us go"], {1: "go"}, [None]),
        (["[image]"], {1: ""}, [None]),
        (["b", "a"], {1: "a", 2: "b"}, [None, 1]),
    ],
)
def test_a_prompt_is_recognized_by_its_beginning(
    prompts: list[str], labels: dict[int, str], expected: list[int | None]
) -> None:
    assert recognize_numbers([[user_message(text)] for text in prompts], labels) == expected


def test_a_prompt_keeps_the_number_that_it_has() -> None:
    runs = [[user_message("a", prompt=3)], [user_message("b")], [user_message("a", prompt=6)]]
    assert recognize_numbers(runs, {3: "a", 4: "x", 5: "b", 7: "b"}) == [3, 5, 6]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], []),
        ([None, None], [1, 2]),
        ([None, 3, None], [1, 3, 4]),
        ([None, None, 2], [1, None, 2]),
        ([None, 1, None, 3], [None, 1, 2, 3]),
    ],
)
def test_unknown_prompts_get_the_remaining_numbers(
    known: list[int | None], expected: list[int | None]
) -> None:
    assert fill_gaps(known) == expected
