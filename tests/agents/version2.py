"""A scripted agent that writes version 2 of the protocol. Its scenarios use version 1.

This follows the documentation of version 2 alone, as another agent would (v2/migration). Outgoing
frames become upserts with ids and states, incoming ones become requests of version 1. `raw` and
`update2` send any other frame.
"""

from __future__ import annotations

import difflib
import json
import os
from typing import Any

from tests.agents.agent import Agent, Frame

NULLABLE = ("title", "name", "kind", "status", "content", "locations", "rawInput", "rawOutput")
MESSAGES = {
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}
BASELINE = ("list", "resume", "close")


class Agent2(Agent):
    """An agent that speaks version 2 with a client that asks for it, and version 1 with others."""

    newer = False
    """Whether the connection speaks version 2."""
    old = False
    """Whether it always answers in the shape of version 1."""

    def __init__(self, log: Any = None) -> None:
        super().__init__(log)
        self._asked: dict[str, str] = {}  # the client's requests: id as JSON -> method
        self._speaker = ""
        self._messages = 0
        self._permissions: set[Any] = set()
        self._inserted: Frame | None = None

    def keep_old(self) -> None:
        """Speak version 1, even if the client asks for another version."""
        self.old = True

    # ---- the turn

    def insert(self, request: Frame) -> None:
        """Insert a prompt: send its answer, its message, and the running state."""
        self._messages += 1
        id = f"user-{os.getpid()}-{self._messages}"
        session = request["params"]["sessionId"]
        super().reply(request, {"messageId": id})
        content = request["params"]["prompt"]
        update = {"sessionUpdate": "user_message", "messageId": id, "content": content}
        self.update2(update, session)
        self.update2({"sessionUpdate": "state_update", "state": "running"}, session)
        self._inserted, self._speaker = request, ""

    def insert_more(self) -> None:
        """Wait for another prompt and insert it into the current turn."""
        running = self._inserted
        self.insert(super().expect("session/prompt"))
        self._inserted = running

    def update2(self, update: Frame, session: str | None = None) -> None:
        params = {"sessionId": session or self.session, "update": update}
        super().send({"jsonrpc": "2.0", "method": "session/update", "params": params})

    # ---- output

    def send(self, frame: Any) -> None:
        """Write a frame of version 1 as frames of version 2."""
        if not self.newer or not isinstance(frame, dict):
            super().send(frame)
            return
        for one in self._frames(frame):
            super().send(one)

    def send_together(self, *frames: Frame) -> None:
        """Write several frames at once."""
        if self.newer:
            frames = tuple(one for frame in frames for one in self._frames(frame))
        super().send_together(*frames)

    def reply(self, request: Frame, result: Any) -> None:
        """Answer a request. The end of a turn is a state."""
        if self.newer and request is self._inserted and "stopReason" in result:
            self._inserted = None
            self._state(request, {"state": "idle", **result})
        else:
            super().reply(request, result)

    def refuse(self, request: Frame, code: int, message: str, data: Any = None) -> None:
        """Answer with an error. The failure of a turn is a state."""
        if self.newer and request is self._inserted:
            self._inserted = None
            error = {"code": code, "message": message} | ({} if data is None else {"data": data})
            self._state(request, {"state": "idle", "stopReason": "error", "error": error})
        else:
            super().refuse(request, code, message, data)

    def _state(self, request: Frame, state: Frame) -> None:
        self.update2({"sessionUpdate": "state_update", **state}, request["params"]["sessionId"])

    def _frames(self, frame: Frame) -> list[Frame]:
        if frame.get("method") == "session/update":
            params = frame["params"]
            if "sessionUpdate" not in params.get("update", {}):
                return [frame]
            found = [{**params, "update": one} for one in self._updates(params["update"])]
            return [{**frame, "params": one} for one in found]
        if frame.get("method") == "session/request_permission" and "toolCall" in frame["params"]:
            return self._permission(frame)
        if "method" in frame or not isinstance(frame.get("result"), dict):
            return [frame]
        method = self._asked.get(json.dumps(frame["id"]), "")
        return [{**frame, "result": self._result(method, frame["result"])}]

    def _permission(self, frame: Frame) -> list[Frame]:
        call = dict(frame["params"]["toolCall"])
        params = {key: value for key, value in frame["params"].items() if key != "toolCall"}
        subject = {"type": "tool_call", "toolCall": _call(call)}
        title = call.get("title") or call["toolCallId"]
        self._permissions.add(json.dumps(frame["id"]))
        state = {"sessionUpdate": "state_update", "state": "requires_action"}
        update = {"sessionId": params["sessionId"], "update": state}
        asked = {**frame, "params": {**params, "title": title, "subject": subject}}
        if self._inserted is None:
            return [asked]
        return [{"jsonrpc": "2.0", "method": "session/update", "params": update}, asked]

    def _updates(self, update: Frame) -> list[Frame]:
        kind = update["sessionUpdate"]
        if kind in MESSAGES:
            return [{"messageId": self._message(kind), **update}]
        self._speaker = ""
        match kind:
            case "tool_call":
                call = {"kind": "other", "status": "pending", **update}
                return [{**_call(call), "sessionUpdate": "tool_call_update"}]
            case "tool_call_update":
                return [_call(update)]
            case "plan":
                plan = {"type": "items", "planId": "plan", "entries": update["entries"]}
                return [{"sessionUpdate": "plan_update", "plan": plan}]
            case "available_commands_update":
                return [{**update, "availableCommands": commands(update["availableCommands"])}]
            case "config_option_update":
                return [{**update, "configOptions": options(update["configOptions"])}]
            case "current_mode_update":
                return []
        return [update]

    def _message(self, kind: str) -> str:
        """Return the id of the current message, or a new one for another sender."""
        if self._speaker != kind:
            self._speaker = kind
            self._messages += 1
        return f"{MESSAGES[kind]}-{os.getpid()}-{self._messages}"

    def _result(self, method: str, result: Any) -> Any:
        if method == "initialize":
            return _initialized(result)
        if not isinstance(result, dict) or method not in OPENING:
            return result
        opened = {key: value for key, value in result.items() if key not in ("modes", "models")}
        if opened.get("configOptions") is None:
            opened.pop("configOptions", None)
        else:
            opened["configOptions"] = options(opened["configOptions"])
        return opened

    # ---- input

    def _read(self) -> Frame:
        frame = super()._read()
        if frame.get("method") == "initialize":
            self.newer = frame["params"].get("protocolVersion") == 2 and not self.old
        if not self.newer:
            return frame
        if "method" not in frame and json.dumps(frame.get("id")) in self._permissions:
            self._permissions.discard(json.dumps(frame["id"]))
            if self._inserted is not None and not self._permissions:
                self._state(self._inserted, {"state": "running"})
        if "id" in frame and "method" in frame:
            self._asked[json.dumps(frame["id"])] = frame["method"]
        return _as_version_1(frame)

    def expect(self, *methods: str) -> Frame:
        """Wait for a frame, and insert it if it is a prompt."""
        return self._taken(super().expect(*methods))

    def next(self) -> Frame:
        """Wait for any frame, and insert it if it is a prompt."""
        return self._taken(super().next())

    def _taken(self, frame: Frame) -> Frame:
        if self.newer and frame["method"] == "session/prompt":
            self.insert(frame)
        return frame


OPENING = (
    *("session/new", "session/load", "session/resume", "session/fork"),
    *("session/set_config_option", "session/options"),
)


def _as_version_1(frame: Frame) -> Frame:
    params = frame.get("params") or {}
    match frame.get("method"):
        case "initialize":
            return {**frame, "params": {**params, "clientCapabilities": params["capabilities"]}}
        case "auth/login":
            return {**frame, "method": "authenticate"}
        case "auth/logout":
            return {**frame, "method": "logout"}
        case "session/resume" if params.get("replayFrom"):
            return {**frame, "method": "session/load"}
    return frame


def _initialized(result: Frame) -> Frame:
    """Return the capabilities of version 1 under the names of version 2 (v2/initialization)."""
    ours = result.get("agentCapabilities", {})
    session = dict(ours.get("sessionCapabilities") or {})
    found: Frame = {key: it for key, it in session.items() if key not in BASELINE}
    found["prompt"] = _markers(ours.get("promptCapabilities"))
    found["mcp"] = {"stdio": {}, **_markers(ours.get("mcpCapabilities"))}
    found["mcp"].pop("sse", None)
    capabilities: Frame = {"session": found}
    auth = {key: it for key, it in (ours.get("auth") or {}).items() if key != "logout"}
    capabilities |= {"auth": auth} if auth else {}
    capabilities |= {"providers": ours["providers"]} if "providers" in ours else {}
    return {
        "protocolVersion": 2,
        "info": result.get("agentInfo") or {"name": "scripted", "version": "1"},
        "capabilities": capabilities,
        "authMethods": [_method(one) for one in result.get("authMethods") or ()],
    }


def _markers(booleans: Any) -> Frame:
    return {key: {} for key, value in (booleans or {}).items() if value is True}


def _method(method: Frame) -> Frame:
    known = {key: it for key, it in method.items() if key not in ("id", "env")}
    env = [{"name": key, "value": it} for key, it in (method.get("env") or {}).items()]
    named = {"type": "agent", **known, "methodId": method["id"]}
    return named | ({"env": env} if env else {})


def _call(call: Frame) -> Frame:
    """Return a tool call as a patch.

    A null of version 1 changes nothing there, so it is left out.
    """
    found = {key: it for key, it in call.items() if it is not None or key not in NULLABLE}
    if "content" in found:
        found["content"] = [_item(item) for item in found["content"]]
    return found


def _item(item: Frame) -> Frame:
    if item.get("type") != "diff":
        return item
    path, old, new = item["path"], item.get("oldText"), item["newText"]
    operation = "add" if old is None else "modify"
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True),
        new.splitlines(keepends=True),
        "/dev/null" if old is None else path,
        path,
    )
    head = f"diff --git {path} {path}\n" + ("new file mode 100644\n" if old is None else "")
    text = head + "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return {
        "type": "diff",
        "changes": [{"operation": operation, "path": path}],
        "patch": {"format": "git_patch", "text": text},
    }


def commands(given: list[Frame]) -> list[Frame]:
    """Return commands with the types that version 2 requires."""
    return [
        {**one, "type": "command"}
        | ({"input": {**one["input"], "type": "text"}} if one.get("input") else {})
        for one in given
    ]


def options(given: list[Frame]) -> list[Frame]:
    """Return config options under the names of version 2."""
    return [_option(one) for one in given]


def _option(option: Frame) -> Frame:
    found = {key: value for key, value in option.items() if key != "id"}
    values = option.get("options")
    if values is not None:
        found["options"] = [
            {**{k: v for k, v in one.items() if k != "group"}, "groupId": one["group"]}
            if "group" in one
            else one
            for one in values
        ]
    return {**found, "configId": option["id"]}
