"""Forms: valid values, the page for editing, deceptive addresses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.protocol import codec, schema
from acp_nvim.session.questions import addresses, form_page, forms
from tests.agents.elicit import EVERY


def form_of(properties: dict[str, Any], *required: str) -> list[forms.Field]:
    raw = {"type": "object", "properties": properties, "required": list(required)}
    return forms.fields(codec.decode(schema.ElicitationSchema, msgspec.json.encode(raw)))


def problems(property_: dict[str, Any], value: Any) -> list[str]:
    return [it.text for it in forms.check(form_of({"x": property_}), {"x": value})]


@pytest.mark.parametrize(
    ("property_", "value", "wrong"),
    [
        ({"type": "string"}, "", ""),
        ({"type": "string"}, 3, "expected text"),
        ({"type": "string", "minLength": 2}, "a", "at least 2 characters, not 1"),
        ({"type": "string", "minLength": 1}, "🙂", ""),
        ({"type": "string", "maxLength": 1}, "ab", "at most 1 character, not 2"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "AB", ""),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "ab", "does not match ^[A-Z]+$"),
        ({"type": "string", "pattern": "("}, "anything", ""),
        ({"type": "string", "format": "email"}, "a@b.org", ""),
        ({"type": "string", "format": "email"}, "a b@c", "is not an e-mail address"),
        ({"type": "string", "format": "email"}, "a@", "is not an e-mail address"),
        ({"type": "string", "format": "uri"}, "https://a.org/x", ""),
        ({"type": "string", "format": "uri"}, "mailto:a@b", ""),
        ({"type": "string", "format": "uri"}, "nothing", "is not a URI"),
        ({"type": "string", "format": "date"}, "2026-02-28", ""),
        ({"type": "string", "format": "date"}, "2026-02-30", "is not a date (2026-01-31)"),
        ({"type": "string", "format": "date"}, "20260228", "is not a date (2026-01-31)"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00.123456789Z", ""),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00+02:00", ""),
        (
            {"type": "string", "format": "date-time"},
            "2026-02-28 10:00",
            "is not a date with time and zone (2026-01-31T12:00:00Z)",
        ),
        ({"type": "string", "format": "moon"}, "full", ""),
        ({"type": "string", "enum": ["a", "b"]}, "b", ""),
        ({"type": "string", "enum": ["a", "b"]}, "c", "'c' is not one of a, b"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "A", "'A' is not one of a"),
        ({"type": "integer"}, 3, ""),
        ({"type": "integer"}, 3.0, ""),
        ({"type": "integer"}, 10**400, ""),
        ({"type": "integer"}, 3.5, "expected a whole number"),
        ({"type": "integer"}, True, "expected a whole number"),
        ({"type": "integer"}, float("inf"), "expected a whole number"),
        ({"type": "integer", "minimum": 1}, 0, "at least 1"),
        ({"type": "integer", "maximum": 1000000}, 1000001, "at most 1000000"),
        ({"type": "number"}, "3", "expected a number"),
        ({"type": "number", "minimum": 0.5}, 0.4, "at least 0.5"),
        ({"type": "number", "maximum": 2}, 2, ""),
        ({"type": "boolean"}, False, ""),
        ({"type": "boolean"}, 1, "expected true or false"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ["a"], ""),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "a", "expected a list"),
        (
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
            ["b"],
            "'b' is not one of a",
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1},
            [],
            "at least 1 of them",
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
            ["a", "b"],
            "at most 1 of them",
        ),
        ({"type": "moon"}, "full", ""),
        ({"type": "moon"}, {"phase": 1}, "not a value that a form can contain"),
    ],
)
def test_a_value_is_checked(property_: dict[str, Any], value: Any, wrong: str) -> None:
    assert problems(property_, value) == ([wrong] if wrong else [])


def test_missing_and_unknown_values_are_reported() -> None:
    form = form_of({"a": {"type": "string"}, "b": {"type": "string"}}, "a")
    assert [str(it) for it in forms.check(form, {"c": 1})] == [
        "a: is required",
        "c: no such field; the fields are: a, b",
    ]


def test_defaults_replace_only_required_values() -> None:
    form = form_of(
        {"a": {"type": "string", "default": "x"}, "b": {"type": "string", "default": "y"}}, "a"
    )
    assert forms.with_defaults(form, {}) == {"a": "x"}
    assert forms.with_defaults(form, {"a": "z", "b": None}) == {"a": "z"}


def test_a_slow_pattern_is_not_tried() -> None:
    """Otherwise this test would not end."""
    assert forms.matches("^(a+)+$", "a" * 40 + "b") is None
    assert forms.matches("a*a*a*a*a*a*b", "a" * 4000) is None
    assert forms.matches(r"^\d{4}-\d{2}$", "2026-01") is True
    assert forms.matches("(?x)^(a+) +$", "a" * 40 + "b") is None, "there (a+) + is (a+)+"
    assert forms.matches("(?P<a>a+)(?P=a)+b", "a" * 4000) is None
    assert forms.matches("[" * 500_000, "a") is None


def test_many_choices_take_little_time() -> None:
    """Otherwise this test would not end."""
    names = [f"n{n}" for n in range(50_000)]
    items = {"type": "array", "items": {"type": "string", "enum": names}, "default": names[::-1]}
    form = form_of({"x": items})
    assert not forms.is_short(form)
    assert forms.check(form, {"x": names}) == []
    assert len(form_page.page_lines(form, {"x": names}, [])) > len(names)
    assert sum(map(len, problems(items, [f"m{n}" for n in range(50_000)]))) < 10_000


# ---- the page


def filled(form: list[forms.Field]) -> dict[str, Any]:
    return {it.name: it.default for it in form if it.default is not None}


def test_a_page_shows_everything_and_is_read_unchanged() -> None:
    form = form_of(EVERY, "name", "count")
    page = form_page.page_lines(form, filled(form), ["Please tell"])
    text = "\n".join(page)
    assert "━━ 1. Your name (required)" in page
    assert "│ As you like it.\n│ Two lines." in text
    assert "( ) Large · l — costs more" in text
    assert "(x) green" in text
    assert "[x] Lua · lua" in text
    assert "[x] yes" in text
    assert "of an unknown kind" in text
    read = form_page.parse_page(form, page)
    assert read.problems == []
    assert read.values == {
        "site": "https://example.org/",
        "color": "green",
        "count": 3,
        "sure": True,
        "langs": ["lua"],
    }
    assert read.rows["name"] == page.index("━━ 1. Your name (required)")


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n")).map(str.rstrip)


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXT | st.sampled_from(["━━ 1. x", "│ no", "\\│", "\\\\━"])))
def test_any_text_survives_the_page(lines: list[str]) -> None:
    text = "\n".join(lines).strip("\n")
    form = form_of({"x": {"type": "string"}, "y": {"type": "string"}})
    page = form_page.page_lines(form, {"x": text, "y": "after"}, [text])
    assert form_page.parse_page(form, page).values == ({"x": text} if text else {}) | {"y": "after"}


@settings(max_examples=100, deadline=None)
@given(st.sets(st.sampled_from("abc")), st.sampled_from("rg"), st.integers(-9, 9), st.booleans())
def test_any_choice_survives_the_page(many: set[str], one: str, count: int, sure: bool) -> None:
    form = form_of(
        {
            "many": {"type": "array", "items": {"type": "string", "enum": list("abc")}},
            "one": {"type": "string", "enum": list("rg")},
            "count": {"type": "integer"},
            "sure": {"type": "boolean"},
        },
        "many",
    )
    values = {"many": sorted(many), "one": one, "count": count, "sure": sure}
    assert form_page.parse_page(form, form_page.page_lines(form, values, [])).values == values


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("( ) g", "(x) g", "one: one of them, not 2"),
        ("( ) g", "", "one: its choices were changed (u undoes)"),
        ("5", "five", "count: 'five' is not a whole number"),
        ("━━ 1. one · one of these", "gone", "one: its block is gone from the form"),
    ],
)
def test_an_unreadable_page_has_a_reason(old: str, new: str, problem: str) -> None:
    form = form_of({"one": {"type": "string", "enum": ["r", "g"]}, "count": {"type": "integer"}})
    page = form_page.page_lines(form, {"one": "r", "count": 5}, [])
    assert page.count(old) == 1
    read = form_page.parse_page(form, [new if line == old else line for line in page])
    assert str(read.problems[0]).startswith(problem)


def test_text_of_an_agent_cannot_imitate_a_field() -> None:
    form = form_of({"x": {"type": "string", "title": "a\n━━ 1. y", "description": "━━ 2. z\nb"}})
    page = form_page.page_lines(form, {"x": "v"}, ["━━ 1. x", "\x1b[2J"])
    assert [line for line in page if line.startswith("━━")] == ["━━ 1. a ━━ 1. y"]
    assert not any("\x1b" in line for line in page)
    assert form_page.parse_page(form, page).values == {"x": "v"}
    several = form_of({"x": {"type": "array", "items": {"type": "string", "enum": ["a\nx: b"]}}})
    assert form_page.summary(several, {"x": ["a\nx: b\x1b[2J"]}) == ["x: a x: b^[[2J"]


# ---- addresses


@pytest.mark.parametrize(
    ("url", "safe", "words"),
    [
        ("https://example.org/a?b=c#d", True, ["Host: example.org"]),
        ("https://example.org:8443/", True, ["Host: example.org:8443"]),
        ("http://example.org/", True, ["Not encrypted"]),
        ("https://xn--pple-43d.com/", True, ["punycode", "аpple.com"]),
        ("https://аpple.com/", True, ["beyond ASCII", "xn--pple-43d.com"]),
        ("https://bank.com@evil.org/", True, ["Host: evil.org", "before the @"]),
        ("https://bank.com\\@evil.org/", False, ["a backslash"]),
        ("https://a.org/\u202egnp", False, ["<U+202E>", "invisible characters"]),
        ("javascript:alert(1)", False, ["no readable host"]),
        ("file:///etc/passwd", False, ["no readable host"]),
        ("ftp://example.org/", False, ["Not a web address (ftp)"]),
        ("https://[broken", False, ["no readable host"]),
        ("https://xn--" + "a" * 1_000_000, False, ["no readable host"]),
        ("https://" + "ä." * 500_000, False, ["no readable host"]),
        ("https://a.org:port/", False, ["no readable host"]),
        ("", False, ["no readable host"]),
    ],
)
def test_an_address_is_shown_with_its_risks(url: str, safe: bool, words: list[str]) -> None:
    shown = "\n".join(addresses.describe_address(url))
    assert addresses.is_safe(url) is safe
    for word in words:
        assert word in shown


@pytest.mark.parametrize(
    ("redirect", "host"),
    [
        ("http%3A%2F%2Flocalhost%3A1455%2Fauth%2Fcallback", "localhost:1455"),
        ("http%3A%2F%2F127.0.0.1%3A8080", "127.0.0.1:8080"),
        ("http%3A%2F%2F%5B%3A%3A1%5D%3A8080%2Fcb", "[::1]:8080"),
        ("https%3A%2F%2Fapp.localhost%2Fcb", "app.localhost"),
        ("https%3A%2F%2Fexample.org%2Flocalhost", None),
        ("https%3A%2F%2Flocalhost.example.org%2Fcb", None),
        ("localhost", None),
    ],
)
def test_a_login_that_returns_to_this_machine_says_so(redirect: str, host: str | None) -> None:
    url = f"https://auth.example.org/o?client_id=x&redirect_uri={redirect}&state=1"
    said = [line for line in addresses.describe_address(url) if line.startswith("It returns to")]
    assert said == (
        [f"It returns to {host}, so open it in a browser on this machine"] if host else []
    )
