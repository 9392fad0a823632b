"""Translation of frames of other ACP descriptions to v1, as functions from JSON to JSON.

Supported:

- updates `sessionUpdate: "message"` with `role` and a list of content
- updates `{type: "messageChunk"|"toolCall"|"planUpdate", ...}`, also without the enclosing `update`
- `serverInfo`, `capabilities` and a string `protocolVersion` in the answer to `initialize`
- `session: {id}` for `sessionId`, `modeId` for `currentModeId`
- stop reasons in camel case, including `error`, and `content` beside the stop reason
- tokens of a turn as `tokenUsage`, as `usage` in `_meta`, and in snake case
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import Struct, field

JSON = dict[str, Any]

BLOCKS: Final = (
    "text",
    "image",
    "audio",
    "resource_link",
    "resource",
)  # a tuple, because a received value may not be hashable

_ROLES: Final = {
    "user": "user_message_chunk",
    "human": "user_message_chunk",
    "thought": "agent_thought_chunk",
    "thinking": "agent_thought_chunk",
    "reasoning": "agent_thought_chunk",
}

_STATUSES: Final = {
    "running": "in_progress",
    "inProgress": "in_progress",
    "started": "in_progress",
    "done": "completed",
    "success": "completed",
    "error": "failed",
}


class Progress(Struct):
    """State accumulated from an agent's updates."""

    finished: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Whether each tool call is finished, by `(session, id)`."""
    messages: int = 0
    """Number of whole messages, which have no ids of their own."""
    plans: dict[str, str] = field(default_factory=dict)
    """Text of the streaming plan, by session."""

    def next_message(self) -> str:
        """Return a new id for a whole message."""
        self.messages += 1
        return f"acp.nvim-message-{self.messages}"


class End(Struct):
    """End of a turn: the v1 answer, or the error.

    `updates` contain the content that accompanies the stop reason, and `text` is its text.
    """

    result: JSON
    traits: list[str]
    updates: list[JSON] = field(default_factory=list)
    text: str = ""
    error: str | None = None

    def adds_to(self, turn_text: str) -> bool:
        """Return whether this end has text or content that the turn lacks."""
        words = "".join(self.text.split())
        return words not in "".join(turn_text.split()) if words else bool(self.updates)


# -- updates --------------------------------------------------------------------------------------


def session_and_update(message: JSON) -> tuple[str, JSON]:
    """Return the session id and the update from params of `session/update` in any known form."""
    session = message.get("session")
    session_id = message.get("sessionId")
    if session_id is None and isinstance(session, dict):
        session_id = session.get("id")
    update = message.get("update")
    return str(session_id or ""), update if isinstance(update, dict) else message


def update(wire: JSON, session_id: str, progress: Progress) -> tuple[list[JSON] | None, str]:
    """Return the v1 updates for an update, and the name of its deviation.

    The updates are None if the update is already in v1 form.
    """
    tag = wire.get("sessionUpdate", wire.get("type"))
    match tag:
        case "message":
            whole = {"messageId": progress.next_message(), **wire}
            return _message(whole, wire.get("content")), 'updates "message"'
        case "messageChunk":
            chunk = wire.get("chunk", wire.get("content"))
            return _message(wire, chunk), 'updates "messageChunk"'
        case "toolCall":
            call = wire.get("toolCall")
            call = call if isinstance(call, dict) else wire
            return _tool(call, session_id, progress), _line_for_tag(tag)
        case "planUpdate":
            return _plan(wire, session_id, progress), _line_for_tag(tag)
        case _:
            return None, ""


def commands(wire: JSON) -> frozenset[str]:
    """Return the names of the slash commands in an update."""
    listed = wire.get("availableCommands")
    items = listed if isinstance(listed, list) else ()
    return frozenset(
        str(item["name"]) for item in items if isinstance(item, dict) and "name" in item
    )


def _line_for_tag(tag: str) -> str:
    return f'updates "{tag}"'


def _message(wire: JSON, content: Any) -> list[JSON]:
    kind = _ROLES.get(str(wire.get("role")), "agent_message_chunk")
    message_id = wire.get("messageId", wire.get("id"))
    known = {"messageId": message_id} if isinstance(message_id, str) else {}
    return [{"sessionUpdate": kind, "content": block, **known} for block in blocks(content)]


def blocks(content: Any) -> list[JSON]:
    """Return the content blocks in a string, a block, or a list of either."""
    if content is None or content == "":
        return []
    if isinstance(content, list):
        return [block for item in content for block in blocks(item)]
    if isinstance(content, dict):
        if content.get("type") in BLOCKS:
            return [content]
        if isinstance(content.get("text"), str):
            return [{"type": "text", "text": content["text"]}]
    return [{"type": "text", "text": content if isinstance(content, str) else _json(content)}]


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _tool(call: JSON, session_id: str, progress: Progress) -> list[JSON]:
    """Return the updates of a tool call.

    The first message creates the call, and later ones change it. If a finished id is reported as
    running again, it is a new call.
    """
    call_id = str(call.get("id", call.get("toolCallId", "")))
    status = _STATUSES.get(str(call.get("status")), call.get("status"))
    key = (session_id, call_id)
    has_ended = status in ("completed", "failed")
    new = key not in progress.finished or (progress.finished[key] and not has_ended)
    progress.finished[key] = has_ended
    fields = {
        "toolCallId": call_id,
        "title": call.get("title") or call.get("name"),
        "name": call.get("name"),
        "kind": call.get("kind"),
        "status": status,
        "rawInput": call.get("input"),
        "rawOutput": call.get("output"),
        "content": _tool_content(call),
        "locations": call.get("locations"),
    }
    kind = "tool_call" if new else "tool_call_update"
    return [
        {"sessionUpdate": kind} | {key: value for key, value in fields.items() if value is not None}
    ]


def _tool_content(call: JSON) -> list[JSON] | None:
    """Return the output and the error of a call as content."""
    given = [*blocks(call.get("output")), *blocks(call.get("error"))]
    return [{"type": "content", "content": block} for block in given] or None


def _plan(wire: JSON, session_id: str, progress: Progress) -> list[JSON]:
    """Return a plan update with entries, or with the text so far if the plan arrives in chunks."""
    chunk = wire.get("chunk")
    if isinstance(chunk, str) or (isinstance(chunk, dict) and isinstance(chunk.get("text"), str)):
        more = chunk if isinstance(chunk, str) else chunk["text"]
        text = progress.plans[session_id] = progress.plans.get(session_id, "") + more
        document = {"type": "markdown", "planId": "plan", "content": text}
        return [{"sessionUpdate": "plan_update", "plan": document}]
    plan = wire.get("plan", wire if chunk is None else chunk)
    steps = plan
    if isinstance(plan, dict):
        steps = next((plan[key] for key in ("entries", "steps", "items") if key in plan), [])
    entries = [_step(step) for step in steps] if isinstance(steps, list) else []
    return [{"sessionUpdate": "plan", "entries": entries}]


def _step(step: Any) -> JSON:
    if not isinstance(step, dict):
        return {"content": str(step), "priority": "medium", "status": "pending"}
    names = ("content", "title", "text", "description", "step")
    status = str(step.get("status", "pending"))
    return {
        "content": str(next((step[name] for name in names if step.get(name)), "")),
        "priority": str(step.get("priority", "medium")),
        "status": _STATUSES.get(status, status),
    }


# -- answers --------------------------------------------------------------------------------------


def answer_to_initialize(result: JSON) -> tuple[JSON, list[str]]:
    """Return the answer to `initialize` in v1, and its deviations.

    Published versions are integers, so a string or a missing version becomes 1.
    """
    traits: list[str] = []
    changed = dict(result)
    version = changed.get("protocolVersion")
    if version is None or isinstance(version, str):
        changed["protocolVersion"] = 1
        traits.append("no protocolVersion" if version is None else "string protocolVersion")
    for theirs, ours in (("serverInfo", "agentInfo"), ("capabilities", "agentCapabilities")):
        if ours not in changed and isinstance(changed.get(theirs), dict):
            changed[ours] = changed.pop(theirs)
            traits.append(theirs)
    return changed, traits


def named_capabilities(result: JSON) -> JSON:
    """Return the agent's capabilities in the answer to `initialize`, including unknown ones."""
    capabilities = result.get("agentCapabilities")
    return capabilities if isinstance(capabilities, dict) else {}


def is_flat(traits: list[str]) -> bool:
    """Return whether the answer to `initialize` follows the description in `requests`.

    The version in such an answer may still be a number.
    """
    return "capabilities" in traits and "serverInfo" not in traits


def takes_servers(result: JSON) -> bool:
    """Return whether a v1 answer to `initialize` accepts MCP servers."""
    offered = result.get("agentCapabilities")
    return isinstance(offered, dict) and "mcpCapabilities" in offered


def answer_to_new(result: JSON) -> tuple[JSON, list[str]]:
    """Return the answer to `session/new` in v1, and its deviations."""
    traits: list[str] = []
    changed = dict(result)
    session = changed.get("session")
    if "sessionId" not in changed and isinstance(session, dict) and "id" in session:
        changed = {**{key: value for key, value in session.items() if key != "id"}, **changed}
        changed["sessionId"] = str(session["id"])
        traits.append("session.id")
    modes = changed.get("modes")
    if isinstance(modes, dict) and "currentModeId" not in modes and "modeId" in modes:
        changed["modes"] = {**modes, "currentModeId": modes["modeId"]}
        traits.append("modeId")
    if changed.get("models"):
        traits.append("models")  # the removed API: kept unchanged for `session/options.py`
    return changed, traits


def answer_to_prompt(result: JSON) -> End:
    """Return the answer to `session/prompt` in v1."""
    traits: list[str] = []
    reason = result.get("stopReason")
    end = End(result, traits)
    if isinstance(reason, str) and reason != (plain := _snake(reason)):
        end.result = {**result, "stopReason": plain}
        traits.append(f"stop reason {reason}")
    if (tokens := usage(result)) is not None:
        end.result = {**end.result, "usage": tokens}
        traits.append("token usage elsewhere")
    if "content" in result and (given := blocks(result["content"])):
        traits.append("content beside stopReason")
        end.updates = [
            {"sessionUpdate": "agent_message_chunk", "content": block} for block in given
        ]
        end.text = "".join(
            str(block.get("text") or "") for block in given if block.get("type") == "text"
        )
    if reason == "error":
        traits.append("stop reason error")
        end.error = _reason(result)
    return end


_TOKENS: Final = {
    "prompt_tokens": "inputTokens",
    "completion_tokens": "outputTokens",
    "reasoning_tokens": "thoughtTokens",
    "cached_tokens": "cachedReadTokens",
    "cache_read_tokens": "cachedReadTokens",
    "cache_read_input_tokens": "cachedReadTokens",
    "cache_write_tokens": "cachedWriteTokens",
    "cache_creation_input_tokens": "cachedWriteTokens",
}
"""Token counts in snake case whose names differ from v1."""


def usage(result: JSON) -> JSON | None:
    """Return the converted token counts of an answer, or None if it has none or needs no change."""
    meta = result.get("_meta")
    places = (result, meta) if isinstance(meta, dict) else (result,)
    names = ("usage", "tokenUsage", "token_usage")
    value = next((place[name] for place in places for name in names if place.get(name)), None)
    if not isinstance(value, dict):
        return None
    counts = {_token_name(str(name)): count for name, count in value.items() if _is_count(count)}
    if not counts.keys() & {"inputTokens", "outputTokens", "totalTokens"}:
        return None
    for name in ("inputTokens", "outputTokens"):
        counts.setdefault(name, 0)
    counts.setdefault("totalTokens", counts["inputTokens"] + counts["outputTokens"])
    return None if value is result.get("usage") and counts == value else counts


def _token_name(name: str) -> str:
    snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    snake = snake if snake.endswith("_tokens") else f"{snake}_tokens"
    first, *others = _TOKENS.get(snake, snake).split("_")
    return first + "".join(other.capitalize() for other in others)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _snake(reason: str) -> str:
    """Convert `endTurn` to `end_turn`, and `canceled` to `cancelled`."""
    words = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", reason).lower()
    return "cancelled" if words == "canceled" else words


def _reason(result: JSON) -> str:
    """Return the text of an error, unchanged, or a default."""
    error = result.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    reason = error or result.get("message")
    return str(reason) if reason else "the agent reports an error"
