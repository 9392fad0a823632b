"""A scripted language server over stdio, of the language of `words_language`. No dependencies.

A test has it started in its Neovim by `served_language.serve`. The script says how it behaves
beside that:

    name          what it calls itself; the source of its diagnostics
    encoding      its positionEncoding: "utf-16", "utf-8", "utf-32"
    capabilities  merged over its own; null takes one away
    answers       {method: result} in place of its own
    errors        {method: {code, message}}
    never         [method]: not answered
    dead          [method]: it exits when that is asked
    hold          {method: path}: answered once there is such a file; also "publish"
    versions      added to the versions of documents that it sends (a rename of another text)
    behind        true: what it publishes is of the version before the last
    publish       false: no diagnostics but when asked ("textDocument/diagnostic")
    commands      {name: WorkspaceEdit}: commands that have the editor apply that edit
    doubles       true: each change publishes all documents, with an error in each where two are
    works         a path: at work (progress) on each document until there is such a file, and knows
                  of no other one meanwhile
    many          so many diagnostics for each document
    log           a file that gets a line of JSON for each message it is sent
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.support import words_language as language

METHODS: Final = {
    "textDocument/definition": "definition",
    "textDocument/declaration": "definition",
    "textDocument/implementation": "definition",
    "textDocument/references": "references",
    "textDocument/hover": "hover",
    "textDocument/documentSymbol": "document_symbol",
    "workspace/symbol": "workspace_symbol",
    "textDocument/prepareCallHierarchy": "prepare_calls",
    "callHierarchy/incomingCalls": "incoming",
    "callHierarchy/outgoingCalls": "outgoing",
    "textDocument/prepareRename": "prepare_rename",
    "textDocument/rename": "rename",
    "textDocument/formatting": "formatting",
    "textDocument/rangeFormatting": "range_formatting",
    "textDocument/codeAction": "code_action",
    "codeAction/resolve": "resolve_action",
    "textDocument/diagnostic": "diagnostic",
    "workspace/executeCommand": "execute",
}

PROVIDED: Final = (
    *("definition", "declaration", "implementation", "references", "hover", "documentSymbol"),
    *("workspaceSymbol", "callHierarchy", "documentFormatting", "documentRangeFormatting"),
)


class Server:
    """One server: its documents, and what it answers."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.name: str = script.get("name", "words")
        self.encoding: str = script.get("encoding", "utf-16")
        self.root = Path.cwd()
        self.open: dict[str, tuple[str, int]] = {}
        self.held: list[tuple[str, Callable[[], None]]] = []

    # ---- the wire

    def run(self) -> None:
        """Serve until stdin ends."""
        data = b""
        while True:
            ready = select.select([0], [], [], 0.01 if self.held else None)[0]
            if ready:
                more = os.read(0, 65536)
                if not more:
                    return
                data = self._taken(data + more)
            self._release()

    def _taken(self, data: bytes) -> bytes:
        while (end := data.find(b"\r\n\r\n")) >= 0:
            length = int(data[:end].lower().split(b"content-length:")[1].split()[0])
            if len(data) < end + 4 + length:
                break
            self._received(json.loads(data[end + 4 : end + 4 + length]))
            data = data[end + 4 + length :]
        return data

    def _release(self) -> None:
        waiting, self.held = self.held, []
        for path, action in waiting:
            if Path(path).exists():
                action()
            else:
                self.held.append((path, action))

    def send(self, message: dict[str, Any]) -> None:
        """One message to the editor."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data = b"Content-Length: %d\r\n\r\n" % len(body) + body
        while data:
            data = data[os.write(1, data) :]

    def _received(self, message: dict[str, Any]) -> None:
        if "log" in self.script:
            with Path(self.script["log"]).open("a") as log:
                log.write(json.dumps(message) + "\n")
        method = message.get("method", "")
        if method in self.script.get("dead", ()):
            os._exit(0)  # of another code Neovim speaks, and waits for a key
        if method and "id" in message:
            self._later(method, lambda: self._answer(message))
        elif method:
            self._heard(method, message.get("params") or {})

    def _later(self, name: str, action: Callable[[], None]) -> None:
        path = self.script.get("hold", {}).get(name)
        if path is None:
            action()
        else:
            self.held.append((path, action))

    def _answer(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params") or {}
        if method in self.script.get("never", ()):
            return
        if method in self.script.get("errors", {}):
            self.send({"id": message["id"], "error": self.script["errors"][method]})
        elif method in self.script.get("answers", {}):
            self.send({"id": message["id"], "result": self.script["answers"][method]})
        elif method in METHODS:
            self.send({"id": message["id"], "result": getattr(self, METHODS[method])(params)})
        elif method == "initialize":
            self.send({"id": message["id"], "result": self.initialize(params)})
        elif method == "shutdown":
            self.send({"id": message["id"], "result": None})
        else:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})

    # ---- documents

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """What it can do."""
        if params.get("rootPath"):
            self.root = Path(params["rootPath"])
        own: dict[str, Any] = {
            "positionEncoding": self.encoding,
            "textDocumentSync": {"openClose": True, "change": 1, "save": True},
            **dict.fromkeys((f"{name}Provider" for name in PROVIDED), True),
            "renameProvider": {"prepareProvider": True},
            "codeActionProvider": {"resolveProvider": True},
        }
        if self.script.get("publish") is False:
            own["diagnosticProvider"] = {
                "interFileDependencies": False,
                "workspaceDiagnostics": False,
            }
        if "commands" in self.script:
            own["executeCommandProvider"] = {"commands": list(self.script["commands"])}
        own |= self.script.get("capabilities", {})
        capabilities = {name: value for name, value in own.items() if value is not None}
        return {"capabilities": capabilities, "serverInfo": {"name": self.name}}

    def _heard(self, method: str, params: dict[str, Any]) -> None:
        document = params.get("textDocument", {})
        uri = document.get("uri", "")
        if method == "exit":
            os._exit(0)
        elif method == "textDocument/didOpen":
            self.open[uri] = document["text"], document["version"]
            self._publish(uri)
            self._work()
        elif method == "textDocument/didChange":
            self.open[uri] = params["contentChanges"][-1]["text"], document["version"]
            self._publish(uri)
        elif method == "textDocument/didClose":
            self.open.pop(uri, None)
            if self.script.get("doubles"):
                self._publish_all()

    def _work(self) -> None:
        path = self.script.get("works")
        if path is None or Path(path).exists():
            return
        self.send(
            {"id": "work", "method": "window/workDoneProgress/create", "params": {"token": 1}}
        )
        begin = {"token": 1, "value": {"kind": "begin", "title": "reading"}}
        self.send({"method": "$/progress", "params": begin})
        end = {"method": "$/progress", "params": {"token": 1, "value": {"kind": "end"}}}
        self.held.append((path, lambda: self.send(end)))

    def _publish(self, uri: str) -> None:
        if self.script.get("publish") is False:
            return
        if self.script.get("doubles"):
            self._publish_all()
            return
        version = self.open[uri][1] - bool(self.script.get("behind"))
        params = {"uri": uri, "version": version, "diagnostics": self._said(uri)}
        message = {"method": "textDocument/publishDiagnostics", "params": params}
        self._later("publish", lambda: self.send(message))

    def _publish_all(self) -> None:
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        double = {"range": place, "severity": 1, "message": "a double of another document"}
        more = [double] if len(self.open) > 1 else []
        for uri in self.open:
            params = {"uri": uri, "diagnostics": self._said(uri) + more}
            self.send({"method": "textDocument/publishDiagnostics", "params": params})

    def _said(self, uri: str) -> list[dict[str, Any]]:
        many = self.script.get("many")
        if many is None:
            return language.diagnostics(self.texts()[uri], self.name, self.encoding)
        place = {"line": 0, "character": 0}
        return [
            {"range": {"start": place, "end": place}, "severity": 1 + n % 2, "message": f"no. {n}"}
            for n in range(many)
        ]

    def texts(self) -> dict[str, str]:
        """The text files of the directory, and the documents as they are open."""
        works = self.script.get("works")
        reads = works is not None and not Path(works).exists()
        files = [] if reads else self.root.rglob("*.txt")
        found = {to_uri(path): path.read_text("utf-8", "replace") for path in files}
        return found | {uri: text for uri, (text, _) in self.open.items()}

    def _word(self, params: dict[str, Any]) -> str | None:
        text = self.texts()[params["textDocument"]["uri"]]
        return language.word_at(text, params["position"], self.encoding)

    # ---- what it is asked

    def definition(self, params: dict[str, Any]) -> Any:
        """Where the word is defined."""
        word = self._word(params)
        found = language.defined(self.texts(), self.encoding)
        return [symbol["location"] for symbol in found if symbol["name"] == word]

    def references(self, params: dict[str, Any]) -> Any:
        """Where the word is used."""
        word = self._word(params)
        return list(language.uses(self.texts(), word, self.encoding)) if word else None

    def hover(self, params: dict[str, Any]) -> Any:
        """The word's definition."""
        word = self._word(params)
        text = f"```words\ndef {word}\n```\nsaid by {self.name}"
        return {"contents": {"kind": "markdown", "value": text}} if word else None

    def document_symbol(self, params: dict[str, Any]) -> Any:
        """The outline of a document."""
        return language.outline(self.texts()[params["textDocument"]["uri"]], self.encoding)

    def workspace_symbol(self, params: dict[str, Any]) -> Any:
        """Definitions whose names hold the query."""
        found = language.defined(self.texts(), self.encoding)
        return [symbol for symbol in found if params["query"] in symbol["name"]]

    def prepare_calls(self, params: dict[str, Any]) -> Any:
        """The item of the word."""
        word = self._word(params)
        return [item(one) for one in self._defined() if one["name"] == word] or None

    def incoming(self, params: dict[str, Any]) -> Any:
        """Who uses the word: the definition that stands above each use."""
        found: dict[str, Any] = {}
        for use in language.uses(self.texts(), params["item"]["name"], self.encoding):
            above = self._above(use)
            if above is not None and above["name"] != params["item"]["name"]:
                calls = {"from": item(above), "fromRanges": []}
                found.setdefault(above["name"], calls)["fromRanges"].append(use["range"])
        return list(found.values())

    def outgoing(self, params: dict[str, Any]) -> Any:
        """Which words are used below the definition."""
        found = []
        for one in self._defined():
            uses = language.uses(self.texts(), one["name"], self.encoding)
            above = [use for use in uses if (self._above(use) or {}).get("name") != one["name"]]
            ranges = [
                use["range"]
                for use in above
                if (self._above(use) or {}).get("name") == params["item"]["name"]
            ]
            if ranges:
                found.append({"to": item(one), "fromRanges": ranges})
        return found

    def _defined(self) -> Iterator[dict[str, Any]]:
        return language.defined(self.texts(), self.encoding)

    def _above(self, use: dict[str, Any]) -> dict[str, Any] | None:
        found = None
        for one in self._defined():
            where = one["location"]
            row = where["range"]["start"]["line"]
            if where["uri"] == use["uri"] and row <= use["range"]["start"]["line"]:
                found = one
        return found

    def prepare_rename(self, params: dict[str, Any]) -> Any:
        """Whether there is a word."""
        return {"defaultBehavior": True} if self._word(params) else None

    def rename(self, params: dict[str, Any]) -> Any:
        """Edits of all uses, with the versions of the documents that are open."""
        word = self._word(params)
        if word is None:
            return None
        changes: dict[str, list[dict[str, Any]]] = {}
        for use in language.uses(self.texts(), word, self.encoding):
            edit = {"range": use["range"], "newText": params["newName"]}
            changes.setdefault(use["uri"], []).append(edit)
        return {
            "documentChanges": [
                {"textDocument": {"uri": uri, "version": self._version(uri)}, "edits": edits}
                for uri, edits in changes.items()
            ]
        }

    def _version(self, uri: str) -> int | None:
        if uri not in self.open:
            return None
        return self.open[uri][1] + int(self.script.get("versions", 0))

    def formatting(self, params: dict[str, Any]) -> Any:
        """No spaces at the ends of lines."""
        return language.trimmed(self.texts()[params["textDocument"]["uri"]], self.encoding)

    def range_formatting(self, params: dict[str, Any]) -> Any:
        """The same within some lines."""
        first, last = params["range"]["start"]["line"], params["range"]["end"]["line"]
        edits = self.formatting(params)
        return [one for one in edits if first <= one["range"]["start"]["line"] <= last]

    def code_action(self, params: dict[str, Any]) -> Any:
        """Take the line of a diagnostic away; the edit comes when it is resolved."""
        uri, first = params["textDocument"]["uri"], params["range"]["start"]["line"]
        last = params["range"]["end"]["line"]
        said = language.diagnostics(self.texts()[uri], self.name, self.encoding)
        rows = [one["range"]["start"]["line"] for one in said]
        return [
            {
                "title": f"Remove line {row + 1}",
                "kind": "quickfix",
                "data": {"uri": uri, "row": row},
            }
            for row in rows
            if first <= row <= last
        ]

    def resolve_action(self, action: dict[str, Any]) -> Any:
        """The action with its edit."""
        uri, row = action["data"]["uri"], action["data"]["row"]
        place = {
            "start": {"line": row, "character": 0},
            "end": {"line": row + 1, "character": 0},
        }
        return {**action, "edit": {"changes": {uri: [{"range": place, "newText": ""}]}}}

    def execute(self, params: dict[str, Any]) -> Any:
        """A command: the editor is to apply its edit."""
        edit = self.script["commands"][params["command"]]
        self.send({"id": "edit", "method": "workspace/applyEdit", "params": {"edit": edit}})
        return None

    def diagnostic(self, params: dict[str, Any]) -> Any:
        """A full report."""
        return {"kind": "full", "items": self._said(params["textDocument"]["uri"])}


def item(symbol: dict[str, Any]) -> dict[str, Any]:
    """A `CallHierarchyItem` of a `SymbolInformation`."""
    where = symbol["location"]
    spans = {"range": where["range"], "selectionRange": where["range"]}
    return {"name": symbol["name"], "kind": symbol["kind"], "uri": where["uri"], **spans}


def to_uri(path: Path) -> str:
    """The URI of a file, as Neovim writes it."""
    return "file://" + quote(str(path))


if __name__ == "__main__":
    Server(json.loads(sys.argv[1])).run()
