"""Scripted language server over stdio for the language of `words_language`. No dependencies.

Tests start it in their Neovim with `served_language.serve`. The script changes its behaviour:

    name          its name, and the source of its diagnostics
    encoding      its positionEncoding: "utf-16", "utf-8", "utf-32"
    capabilities  merged over its own; null removes one
    answers       {method: result}, instead of its own results
    errors        {method: {code, message}}
    cancels       [method]: it answers the first request as cancelled (LSP 3.17, RequestCancelled)
    never         [method]: requests that get no answer
    dead          [method]: requests at which it exits
    hold          {method: path}: answered once the file exists; also "publish"
    versions      added to the versions of documents in its results (a rename for another text)
    behind        true: it publishes for the version before the last
    publish       false: it sends diagnostics only on request ("textDocument/diagnostic")
    commands      {name: WorkspaceEdit}: commands that make the editor apply that edit
    doubles       true: each change publishes all documents, with an error in each if there are two
    works         a path: it reports progress for each document until the file exists, and knows
                  no other document meanwhile
    many          number of diagnostics for each document
    log           a file that gets a line of JSON for each message to the server
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
    """One server with its documents."""

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
                data = self._handle_input(data + more)
            self._release()

    def _handle_input(self, data: bytes) -> bytes:
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
        """Send one message to the editor."""
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
            os._exit(0)  # Neovim reports any other exit code, and waits for a key
        if method and "id" in message:
            self._when_released(method, lambda: self._answer(message))
        elif method:
            self._notified(method, message.get("params") or {})

    def _when_released(self, name: str, action: Callable[[], None]) -> None:
        path = self.script.get("hold", {}).get(name)
        if path is None:
            action()
        else:
            self.held.append((path, action))

    def _answer(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params") or {}
        if method in self.script.get("never", ()):
            return
        if method in self.script.get("cancels", ()):
            self.script["cancels"].remove(method)
            self.send({"id": message["id"], "error": {"code": -32800, "message": "cancelled"}})
        elif method in self.script.get("errors", {}):
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
        """Return the server's capabilities."""
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

    def _notified(self, method: str, params: dict[str, Any]) -> None:
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
        params = {"uri": uri, "version": version, "diagnostics": self._diagnostics_of(uri)}
        message = {"method": "textDocument/publishDiagnostics", "params": params}
        self._when_released("publish", lambda: self.send(message))

    def _publish_all(self) -> None:
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        double = {"range": place, "severity": 1, "message": "a double of another document"}
        more = [double] if len(self.open) > 1 else []
        for uri in self.open:
            params = {"uri": uri, "diagnostics": self._diagnostics_of(uri) + more}
            self.send({"method": "textDocument/publishDiagnostics", "params": params})

    def _diagnostics_of(self, uri: str) -> list[dict[str, Any]]:
        many = self.script.get("many")
        if many is None:
            return language.diagnostics(self.texts()[uri], self.name, self.encoding)
        place = {"line": 0, "character": 0}
        return [
            {"range": {"start": place, "end": place}, "severity": 1 + n % 2, "message": f"no. {n}"}
            for n in range(many)
        ]

    def texts(self) -> dict[str, str]:
        """Return the text files of the directory, and the open documents in their current state."""
        works = self.script.get("works")
        reads = works is not None and not Path(works).exists()
        files = [] if reads else self.root.rglob("*.txt")
        found = {to_uri(path): path.read_text("utf-8", "replace") for path in files}
        return found | {uri: text for uri, (text, _) in self.open.items()}

    def _word(self, params: dict[str, Any]) -> str | None:
        text = self.texts()[params["textDocument"]["uri"]]
        return language.word_at(text, params["position"], self.encoding)

    # ---- requests

    def definition(self, params: dict[str, Any]) -> Any:
        """Return the definition of the word."""
        word = self._word(params)
        found = language.defined(self.texts(), self.encoding)
        return [symbol["location"] for symbol in found if symbol["name"] == word]

    def references(self, params: dict[str, Any]) -> Any:
        """Return the uses of the word."""
        word = self._word(params)
        return list(language.uses(self.texts(), word, self.encoding)) if word else None

    def hover(self, params: dict[str, Any]) -> Any:
        """Return the word's definition as text."""
        word = self._word(params)
        text = f"```words\ndef {word}\n```\nsaid by {self.name}"
        return {"contents": {"kind": "markdown", "value": text}} if word else None

    def document_symbol(self, params: dict[str, Any]) -> Any:
        """Return the outline of a document."""
        return language.outline(self.texts()[params["textDocument"]["uri"]], self.encoding)

    def workspace_symbol(self, params: dict[str, Any]) -> Any:
        """Return definitions whose names contain the query."""
        found = language.defined(self.texts(), self.encoding)
        return [symbol for symbol in found if params["query"] in symbol["name"]]

    def prepare_calls(self, params: dict[str, Any]) -> Any:
        """Return the call hierarchy item of the word."""
        word = self._word(params)
        return [item(one) for one in self._defined() if one["name"] == word] or None

    def incoming(self, params: dict[str, Any]) -> Any:
        """Return the callers of the word: the definition above each use."""
        found: dict[str, Any] = {}
        for use in language.uses(self.texts(), params["item"]["name"], self.encoding):
            above = self._above(use)
            if above is not None and above["name"] != params["item"]["name"]:
                calls = {"from": item(above), "fromRanges": []}
                found.setdefault(above["name"], calls)["fromRanges"].append(use["range"])
        return list(found.values())

    def outgoing(self, params: dict[str, Any]) -> Any:
        """Return the words used below the definition."""
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
        """Return the range of the word, if there is one."""
        return {"defaultBehavior": True} if self._word(params) else None

    def rename(self, params: dict[str, Any]) -> Any:
        """Return edits of all uses, with the versions of open documents."""
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
        """Return edits that remove spaces at the ends of lines."""
        return language.trimmed(self.texts()[params["textDocument"]["uri"]], self.encoding)

    def range_formatting(self, params: dict[str, Any]) -> Any:
        """Return the same edits within some lines."""
        first, last = params["range"]["start"]["line"], params["range"]["end"]["line"]
        edits = self.formatting(params)
        return [one for one in edits if first <= one["range"]["start"]["line"] <= last]

    def code_action(self, params: dict[str, Any]) -> Any:
        """Return an action that deletes the line of a diagnostic; resolving it adds the edit."""
        uri, first = params["textDocument"]["uri"], params["range"]["start"]["line"]
        last = params["range"]["end"]["line"]
        diagnostics = language.diagnostics(self.texts()[uri], self.name, self.encoding)
        rows = [one["range"]["start"]["line"] for one in diagnostics]
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
        """Return the action with its edit."""
        uri, row = action["data"]["uri"], action["data"]["row"]
        place = {
            "start": {"line": row, "character": 0},
            "end": {"line": row + 1, "character": 0},
        }
        return {**action, "edit": {"changes": {uri: [{"range": place, "newText": ""}]}}}

    def execute(self, params: dict[str, Any]) -> Any:
        """Run a command: make the editor apply its edit."""
        edit = self.script["commands"][params["command"]]
        self.send({"id": "edit", "method": "workspace/applyEdit", "params": {"edit": edit}})
        return None

    def diagnostic(self, params: dict[str, Any]) -> Any:
        """Return a full report."""
        return {"kind": "full", "items": self._diagnostics_of(params["textDocument"]["uri"])}


def item(symbol: dict[str, Any]) -> dict[str, Any]:
    """Return a `CallHierarchyItem` for a `SymbolInformation`."""
    where = symbol["location"]
    spans = {"range": where["range"], "selectionRange": where["range"]}
    return {"name": symbol["name"], "kind": symbol["kind"], "uri": where["uri"], **spans}


def to_uri(path: Path) -> str:
    """Return the URI of a file as Neovim writes it."""
    return "file://" + quote(str(path))


if __name__ == "__main__":
    Server(json.loads(sys.argv[1])).run()
