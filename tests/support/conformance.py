"""Checks of the client's frames against the JSON Schema and the advertised capabilities.

The functions take the entries of an agent's log (tests/support/traffic.py) and return one line for
each fault.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

Frame = dict[str, Any]
Entry = dict[str, Any]

SCHEMA = Path(__file__).parent.parent / "schema"

# Methods and the capability that the agent must have advertised: paths into its initialize result.
GATES = {
    "session/load": ("agentCapabilities", "loadSession"),
    "session/resume": ("agentCapabilities", "sessionCapabilities", "resume"),
    "session/list": ("agentCapabilities", "sessionCapabilities", "list"),
    "session/delete": ("agentCapabilities", "sessionCapabilities", "delete"),
    "session/close": ("agentCapabilities", "sessionCapabilities", "close"),
    "session/fork": ("agentCapabilities", "sessionCapabilities", "fork"),
    "session/archive": ("agentCapabilities", "sessionCapabilities", "archive"),
    "session/unarchive": ("agentCapabilities", "sessionCapabilities", "archive"),
    "session/status": ("agentCapabilities", "sessionCapabilities", "status"),
    "session/options": ("agentCapabilities", "sessionCapabilities", "options"),
    "session/set_title": ("agentCapabilities", "sessionCapabilities", "title"),
    "logout": ("agentCapabilities", "auth", "logout"),
    "auth/status": ("agentCapabilities", "auth", "status"),
    "providers/list": ("agentCapabilities", "providers"),
    "providers/set": ("agentCapabilities", "providers"),
    "providers/disable": ("agentCapabilities", "providers"),
}
OPENING = ("NewSessionRequest", "LoadSessionRequest", "ResumeSessionRequest", "ForkSessionRequest")
NEWER = {
    **dict.fromkeys(OPENING, frozenset({"configOptions"})),
    "ForkSessionRequest": frozenset({"configOptions", "cursorId"}),
    "RequestPermissionResponse": frozenset({"answers"}),
}
"""Keys that are newer than the schema of the tests, and `answers`, which Qwen Code requests."""
ASKING = {"jsonrpc", "id", "method", "params"}
ANSWERING = {"jsonrpc", "id", "result", "error"}
BLOCKS = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
IN_WORDS = ("initialize", "session/new", "session/prompt")
SERVERS = {"http": "http", "sse": "sse", "acp": "acp"}


@cache
def _definitions(version: int = 1) -> dict[str, Any]:
    """Return all types, including unstable ones: the gates check whether they may be used."""
    text = (SCHEMA / f"v{version}/schema.unstable.json").read_text(encoding="utf-8")
    definitions: dict[str, Any] = json.loads(text)["$defs"]
    return definitions


@cache
def types(version: int = 1) -> dict[tuple[str, str, str], str]:
    """Return type names by (side that handles it, method, Request|Response|Notification)."""
    found = {}
    for name, definition in _definitions(version).items():
        if "x-method" in definition:
            shape = next(s for s in ("Request", "Response", "Notification") if name.endswith(s))
            found[definition["x-side"], definition["x-method"], shape] = name
    return found


@cache
def _validator(name: str, version: int) -> Draft202012Validator:
    return Draft202012Validator({"$defs": _definitions(version), "$ref": f"#/$defs/{name}"})


def against(name: str, value: Any, version: int = 1) -> list[str]:
    """Return the faults of a value of the schema's type `name`, including unknown keys at its
    root.
    """
    wrong = [
        f"{name}{error.json_path[1:]}: {error.message[:300]}"
        for error in _validator(name, version).iter_errors(value)
    ]
    definition = _definitions(version)[name]
    known = definition.get("properties")
    if isinstance(value, dict) and known is not None:
        open_ended = {"oneOf", "anyOf", "allOf"} & definition.keys()
        strange = value.keys() - known.keys() - NEWER.get(name, frozenset())
        if strange and not open_ended:
            wrong.append(f"{name}: no such keys: {sorted(strange)}")
    return wrong


def runs(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Split the log at each start of the agent process."""
    run: list[Entry] = []
    for entry in entries:
        if entry["dir"] == "note" and entry["note"].startswith("start ") and run:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def violations(entries: Iterable[Entry]) -> list[str]:
    """Return every fault in the client's frames, over all runs of the agent."""
    return [line for run in runs(entries) for line in _Run().check(run)]


def unanswered(entries: Iterable[Entry]) -> list[Frame]:
    """Return the agent's requests that the client never answered, over all runs."""
    open_requests: list[Frame] = []
    for run in runs(entries):
        checker = _Run()
        checker.check(run)
        open_requests += [frame for frames in checker.asked.values() for frame in frames]
    return open_requests


def _as_version_1(result: Frame) -> Frame:
    """Move the capabilities of version 2 to their places in version 1, for the gates."""
    session = dict((result.get("capabilities") or {}).get("session") or {})
    found: Frame = {"promptCapabilities": session.pop("prompt", None) or {}}
    found["mcpCapabilities"] = session.pop("mcp", None) or {}
    found["sessionCapabilities"] = {"list": {}, "resume": {}, "close": {}, **session}
    auth = (result.get("capabilities") or {}).get("auth") or {}
    found["auth"] = {**auth, **({"logout": {}} if result.get("authMethods") else {})}
    found["providers"] = (result.get("capabilities") or {}).get("providers")
    return {**result, "agentCapabilities": found}


class _Run:
    """Frames of one agent process in both directions; a response is matched with its request."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Frame]] = {}  # the agent's open requests, by id as JSON
        self.used: Counter[str] = Counter()  # the client's request ids
        self.version = 1
        self.initialize: str | None = None
        # `initialize` was refused: it may be sent once more, with a version string
        self.refused = False
        self.in_words = False  # the client uses the agent's dialect
        self.agent: Frame = {}  # the agent's initialize result
        self.sessions: set[str] = set()
        self.models = False  # the agent offered models in the form of earlier protocol versions
        self.ids: dict[str, str] = {}  # the client's open requests: id -> method

    def check(self, entries: Iterable[Entry]) -> list[str]:
        wrong: list[str] = []
        for entry in entries:
            frame = entry.get("frame")
            if entry["dir"] == "out" and isinstance(frame, dict):
                self._agent_sent(frame)
            elif entry["dir"] == "in" and not isinstance(frame, dict):
                wrong.append(f"not a JSON object: {entry.get('raw', frame)!r:.200}")
            elif entry["dir"] == "in" and isinstance(frame, dict):
                wrong += [f"{line} in {json.dumps(frame)[:400]}" for line in self._client(frame)]
        return wrong

    def _agent_sent(self, frame: Frame) -> None:
        if "method" in frame and "id" in frame:
            self.asked.setdefault(json.dumps(frame["id"]), []).append(frame)
        elif "method" not in frame:
            method = self.ids.pop(json.dumps(frame.get("id")), None)
            if method is None and "error" in frame and list(self.ids.values()) == ["initialize"]:
                self.ids.clear()  # refused by a peer that could not read its id
                method = "initialize"
            result = frame.get("result")
            if method == "initialize" and isinstance(result, dict):
                self.agent = result if self.version == 1 else _as_version_1(result)
                flat = "capabilities" in result and "serverInfo" not in result
                self.in_words = self.in_words or (self.version == 1 and flat)
                if self.in_words:
                    self.agent = {**result, "agentCapabilities": result.get("capabilities")}
            elif method == "initialize":
                self.refused = True
            if isinstance(result, dict) and result.get("models"):
                self.models = True
            if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
                self.sessions.add(result["sessionId"])
            if isinstance(result, dict) and isinstance(result.get("session"), dict):
                self.sessions.add(str(result["session"].get("id")))  # another description of ACP

    def _client(self, frame: Frame) -> Iterator[str]:
        if frame.get("jsonrpc") != "2.0":
            yield "no jsonrpc 2.0"
        if "method" not in frame:
            yield from self._response(frame)
            return
        yield from (f"strange key {key}" for key in frame.keys() - ASKING)
        if "id" in frame:
            yield from self._request(frame)
        yield from self._params(frame)
        yield from self._gates(frame)

    def _request(self, frame: Frame) -> Iterator[str]:
        key = json.dumps(frame["id"])
        self.used[key] += 1
        if self.used[key] > 1:
            yield "an id used twice"
        if isinstance(frame["id"], bool) or not isinstance(frame["id"], int | str):
            yield "an id that is neither number nor string"
        self.ids[key] = frame["method"]
        if frame["method"] in ("session/load", "session/resume"):
            self.sessions.add(str((frame.get("params") or {}).get("sessionId")))
        if frame["method"] == "initialize":
            self.in_words = isinstance((frame.get("params") or {}).get("protocolVersion"), str)
            if self.initialize is not None and not (self.refused and self.in_words):
                yield "a second initialize"
            self.refused = False
            if (frame.get("params") or {}).get("protocolVersion") == 2:
                self.version = 2
            self.initialize = key
        elif not self.agent:
            yield "a request before initialize was answered"

    def _params(self, frame: Frame) -> Iterator[str]:
        method, shape = frame["method"], "Request" if "id" in frame else "Notification"
        side = "protocol" if method.startswith("$/") else "agent"
        name = types(self.version).get((side, method, shape))
        if self.in_words and method in IN_WORDS:
            return  # the agent reads these strictly itself (tests/agents/strict_go.py)
        if name is not None:
            yield from against(name, frame.get("params", {}), self.version)
        elif method == "session/set_model":
            yield from self._set_model(frame.get("params", {}))
        elif method == "session/cancel" and isinstance(self.agent.get("protocolVersion"), str):
            yield from against("CancelNotification", frame.get("params", {}))
        elif not method.startswith("_") and method not in GATES:
            yield f"no such {shape.lower()}"

    def _set_model(self, params: Frame) -> Iterator[str]:
        """Check `session/set_model`, which the protocol has dropped but some agents still offer."""
        if not self.models:
            yield "set_model although the agent named no models"
        if params.keys() - {"_meta"} != {"sessionId", "modelId"}:
            yield f"set_model with {sorted(params)}"

    def _response(self, frame: Frame) -> Iterator[str]:
        yield from (f"strange key {key}" for key in frame.keys() - ANSWERING)
        if ("result" in frame) == ("error" in frame):
            yield "neither or both of result and error"
        if "error" in frame:
            yield from against("Error", frame["error"])
        if frame.get("id") is None and "error" in frame:
            return  # a message that could not be read has no id to echo
        requests = self.asked.get(json.dumps(frame.get("id")))
        if not requests:
            yield "an answer to nothing, or a second one"
        elif "error" in frame:
            requests.pop()  # of two requests with one id the second is refused at once
        else:
            name = types(self.version).get(("client", requests.pop(0)["method"], "Response"))
            if name is not None:
                yield from against(name, frame["result"], self.version)

    def _has(self, *path: str) -> bool:
        value: Any = self.agent
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value is True or isinstance(value, dict)

    def _gates(self, frame: Frame) -> Iterator[str]:
        method, params = frame["method"], frame.get("params") or {}
        gate = GATES.get(method)
        if gate and not self._has(*gate):
            yield f"gated by {'.'.join(gate)}"
        for path in (params.get("cwd"), *(params.get("additionalDirectories") or ())):
            if path is not None and not Path(path).is_absolute():
                yield f"not absolute: {path}"
        session = ("agentCapabilities", "sessionCapabilities")
        if params.get("additionalDirectories") and not self._has(*session, "additionalDirectories"):
            yield "additionalDirectories not advertised"
        if params.get("systemPrompt") and not self._has(*session, "systemPrompt"):
            yield "systemPrompt not advertised"
        if params.get("configOptions") and not self._has(*session, "options"):
            yield "initial config options not advertised"
        for server in params.get("mcpServers") or ():
            kind = SERVERS.get(server.get("type", ""))
            if kind and not self._has("agentCapabilities", "mcpCapabilities", kind):
                yield f"MCP server of type {kind} not advertised"
        if method == "session/prompt":
            yield from self._prompt(params)

    def _prompt(self, params: Frame) -> Iterator[str]:
        if not params.get("prompt"):
            yield "an empty prompt"
        if params.get("sessionId") not in self.sessions:
            yield "a prompt for a session that the agent has not named"
        for block in params.get("prompt") or ():
            gate = BLOCKS.get(block.get("type"))
            if gate and not self._has("agentCapabilities", "promptCapabilities", gate):
                yield f"content {block['type']} not advertised"
