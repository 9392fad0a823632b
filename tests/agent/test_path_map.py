"""Paths of agents in another place: the mapping, and the members of messages that it covers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.agent.wire.path_fields import FIELDS, OPAQUE, PathFields
from acp_nvim.agent.wire.path_map import PathMap
from acp_nvim.protocol.jsonrpc import Notification, Peer, Request

SCHEMAS: Final = sorted(Path("tests/schema").glob("v*/schema*.json"))
LIKE_A_PATH: Final = re.compile(r"(?i)path|cwd|director|\buri|uri$|folder|root")
NO_PATHS: Final = {
    "McpServerStdio.command": "runs there",
    "Icon.src": "is an https: or data: URI",
    "SessionCapabilities.additionalDirectories": "is a capability",
}
"""Members that look like a path and are none, with the reason."""

_names: Final = st.sampled_from(["a", "ab", "b", "a b", "é", "%20", "..", ".", ""])
_paths: Final = st.lists(_names, max_size=5).map(lambda names: "/" + "/".join(names))
_pairs: Final = st.dictionaries(
    st.sampled_from(["/a", "/a/b", "/ab", "/é/a b", "/"]),
    st.sampled_from(["/b", "/b/a", "/a", "/w", "/w/%20"]),
    max_size=3,
).filter(lambda pairs: len(set(pairs.values())) == len(pairs))


def members(schema: Any, name: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield type, name and schema of each member of the definitions."""
    for kind, definition in schema["$defs"].items():
        waiting = [definition]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                yield from ((kind, *member) for member in (one.get("properties") or {}).items())
                waiting += one.values()
            elif isinstance(one, list):
                waiting += one


@pytest.mark.parametrize("path", SCHEMAS, ids=str)
def test_each_member_that_looks_like_a_path_has_a_row(path: Path) -> None:
    found = set()
    for kind, name, member in members(json.loads(path.read_text())):
        described = str(member.get("description", "")) if isinstance(member, dict) else ""
        types = json.dumps(member)
        is_text = '"string"' in types or "AbsolutePath" in types or "Uri" in types
        is_like = LIKE_A_PATH.search(name) or re.search(r"(?i)absolute.{0,30}\bpath", described)
        if is_text and is_like and f"{kind}.{name}" not in NO_PATHS:
            found.add(name)
    assert found
    assert found <= FIELDS.keys()


@given(_pairs, _paths)
def test_there_and_back_is_the_identity_on_covered_paths(pairs: dict[str, str], path: str) -> None:
    paths = PathMap("dev", pairs)
    there = paths.to_agent(path)
    if there.startswith("/"):
        assert paths.to_agent(paths.to_local(there)) == there
    here = paths.to_local(path)
    assert paths.to_local(paths.to_agent(here)) == here


@given(_pairs, _paths)
def test_no_uncovered_path_leaves_as_a_covered_one(pairs: dict[str, str], path: str) -> None:
    paths = PathMap("dev", pairs)
    if not paths.covers_here(path):
        assert not paths.to_agent(path).startswith("/")
        assert not paths.uri_to_agent(Path(path).as_uri()).startswith("file:")
    here = paths.to_local(path)
    assert here.startswith("/dev:/") or paths.covers_here(here)


def test_the_longest_pair_of_whole_names_is_used(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    pairs = {"/src": "/w", "/src/lib": "/lib", "~/x": "~/y", str(tmp_path / "link"): "/linked"}
    paths = PathMap("dev", pairs)
    paths.set_home("/home/me", "/home/me")
    assert paths.to_agent("/src/./a//b/../c") == "/w/a/c"
    assert paths.to_agent("/src/lib/a") == "/lib/a"
    assert paths.to_agent("/src/library") == "/w/library"
    assert paths.to_agent("/srcs/a") == "neovim:/srcs/a"
    assert paths.to_agent("relative/a") == "relative/a"
    assert paths.to_agent(str(tmp_path / "real/a")) == "/linked/a"
    assert paths.to_agent(str(Path.home() / "x/a")) == "/home/me/y/a"
    assert paths.to_local("/lib/../lib/a") == "/src/lib/a"
    assert paths.to_local("/w/../etc/passwd") == "/dev:/etc/passwd"
    assert paths.to_local("file:///w/a%20b") == "/src/a b"
    assert paths.to_local("file://host/src/a") == "/dev:/src/a"
    assert paths.to_agent("/dev:/etc/passwd") == "/etc/passwd"
    assert paths.to_agent("/dev:/w/a") == "neovim:/dev:/w/a"
    assert paths.uri_to_local("file:///w/a%20b#L3") == "file:///src/a%20b#L3"
    assert paths.uri_to_local("file:/src/a") == "file:///dev%3A/src/a"
    assert paths.uri_to_local("file://host/src/a") == "file:///dev%3A/src/a"
    assert paths.uri_to_agent("file:///src/a%20b?x") == "file:///w/a%20b?x"
    assert paths.uri_to_agent("file:///other") == "neovim:/other"
    assert paths.uri_to_agent("https://example.org/src/a") == "https://example.org/src/a"


def test_all_members_of_a_message_are_mapped_and_data_of_others_is_not() -> None:
    fields = PathFields(PathMap("dev", {"/src": "/w"}))
    call = {
        "sessionUpdate": "tool_call",
        "locations": [{"path": "/w/a", "line": 3}, {"path": "/etc/x"}],
        "content": [{"type": "diff", "path": "/w/a", "newText": "/w/a"}],
        "rawInput": {"file_path": "/w/a", "command": "cat /w/a", "paths": ["/w/b"]},
        "rawOutput": {"path": "/w/a"},
        "_meta": {"path": "/w/a"},
    }
    params = {"sessionId": "s", "update": call}
    (event,) = fields.incoming([Notification("session/update", _raw(params))])
    assert isinstance(event, Notification)
    mapped = msgspec.json.decode(event.params)["update"]
    assert [one["path"] for one in mapped["locations"]] == ["/src/a", "/dev:/etc/x"]
    assert mapped["content"] == [{"type": "diff", "path": "/src/a", "newText": "/w/a"}]
    assert mapped["rawInput"] == {
        "file_path": "/src/a",
        "command": "cat /w/a",
        "paths": ["/src/b"],
    }
    assert {name: mapped[name] for name in OPAQUE & mapped.keys()} == {
        name: call[name] for name in OPAQUE & call.keys()
    }
    extension = Request(1, "_x/y", _raw({"path": "/w/a"}))
    assert fields.incoming([extension]) == [extension]


def test_refusals_and_answers_of_tools_have_the_paths_of_the_agent() -> None:
    fields = PathFields(PathMap("dev", {"/src": "/w"}))
    peer = Peer()
    for method, key, local, there in (
        ("fs/read_text_file", "path", "/src/a", "/w/a"),
        ("terminal/create", "cwd", "/src/a", "/w/a"),
        ("terminal/create", "cwd", "/dev:/etc", "/etc"),
    ):
        peer.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n")
        line = peer.refuse(1, -32002, f"no {local}", {key: local, "reason": "missing"})
        error = json.loads(fields.outgoing(line, method))["error"]
        data = {key: there, "reason": "missing"}
        assert error == {"code": -32002, "message": f"no {there}", "data": data}
    prompt = {"prompt": [{"type": "resource_link", "uri": "file:///src/a", "name": "a"}]}
    _, line = peer.request("session/prompt", prompt)
    sent = json.loads(fields.outgoing(line, "session/prompt"))
    assert sent["params"]["prompt"][0]["uri"] == "file:///w/a"
    servers = {"cwd": "/src", "mcpServers": [{"command": "/src/a", "args": ["/src"]}]}
    _, line = peer.request("session/new", servers)
    sent = json.loads(fields.outgoing(line, "session/new"))["params"]
    assert sent == {**servers, "cwd": "/w"}


def test_names_that_are_not_utf_8_are_mapped() -> None:
    paths = PathMap("dev", {"/src": "/w", os.fsdecode(b"/caf\xe9"): "/cafe"})
    for here, there in (
        ("file:///src/%E9.py", "file:///w/%E9.py"),
        ("file:///caf%E9", "file:///cafe"),
    ):
        assert paths.uri_to_agent(here) == there
        assert paths.uri_to_local(there) == here
    request = Request(1, "fs/read_text_file", _raw({"path": "/cafe/a"}))
    (event,) = PathFields(paths).incoming([request])
    assert isinstance(event, Request)
    # JSON cannot contain that byte.
    assert msgspec.json.decode(event.params) == {"path": "/caf\ufffd/a"}


def test_results_of_tools_name_files_as_the_agent_knows_them() -> None:
    fields = PathFields(PathMap("dev", {"/src": "/w", "/src/lib": "/lib"}))
    place = {"path": "/src/lib/a", "line": 3, "column": 1}
    text = "/src/lib/a:3:1 see /src/lib/a\nb:1:1\nmodified /src/b +1 -0\n/srcs/c:1:1"
    shown = "/lib/a:3:1 see /src/lib/a\nb:1:1\nmodified /w/b +1 -0\n/srcs/c:1:1"
    found: dict[str, Any] = {"structuredContent": {"places": [place]}}
    listed = {"content": [{"type": "text", "text": text}], **found}
    read = {**listed, "structuredContent": {"path": "/src/b", "line": 1, "text": text}}
    for result, sent in ((listed, shown), (read, text)):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
        answer = json.loads(fields.tool_answer(line))["result"]
        assert answer["content"][0]["text"] == sent
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"result": result}}).encode()
        over_acp = json.loads(fields.outgoing(line, "mcp/message"))["result"]["result"]
        assert over_acp == answer
        assert "/src" not in json.dumps(answer["structuredContent"].get("path"))
    call = {"method": "tools/call", "params": {"arguments": {"path": "/lib/a", "old": "/lib/a"}}}
    asked = json.loads(fields.tool_request(json.dumps(call).encode()))
    assert asked["params"]["arguments"] == {"path": "/src/lib/a", "old": "/lib/a"}
    assert fields.tool_request(b"a token") == b"a token"


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())
