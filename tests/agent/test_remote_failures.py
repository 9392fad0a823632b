"""Failures of remote agents: their texts, and whether another attempt makes sense."""

from __future__ import annotations

import ssl

import pytest

from acp_nvim.agent.transport import addresses, failures
from acp_nvim.agent.transport.base import TransportError
from tests.support.remote_client import reached

URL = "https://me:pass@host/acp?token=t0ken"
WS = "wss://host:8443/acp"


@pytest.mark.parametrize(
    ("status", "again"),
    [(401, False), (403, False), (400, False), (404, True), (429, True), (500, True), (503, True)],
)
def test_a_status_says_whether_to_try_again(status: int, again: bool) -> None:
    failure = failures.status_error(URL, status, {})
    assert failure.again is again
    assert str(failure).startswith(f"https://host/acp answers HTTP {status}")
    assert ("agents.*.headers" in str(failure)) is (status in (401, 403))


def test_a_refused_user_gets_no_advice_to_log_in() -> None:
    assert "requires a login" in str(failures.status_error(URL, 401, {}))
    assert "the server refuses access" in str(failures.status_error(URL, 403, {}))


@pytest.mark.parametrize(
    ("status", "soon"), [(429, True), (502, True), (503, True), (404, False), (500, False)]
)
def test_a_busy_server_is_worth_a_first_wait(status: int, soon: bool) -> None:
    assert failures.status_error(URL, status, {"Retry-After": "2"}).soon is soon


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("", 0.0), ("-3", 0.0), ("soon", 0.0), ("99999999", 300.0), ("²", 0.0)],
)
def test_a_server_may_ask_for_a_pause(value: str, seconds: float) -> None:
    assert failures.status_error(URL, 503, {"Retry-After": value}).after == seconds


def test_a_server_may_ask_for_a_pause_until_a_date() -> None:
    assert failures.retry_after({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}) == 0.0
    assert failures.retry_after({"Retry-After": "Fri, 31 Dec 2999 23:59:59 GMT"}) == 300.0


def test_a_refused_certificate_is_not_tried_again() -> None:
    wrong = ssl.SSLCertVerificationError("bad")
    failure = failures.unreachable(URL, ExceptionGroup("all", [wrong]))
    assert not failure.again
    assert "certificate of https://host/acp" in str(failure)


def test_a_refused_connection_is_reported_in_plain_words() -> None:
    failure = failures.unreachable(URL, ConnectionRefusedError(111, "Connection refused"))
    assert failure.again
    assert failure.soon
    assert str(failure) == "cannot reach https://host/acp: Connection refused"


@pytest.mark.parametrize(
    ("url", "location", "other"),
    [
        ("http://host/acp", "/v2/acp", "http://host/v2/acp"),
        ("http://host/acp", "http://host:80/x", "http://host:80/x"),
        (WS, "/other", "wss://host:8443/other"),
        (WS, "https://host:8443/other", "wss://host:8443/other"),
    ],
)
def test_a_redirect_within_the_origin_is_followed(url: str, location: str, other: str) -> None:
    assert failures.redirect_target(url, location) == other


@pytest.mark.parametrize(
    "location",
    ["https://evil/acp", "http://host/acp", "https://host:444/acp", "//evil/x", "file:///etc"],
)
def test_a_redirect_to_another_origin_is_not_followed(location: str) -> None:
    with pytest.raises(TransportError) as refused:
        failures.redirect_target(URL, location)
    assert not refused.value.again
    assert "pass" not in str(refused.value).replace("redirects", "")


def test_secrets_of_an_address_are_not_shown() -> None:
    assert addresses.display_address(URL) == "https://host/acp"
    assert addresses.display_address("ws://[::1]:80/a#b") == "ws://[::1]:80/a"
    assert set(addresses.secrets(URL)) == {"pass", "t0ken"}


def test_headers_from_the_environment_are_filled_in_and_hidden() -> None:
    headers = {"Authorization": "Bearer $ENV{TOKEN}", "X-Team": "blue"}
    filled, hidden = addresses.expand_headers(headers, {"TOKEN": "s3cret"})
    assert filled == {"Authorization": "Bearer s3cret", "X-Team": "blue"}
    assert {"s3cret", "Bearer s3cret", "blue"} <= hidden


def test_an_unset_variable_is_named_and_a_bad_value_is_hidden() -> None:
    with pytest.raises(TransportError, match=r"headers\.A needs the variable NONE"):
        addresses.expand_headers({"A": "$ENV{NONE}"}, {})
    with pytest.raises(TransportError) as refused:
        addresses.expand_headers({"A": "$ENV{BAD}"}, {"BAD": "se\ncret"})
    assert "headers.A" in str(refused.value)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("ws://localhost:1/a", True),
        ("http://127.0.0.1/a", True),
        ("http://[::1]:8/a", True),
        ("http://127.evil.com/a", False),
        ("http://127.0.0.1.evil.com/a", False),
        ("http://127.0.0.1@evil.com/a", False),
    ],
)
def test_only_a_loopback_address_is_local(url: str, here: bool) -> None:
    assert addresses.is_loopback(url) is here


@pytest.mark.parametrize("url", ["http://agent.test/acp", "ws://agent.test/acp"])
@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("http://user:s3cret/@proxy.test:1", "is not an address"),
        ("http://user:s3cret@proxy.test:port", "is not an address"),
        ("ftp://user:s3cret@proxy.test:1", "is not an address"),
        ("http://[user:s3cret@proxy.test", "is not an address"),
        ("socks5://user:s3cret@proxy.test:1", "has a SOCKS proxy"),
    ],
)
async def test_an_unusable_proxy_is_reported_without_its_password(
    url: str, proxy: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, proxy)
    with pytest.raises(TransportError, match=reason) as raised:
        async with reached(url):
            pass
    assert "s3cret" not in str(raised.value)
    assert "pip" not in str(raised.value)
