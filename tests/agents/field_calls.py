"""Tool calls as real agents send them: without the command or the file in the title, with raw JSON
there, with raw outputs of other shapes, or with the same edit in several forms.
"""

from __future__ import annotations

import os

from tests.agents.agent import Agent, Frame
from tests.agents.loop import scenario, update_of
from tests.agents.permissions import METHOD, OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _call(agent: Agent, id: str, /, **fields: Any) -> None:
    agent.update(update_of("tool_call", toolCallId=id, status="pending", **fields))


def _done(agent: Agent, id: str, /, **fields: Any) -> None:
    agent.update(update_of("tool_call_update", toolCallId=id, **({"status": "completed"} | fields)))


def _text(words: str) -> Frame:
    return {"type": "content", "content": {"type": "text", "text": words}}


@scenario
def field_commands(agent: Agent) -> None:
    """Copilot, fast-agent and qwen: give the command only in the raw input."""
    raw: Frame = {"command": "sed -i s/a/b/ x", "description": "run a command"}
    _call(agent, "failed", title="run a command", kind="execute", rawInput=raw)
    _done(agent, "failed", status="failed", content=[_text("no such file")])
    agent.say("\n\nAgain.")
    for number, title in enumerate(("run a command", "execute")):
        raw = {"command": f"make {number}"}
        _call(agent, f"c{number}", title=title, kind="execute", rawInput=raw)
        _done(agent, f"c{number}", rawOutput=f"made {number}")
    agent.say("Made.")
    _call(agent, "runs", title="execute", kind="execute")
    raw = {"command": "sleep 9"}
    agent.update(
        update_of("tool_call_update", toolCallId="runs", status="in_progress", rawInput=raw)
    )


@scenario
def field_files(agent: Agent) -> None:
    """Pi, fast-agent and Cline: give the file only in the raw input, or in a title with raw
    JSON.
    """
    cwd = os.getcwd()
    for id, title, raw in (
        ("pi", "read", {"path": f"{cwd}/pi.txt"}),
        ("fast", "read_text_file", {"path": "two.txt"}),
        ("cline", 'read_files: {"files":[{"path":"/tm...', {"files": [{"path": f"{cwd}/one.txt"}]}),
    ):
        _call(agent, id, title=title, kind="read", rawInput=raw)
        output = [{"query": "one.txt", "result": f"text of {id}", "success": True}]
        _done(agent, id, rawOutput=output)
        agent.say(f"Read by {id}.")
    patch = f"*** Begin Patch\n*** Update File: {cwd}/one.txt\n@@\n-a\n+b\n*** End Patch\n"
    title = 'apply_patch: {"input":"*** Begin Patch\\n*** Upd...'
    call = {"toolCallId": "patch", "title": title, "kind": "other", "rawInput": {"input": patch}}
    for _ in range(3):
        agent.ask(METHOD, {"toolCall": call, "options": OPTIONS})
    _done(agent, "patch")


@scenario
def field_edits(agent: Agent) -> None:
    """Vibe: name the same edit in title, diff and text of a call. Qwen: ask with raw arguments."""
    path = os.path.join(os.getcwd(), "one.txt")
    diff = {"type": "diff", "path": path, "oldText": "beta", "newText": "BETA"}
    raw = {"filePath": path, "oldString": "beta", "newString": "BETA", "replaceAll": False}
    call = {"toolCallId": "edit", "title": "Editing one.txt", "kind": "edit", "rawInput": raw}
    agent.ask(METHOD, {"toolCall": call, "options": OPTIONS})
    _done(agent, "edit", content=[diff, _text("Edited one.txt")])


@scenario
def field_choices(agent: Agent, several: str = "") -> None:
    """Qwen: ask questions by a permission request; the answers are beside the outcome."""
    questions: list[Frame] = [
        {
            "question": "Which colour?",
            "header": "Shade",
            "options": [{"label": "Red", "description": "the red one"}, {"label": "Blue"}],
            "multiSelect": False,
        }
    ]
    if several:
        labels = [{"label": "Small"}, {"label": "Large"}, {"label": "Huge"}]
        questions.append({"question": "Which sizes?", "options": labels, "multiSelect": True})
    meta = {"toolName": "ask_user_question", "qwenInteractionKind": "user_question"}
    call = {
        "toolCallId": "asks",
        "title": f"Ask user {len(questions)} question",
        "kind": "think",
        "rawInput": {"questions": questions},
        "_meta": {**meta, "qwenQuestions": questions},
    }
    options = [
        {"optionId": "proceed_once", "name": "Submit", "kind": "allow_once"},
        {"optionId": "cancel", "name": "Cancel", "kind": "reject_once"},
    ]
    agent.ask(METHOD, {"toolCall": call, "options": options})
    _done(agent, "asks")
