"""A language server for the sample project: it knows undefined names, and renames.

One file of the standard library, run by `python -I -S`. The sample's set-up starts it
(`lua/acp/command/tutor_server.lua`), nothing else does. Language Server Protocol 3.17.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

NAME: Final = "till"
WORD: Final = re.compile(r"[^\W\d]\w*")
QUOTED: Final = re.compile(r"""('[^'\n]*'|"[^"\n]*")""")
ERROR: Final = 1
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602


class Place(NamedTuple):
    """A word in a text: row and columns, 0-based, in characters."""

    row: int
    first: int
    last: int
    word: str


# -- what it knows of a text ----------------------------------------------------------------------


def problems(text: str) -> list[tuple[Place, str]]:
    """Return what is wrong in a text: the first syntax error, or the names that nothing defines."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        row = max((error.lineno or 1) - 1, 0)
        return [(Place(row, 0, 1, ""), f"{error.msg}")]
    known = set(dir(builtins)) | {"__file__", "__name__"} | set(_defined(tree))
    return [(it, f"`{it.word}` is not defined") for it in _uses(text, tree) if it.word not in known]


def _defined(tree: ast.AST) -> Iterator[str]:
    added = {id(node.target) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(tree):
        if id(node) in added:
            continue  # what is added to has to be there before
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.alias(name=name, asname=shown):
                yield (shown or name).split(".")[0]


def _uses(text: str, tree: ast.AST) -> list[Place]:
    """Names that are read, by their places."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return [it for it in words(text) if it.word in read and not it.word.startswith("__")]


def words(text: str) -> list[Place]:
    """Return the names in a text that are code: not in comments, and of strings only what stands
    in the braces of one with an `f`.
    """
    found: list[Place] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            row, column = token.start[0] - 1, token.start[1]
            if token.type == tokenize.NAME and not _is_attribute(token):
                found.append(Place(row, column, column + len(token.string), token.string))
            elif token.type == tokenize.STRING and "f" in token.string[:2].lower():
                found += _in_braces(row, column, token.string)
    except (tokenize.TokenError, SyntaxError):
        pass  # what comes before the mistake
    return found


def _is_attribute(token: tokenize.TokenInfo) -> bool:
    return token.line[: token.start[1]].rstrip().endswith(".")


def _in_braces(row: int, column: int, string: str) -> Iterator[Place]:
    """Names in the braces of a string on one line, but for those in quotes and formats."""
    body = string[2:-1] if "\n" not in string else ""
    bare = QUOTED.sub(lambda it: " " * len(it.group()), body)
    for braces in re.finditer(r"\{([^{}:]*)", bare):
        for match in WORD.finditer(bare, braces.start(1), braces.end(1)):
            first = column + 2 + match.start()
            yield Place(row, first, first + len(match.group()), match.group())


# -- the protocol ---------------------------------------------------------------------------------


def units(line: str, column: int) -> int:
    """A column in UTF-16, which the protocol counts by."""
    return len(line[:column].encode("utf-16-le")) // 2


def span(text: str, place: Place) -> dict[str, Any]:
    """A `Range`."""
    lines = text.split("\n")
    line = lines[place.row] if place.row < len(lines) else ""
    first, last = units(line, place.first), units(line, place.last)
    return {
        "start": {"line": place.row, "character": first},
        "end": {"line": place.row, "character": max(last, first)},
    }


class Server:
    """The documents that are open, and the answers about them."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer
        self._texts: dict[str, str] = {}

    def run(self) -> None:
        """Serve until the input ends."""
        while (message := self._received()) is not None:
            if message.get("method") == "exit":
                return
            self._take(message)

    def _received(self) -> Any:
        length = 0
        while (line := self._reader.readline()) not in (b"", b"\r\n"):
            name, _, value = line.decode("ascii", "replace").partition(":")
            if name.lower() == "content-length":
                length = int(value)
        body = self._reader.read(length) if line else b""
        return json.loads(body) if body else None

    def _send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._writer.flush()

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method", ""), message.get("params") or {}
        if "id" not in message:
            self._notified(method, params)
            return
        answers = {
            "initialize": self._initialize,
            "shutdown": lambda params: None,
            "textDocument/definition": self._definition,
            "textDocument/references": self._references,
            "textDocument/rename": self._rename,
        }
        if method not in answers:
            refusal = {"code": METHOD_NOT_FOUND, "message": f"unknown: {method}"}
            self._send(id=message["id"], error=refusal)
            return
        try:
            self._send(id=message["id"], result=answers[method](params))
        except KeyError as error:
            refusal = {"code": INVALID_PARAMS, "message": f"not there: {error}"}
            self._send(id=message["id"], error=refusal)

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        del params
        provided = ("definitionProvider", "referencesProvider", "renameProvider")
        sync = {"openClose": True, "change": 1}
        capabilities = {"textDocumentSync": sync, **dict.fromkeys(provided, True)}
        return {"capabilities": capabilities, "serverInfo": {"name": NAME}}

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        document = params.get("textDocument") or {}
        match method:
            case "textDocument/didOpen":
                self._changed(document, document["text"])
            case "textDocument/didChange":
                self._changed(document, params["contentChanges"][-1]["text"])
            case "textDocument/didClose":
                self._texts.pop(document["uri"], None)

    def _changed(self, document: dict[str, Any], text: str) -> None:
        uri = document["uri"]
        self._texts[uri] = text
        found = [
            {"range": span(text, at), "severity": ERROR, "source": NAME, "message": message}
            for at, message in problems(text)
        ]
        told = {"uri": uri, "version": document["version"], "diagnostics": found}
        self._send(method="textDocument/publishDiagnostics", params=told)

    # ---- questions about the word at a place

    def _places(self, params: dict[str, Any]) -> tuple[str, str, list[Place]]:
        """The document, its text, and all places of the word that is asked about."""
        uri, at = params["textDocument"]["uri"], params["position"]
        text = self._texts[uri]
        line = (text.split("\n") + [""] * (at["line"] + 1))[at["line"]]
        found = words(text)
        for one in found:
            first, last = units(line, one.first), units(line, one.last)
            if one.row == at["line"] and first <= at["character"] <= last:
                return uri, text, [it for it in found if it.word == one.word]
        return uri, text, []

    def _references(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        uri, text, places = self._places(params)
        return [{"uri": uri, "range": span(text, it)} for it in places]

    def _definition(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        return self._references(params)[:1]

    def _rename(self, params: dict[str, Any]) -> dict[str, Any] | None:
        uri, text, places = self._places(params)
        edits = [{"range": span(text, it), "newText": params["newName"]} for it in places]
        return {"changes": {uri: edits}} if edits else None


if __name__ == "__main__":
    Server(sys.stdin.buffer, sys.stdout.buffer).run()
