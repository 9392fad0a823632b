"""What the language server of the sample project knows of a text."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from acp_nvim.tutor import language_server
from acp_nvim.tutor.language_server import problems, words
from tests.support.editor import ROOT

TILL = (ROOT / "acp_nvim/tutor/sample/till.py").read_text()
URI = "file:///till.py"


def said(text: str) -> list[tuple[int, str]]:
    return [(place.row + 1, message) for place, message in problems(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TILL, []),
        (TILL.replace("return amount", "return amout"), [(16, "`amout` is not defined")]),
        (TILL.replace("{total(basket)", "{totl(basket)"), [(23, "`totl` is not defined")]),
        ("x = 1\nprint(x.y, 'z', f'{x:>3} {q}')  # w\n", [(2, "`q` is not defined")]),
        ("a += 1\n", [(1, "`a` is not defined")]),
        ("def f(:\n", [(1, "invalid syntax")]),
        ("", []),
    ],
)
def test_a_name_that_nothing_defines_is_an_error(text: str, found: list[Any]) -> None:
    assert said(text) == found


def test_names_are_code_not_attributes_comments_or_texts() -> None:
    text = "total = a.total  # total\nprint('total', f\"{total}: total {'total'}\")\n"
    found = [(it.row, it.first) for it in words(text) if it.word == "total"]
    assert found == [(0, 0), (1, 18)]


def messages(*sent: dict[str, Any]) -> list[dict[str, Any]]:
    """What the server answers to messages over its pipe."""
    bodies = [json.dumps({"jsonrpc": "2.0", **it}).encode() for it in sent]
    data = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    argv = [sys.executable, "-I", "-S", str(language_server.__file__)]
    out = subprocess.run(argv, input=data, capture_output=True, check=True, timeout=20).stdout
    found = []
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        found.append(json.loads(rest[:length]))
        out = rest[length:]
    return found


def test_it_serves_over_its_pipe() -> None:
    document = {"uri": URI, "languageId": "python", "version": 0, "text": 'd = "🦆"; print(d, e)\n'}
    at = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 16}}
    answers = messages(
        {"id": 1, "method": "initialize", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 2, "method": "textDocument/rename", "params": {**at, "newName": "duck"}},
        {"id": 3, "method": "textDocument/hover", "params": at},
        {"id": 4, "method": "textDocument/rename", "params": {**at, "textDocument": {"uri": "x"}}},
        {"method": "exit"},
    )
    hello, told, renamed, unknown, missing = answers
    assert hello["result"]["capabilities"]["renameProvider"] is True
    (problem,) = told["params"]["diagnostics"]
    assert problem["range"]["start"] == {"line": 0, "character": 19}
    edits = renamed["result"]["changes"][URI]
    assert [it["range"]["start"]["character"] for it in edits] == [0, 16]
    assert unknown["error"]["code"] == -32601
    assert missing["error"]["code"] == -32602
