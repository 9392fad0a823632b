"""Values of any kind given to `setup()`: it never raises, and names each mistake in one line."""

from __future__ import annotations

from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

PLACES = lua_chunk(__file__, "option_paths")
AT_PLACE = lua_chunk(__file__, "set_odd_values")


def test_no_value_of_any_option_raises(front: Editor) -> None:
    places = front.lua(PLACES)
    assert len(places) > 100
    assert [front.lua(AT_PLACE, place) for place in places] == [[[], []]] * len(places)


def test_an_option_with_a_set_of_numbers_names_them(front: Editor) -> None:
    mistakes: list[Any] = front.lua(
        "require('acp').setup({ agents = { mine = { command = { 'x' }, protocol = 'two' } } })"
        " return require('acp.config').mistakes"
    )
    assert mistakes == ["Option 'agents.mine.protocol' should be one of '1', '2'"]


def test_an_infinite_size_or_time_is_a_mistake(front: Editor) -> None:
    mistakes: list[Any] = front.lua(
        "require('acp').setup({ chat = { size = 1 / 0 }, timeouts = { kill_s = 1 / 0 } })"
        " return require('acp.config').mistakes"
    )
    assert mistakes == [
        "Option 'chat.size' should be a number of 0.05 or more",
        "Option 'timeouts.kill_s' should be a number of 0 or more",
    ]


def mistakes_of(front: Editor, entry: str) -> list[str]:
    """Return the mistakes in this Lua entry of an agent."""
    found: list[str] = front.lua(
        f"require('acp').setup({{ agents = {{ far = {entry} }} }})"
        " return require('acp.config').mistakes"
    )
    return found


LIKE = "an address like 'wss://host/path' (ws, wss, http or https)"


ADDRESSES: list[tuple[str, str | None]] = [
    ("ws://localhost", None),
    ("WSS://me:pw@host.example:8443/acp?token=x", None),
    ("http://[::1]:8080/acp", None),
    ("unix:///run/agent.sock", None),
    ("pipe.v2://x", None),
    ("not a url", LIKE),
    ("localhost:8080/acp", LIKE),
    ("", LIKE),
    ("ws:/host", LIKE),
    ("wss://host/a b", LIKE),
    ("ws://host\\n", LIKE),
    ("ws:///acp", "an address with a host"),
    ("ws://me@:80/acp", "an address with a host"),
    ("ws://host:port/acp", "an address whose port is a number from 1 to 65535"),
    ("ws://host:99999/acp", "an address whose port is a number from 1 to 65535"),
    ("https://host/acp#part", "an address without #"),
    ("htp://host/acp", "an address of ws, wss, http or https, did you mean 'http'?"),
    ("w://host/acp", "an address of ws, wss, http or https, did you mean 'ws'?"),
]


def test_an_invalid_address_is_a_mistake(front: Editor) -> None:
    for url, should in ADDRESSES:
        wanted = [f"Option 'agents.far.url' should be {should}"] if should else []
        assert mistakes_of(front, f"{{ url = '{url}' }}") == wanted, url


HEADERS: list[tuple[str, str | None]] = [
    ("{ Authorization = 'Bearer $ENV{T}', ['X-Key'] = '' }", None),
    ("{}", None),
    ("'x'", "a table of headers by name"),
    ("{ 'x' }", "a table of headers by name"),
    ("{ ['X Key'] = 's3cret' }", "a table in which 'X Key' is not the name of a header"),
    (
        "{ ['X-Key'] = 's3cret\\r\\nHost: x' }",
        "a table in which 'X-Key' is a string on one line",
    ),
    ("{ ['X-Key'] = 7 }", "a table in which 'X-Key' is a string on one line"),
    ("{ Host = 's3cret' }", "a table without 'Host', which the plugin sets"),
    ("{ ['acp-session-id'] = 'x' }", "a table without 'acp-session-id', which the plugin sets"),
]


def test_an_invalid_header_is_a_mistake_that_shows_no_value(front: Editor) -> None:
    for headers, should in HEADERS:
        wanted = [f"Option 'agents.far.headers' should be {should}"] if should else []
        found = mistakes_of(front, f"{{ url = 'ws://host', headers = {headers} }}")
        assert found == wanted, headers


def test_an_address_replaces_a_command(front: Editor) -> None:
    both = mistakes_of(front, "{ url = 'ws://host', command = { 'x' } }")
    assert both == ["agents.far has both url and command. Give only one of the two"]
    alone = mistakes_of(front, "{ command = { 'x' }, headers = { A = 'b' } }")
    assert alone == ["agents.far.headers need a url"]
    home = mistakes_of(front, "{ command = { 'x' }, paths = { ['~/src'] = '~/src' } }")
    assert home == ["agents.far.paths: ~ on the agent's side needs a via"]
    known = "require('acp').setup({ agents = { gemini = { url = 'ws://host' } } })"
    agent = front.lua(f"{known} return require('acp.config').get().agents.gemini")
    assert (agent["url"], "command" in agent, "title" in agent) == ("ws://host", False, True)
