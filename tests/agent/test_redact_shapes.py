"""The table of shapes of secrets, and the speed of the redactor on any text."""

from __future__ import annotations

import time
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_nvim.agent.wire import secret_shapes, secret_text
from acp_nvim.agent.wire.redact import REDACTED, Redactor
from tests.support.sample_secrets import KINDS

TABLE = tomllib.loads(secret_shapes.RULES.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(TABLE))
@settings(max_examples=2, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_rule_finds_what_it_describes(name: str, data: st.DataObject) -> None:
    rule = TABLE[name]
    regex = rule["regex"]
    ascii_only = st.characters(codec="ascii", min_codepoint=9)
    text = data.draw(st.from_regex(regex, fullmatch=True, alphabet=ascii_only))
    shape = secret_shapes.Shape(regex)  # drawn examples are not random enough
    shapes = secret_shapes.Shapes({keyword: [shape] for keyword in rule["keywords"]})
    if any(keyword in text.lower() for keyword in rule["keywords"]):
        assert shapes.redact(text, REDACTED) != text


def test_the_licence_of_the_rules_is_beside_them() -> None:
    licence = secret_shapes.RULES.with_name("gitleaks.LICENSE")
    assert "Zachary Rice" in licence.read_text(encoding="utf-8")
    assert licence.name in secret_shapes.RULES.read_text(encoding="utf-8")


PIECES = [
    *(kind.text[: len(kind.text) // 2] for kind in KINDS),
    *("token", "token=", "token: ", '"token": "', "-----BEGIN PRIVATE KEY-----\n", "://", "a:b@"),
    *("password ", "--password ", "://a:", "postgres://a:b", "?key=", "eyJ", "sk-", "\\", '\\"'),
    *("mysql ", "login a password ", "Cookie: ", "kind: Secret\ndata:\n", "  a: b\n", "tokentoken"),
    *(
        "adafruit",
        "api_key",
        "= ",
        "'",
        '"',
        "`",
        "\n",
        " ",
        "A" * 20,
        "1:2:",
        "a.",
        "-",
        "{",
        "[",
        ";",
    ),
]


def seconds(text: str) -> float:
    redactor = Redactor()
    best = 1e9
    for _ in range(2):
        started = time.thread_time()
        redactor.line(text, "err")
        best = min(best, time.thread_time() - started)
    return best


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
def test_redaction_takes_linear_time(pieces: list[str]) -> None:
    """Four times the text: quadratic work takes sixteen times as long."""
    unit = "".join(pieces)
    short = unit * (4_000 // len(unit) + 1)
    long = short * 4
    assert seconds(long) < 9 * seconds(short) + 0.02, unit


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *(kind.text for kind in KINDS)]), max_size=12))
def test_redaction_is_idempotent(pieces: list[str]) -> None:
    once = secret_text.redact("".join(pieces), REDACTED)
    assert len(secret_text.lower(once)) == len(once)
