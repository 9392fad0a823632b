"""Details of an error, as the chat shows them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from acp_nvim.protocol.errors import DETAIL_LINES, RequestError, details


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (UNSET, []),
        (None, []),
        ({}, []),
        ("the message", []),
        ("first\nsecond\r\nthird", ["first", "second", "third"]),
        ({"details": "first\nsecond"}, ["first", "second"]),
        ("overloaded", ["data: overloaded"]),
        ({"reason": "overloaded"}, ["reason: overloaded"]),
        ({"why": "a\nb", "id": 7}, ["why:", "  a", "  b", "id: 7"]),
        ({"a": 1, "b": [None, True]}, ['{"a":1,"b":[null,true]}']),
        (["x", {"y": 1}], ['["x",{"y":1}]']),
        (7, ["data: 7"]),
        ("x\n" * 100, ["x"] * 100),
        ("x\n" * 10_000, ["x"] * DETAIL_LINES),
        ({"status": 500, "body": "a" * 90}, ["status: 500", f"body: {'a' * 90}"]),
        (
            {"status": 500, "body": "a\nb", "c": "a" * 90},
            ["status: 500", "body:", "  a", "  b", f"c: {'a' * 90}"],
        ),
        ({"a": "x" * 99, "b": {"c": 1}}, [f"a: {'x' * 99}", 'b: {"c":1}']),
        ({"a": 1, "b": ["y" * 99]}, ["a: 1", "b:", "  [", f'    "{"y" * 99}"', "  ]"]),
    ],
)
def test_details_of_an_error(data: Any, lines: list[str]) -> None:
    assert details(RequestError(-32603, "the message", data)) == lines


def test_other_errors_have_no_details() -> None:
    assert details(ValueError("x")) == []
