"""Ordinary turns: text, thoughts, tool calls with every kind of content, plans, all updates."""

from __future__ import annotations

import time

from tests.agents import quick_json as json
from tests.agents.agent import Agent, Frame
from tests.agents.loop import prompt_text, scenario, update_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@scenario
def hello(agent: Agent) -> None:
    """Send one short answer in two chunks."""
    agent.say("Hello, ")
    agent.say("world.\n")


@scenario
def echo(agent: Agent) -> None:
    """Send the prompt's text."""
    assert agent.turn is not None
    agent.say(prompt_text(agent.turn))


@scenario
def say(agent: Agent, *words: str) -> None:
    """Send one chunk with these words. `\\n` in them is a newline."""
    agent.say(" ".join(words).replace("\\n", "\n"))


@scenario
def chunks(agent: Agent, count: str = "10", size: str = "0") -> None:
    """Send COUNT chunks `word N ` (padded to SIZE characters), a newline after every tenth."""
    for number in range(int(count)):
        text = f"word {number} ".ljust(int(size), ".")
        agent.say(text + ("\n" if number % 10 == 9 else ""))


@scenario
def slow(agent: Agent, count: str = "100", pause: str = "0.05") -> None:
    """Send COUNT chunks with PAUSE seconds between them, and look for a cancel."""
    for number in range(int(count)):
        agent.say(f"tick {number}\n")
        agent.check_cancel(float(pause))


@scenario
def think(agent: Agent, *words: str) -> None:
    """Send a thought in chunks."""
    for word in words or ("Let", "me", "see."):
        content = {"type": "text", "text": f"{word} "}
        agent.update(update_of("agent_thought_chunk", content=content))


@scenario
def messages(agent: Agent) -> None:
    """Send two messages and a thought with a messageId each, and a replayed user message."""
    user = {"type": "text", "text": "replayed question"}
    agent.update(update_of("user_message_chunk", content=user, messageId="u1"))
    agent.say("first ", messageId="m1")
    agent.say("message", messageId="m1")
    agent.say("second message", messageId="m2")


@scenario
def blocks(agent: Agent) -> None:
    """Send every kind of content block in message chunks."""
    for content in content_blocks():
        agent.update(update_of("agent_message_chunk", content=content))


def content_blocks() -> list[Frame]:
    """Return one block of each kind."""
    return [
        {"type": "text", "text": "plain text\n", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": IMAGE, "mimeType": "image/png", "uri": "file:///tmp/dot.png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///etc/hosts", "name": "hosts", "size": 12},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "embedded\ntext"}},
        {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AAEC"}},
    ]


@scenario
def tool(agent: Agent, id: str = "t1", kind: str = "read", status: str = "completed") -> None:
    """Run a tool call from pending over in_progress to STATUS."""
    call = update_of("tool_call", toolCallId=id, title=f"Tool {id}", kind=kind, status="pending")
    agent.update(call)
    agent.update(update_of("tool_call_update", toolCallId=id, status="in_progress"))
    done = [{"type": "content", "content": {"type": "text", "text": f"output of {id}"}}]
    agent.update(update_of("tool_call_update", toolCallId=id, status=status, content=done))


@scenario
def tools(agent: Agent, count: str = "300") -> None:
    """Run COUNT whole tool calls."""
    for number in range(int(count)):
        tool(agent, f"t{number}")


@scenario
def tool_contents(agent: Agent) -> None:
    """Send one tool call with text, image, resource link, two diffs and a terminal reference."""
    content: list[Frame] = [{"type": "content", "content": block} for block in content_blocks()]
    content += [
        {"type": "diff", "path": "/tmp/new.txt", "newText": "one\ntwo\n"},
        {"type": "diff", "path": "/tmp/old.txt", "oldText": "a\nb\nc\n", "newText": "a\nB\nc\n"},
        {"type": "terminal", "terminalId": "no-such-terminal"},
    ]
    agent.update(
        update_of(
            "tool_call",
            toolCallId="all",
            title="Everything at once",
            name="everything",
            kind="edit",
            status="completed",
            content=content,
            locations=[{"path": "/tmp/old.txt", "line": 2}, {"path": "/tmp/new.txt"}],
            rawInput={"deep": {"list": [1, None, "x"]}},
            rawOutput="raw",
        )
    )


@scenario
def tool_cumulative(agent: Agent, count: str = "200", lines: str = "2000") -> None:
    """Let the output of a tool call grow to LINES lines in COUNT updates that repeat it all."""
    agent.update(update_of("tool_call", toolCallId="big", title="Growing", kind="execute"))
    per_update = max(1, int(lines) // int(count))
    text = ""
    for number in range(int(count)):
        first = number * per_update
        text += "".join(f"output line {first + i}\n" for i in range(per_update))
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        agent.update(update_of("tool_call_update", toolCallId="big", content=content))
    agent.update(update_of("tool_call_update", toolCallId="big", status="completed"))


@scenario
def tool_patch(agent: Agent) -> None:
    """Send updates whose null fields change nothing and whose arrays replace."""
    first = [{"type": "content", "content": {"type": "text", "text": "old output"}}]
    agent.update(
        update_of("tool_call", toolCallId="p", title="Patched", kind="search", content=first)
    )
    nulls: dict[str, Any] = dict.fromkeys(("title", "kind", "status", "content", "locations"))
    agent.update(update_of("tool_call_update", toolCallId="p", **nulls))
    second = [{"type": "content", "content": {"type": "text", "text": "new output"}}]
    agent.update(update_of("tool_call_update", toolCallId="p", content=second, title="Renamed"))


@scenario
def plan(agent: Agent, done: str = "1") -> None:
    """Send a plan of three entries, of which the first DONE are completed."""
    entries = [
        {"content": text, "priority": priority, "status": "pending"}
        for text, priority in (("Look", "high"), ("Think", "medium"), ("Act", "low"))
    ]
    for entry in entries[: int(done)]:
        entry["status"] = "completed"
    for entry in entries[int(done) : int(done) + 1]:
        entry["status"] = "in_progress"
    agent.update(update_of("plan", entries=entries))


@scenario
def updates(agent: Agent) -> None:
    """Send every stable update except messages, tool calls and plans."""
    for update in other_updates():
        agent.update(update)


def other_updates() -> list[Frame]:
    """Return updates of commands, mode, options, session info and usage."""
    commands = [
        {"name": "tour", "description": "Show around"},
        {"name": "edit", "description": "Edit a file", "input": {"hint": "path"}},
    ]
    models = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
    option = {"id": "model", "name": "Model", "category": "model", "type": "select"}
    return [
        update_of("available_commands_update", availableCommands=commands),
        update_of("current_mode_update", currentModeId="ask"),
        update_of(
            "config_option_update",
            configOptions=[{**option, "currentValue": "small", "options": models}],
        ),
        update_of("session_info_update", title="A title", updatedAt="2026-01-02T03:04:05Z"),
        update_of("usage_update", used=1234, size=200000, cost={"amount": 0.5, "currency": "USD"}),
    ]


@scenario
def title(agent: Agent, *words: str) -> None:
    """Set the session's title, or clear it without words."""
    agent.update(update_of("session_info_update", title=" ".join(words) or None))


@scenario
def uses(agent: Agent, text: str) -> None:
    """End the turn with this usage (JSON) in the answer."""
    agent.end(usage=json.loads(text))


@scenario
def stop(agent: Agent, reason: str = "refusal") -> None:
    """End the turn with that stop reason, or with an error: `stop error`."""
    if reason == "error" and agent.turn is not None:
        agent.refuse(agent.turn, -32603, "the model is overloaded", {"retry": True})
        agent.turn = None
    else:
        agent.end(reason)


@scenario
def update(agent: Agent, text: str) -> None:
    """Send one `session/update` given as JSON."""
    agent.update(json.loads(text))


@scenario
def pause(agent: Agent, seconds: str = "0.1") -> None:
    """Ignore all input for SECONDS."""
    time.sleep(float(seconds))


@scenario
def wait_for_cancel(agent: Agent) -> None:
    """Send one line, then wait until the user cancels."""
    agent.say("waiting\n")
    agent.wait_for_cancel()
