"""Recorded conversations with real agents, played again: the chat shows everything.

The user repeats the recorder's steps (prompts, answers, cancels, modes). Then the chat is compared
with the messages of the agent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.agents.replay import BY_THE_USER, QUESTIONS, Record, runs
from tests.support import conformance
from tests.support.editor import ROOT, Editor
from tests.support.traffic import Traffic
from tests.support.waiting import until

DATA = Path(__file__).parent.parent / "data" / "transcripts"
# `init` has only odd requests of the recorder and no turn.
TRANSCRIPTS = [path for path in sorted(DATA.glob("*.ndjson")) if not path.stem.endswith("-init")]
NOTES = "alpha\nbeta\ngamma\n"


@dataclass
class Expected:
    """The expected contents of the chat after one run of an agent."""

    texts: list[str] = field(default_factory=list)  # messages and thoughts, whole, in order
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)  # merged, by id
    plan: list[str] = field(default_factory=list)
    ends: int = 0
    _open: str = ""

    def add(self, record: Record, prompts: set[str]) -> None:
        """Process one record of the agent."""
        message = record.get("msg") or {}
        if message.get("method") == "session/update":
            self._update(message["params"]["update"])
        elif message.get("method") == "session/request_permission":
            self._call(message["params"]["toolCall"])
            self._open = ""
        elif "method" not in message and str(message.get("id")) in prompts:
            self.ends += 1
            self._open = ""

    def turn(self) -> None:
        """Begin a turn of the user."""
        self._open = ""

    def _update(self, update: dict[str, Any]) -> None:
        kind = update["sessionUpdate"]
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            text = update["content"].get("text", "")
            if self._open != kind:
                self.texts.append("")
            self._open = kind
            self.texts[-1] += text
        elif kind in ("tool_call", "tool_call_update"):
            self._call(update)
            self._open = ""
        elif kind == "plan":
            self.plan = [entry["content"] for entry in update["entries"]]
            self._open = ""

    def _call(self, call: dict[str, Any]) -> None:
        known = self.calls.setdefault(call["toolCallId"], {})
        known |= {key: value for key, value in call.items() if value is not None}


VERB = re.compile(r"^(Read|Edit|Delet|Mov|Search)(e|ing|ed)?:? ")
"""A verb that the chat shows in the tense of the call's status."""


def bare(text: str) -> str:
    """Return a text without white space, since the client wraps and indents it."""
    return re.sub(r"\s+", "", text)


def shown(expected: Expected, chat: str, work: Path) -> Iterator[str]:
    """Yield the parts that are missing in the chat or in another order.

    Titles name files below `work` relative to it. The client chooses the Markdown around a name, a
    command or a text.
    """
    at = 0
    for text in expected.texts:
        found = chat.find(bare(text), at)
        if found < 0:
            yield f"text {text!r}"
        else:
            at = found + len(bare(text))
    for id, call in expected.calls.items():
        title = call.get("title", id)
        if call.get("kind") in ("read", "edit", "delete", "move", "search"):
            title = VERB.sub("", title).replace(f"{work}/", "").replace("`", "")
        if call.get("kind") == "execute":
            title = title.removeprefix("Running: ").strip("`")
        title = bare(title)
        if title[:300] not in chat:
            yield f"title of {id}: {call.get('title')!r}"
        for item in call.get("content") or ():
            text = (item.get("content") or {}).get("text", "") if item["type"] == "content" else ""
            lines = [line for line in text.splitlines() if not line.startswith("```")]
            yield from (f"line of {id}: {line!r}" for line in lines if bare(line) not in chat)
    yield from (f"plan entry {entry!r}" for entry in expected.plan if bare(entry) not in chat)


class User:
    """A user who repeats the recorder's steps when the agent waits for them."""

    def __init__(self, editor: Editor, traffic: Traffic) -> None:
        self.editor = editor
        self.traffic = traffic
        self._begun = False
        self._answered = ""

    def do(self, index: int, message: dict[str, Any]) -> None:
        """Repeat one message of the recorder that a user causes."""
        params = message.get("params") or {}
        if not self._begun:
            self._begun = True
            self.editor.cmd("Acp new")
        self.traffic.wait_note(f"want {index}", 20)
        match message.get("method"):
            case "session/load":
                return  # a restart does that automatically
            case "session/prompt":
                self.editor.lua("require('acp').prompt(...)", params["prompt"])
            case "session/cancel":
                self.editor.cmd("AcpCancel")
            case "session/set_mode":
                self._choose("session/set_mode", f"Acp mode {params['modeId']}")
            case "session/set_config_option":
                value = str(params["value"]).lower()
                self._choose(
                    "session/set_config_option", f"Acp option {params['configId']} {value}"
                )
            case None:
                self._decide(message["result"])

    def _choose(self, method: str, command: str) -> None:
        """Make a choice. Neovim offers choices once it knows the session."""
        self.editor.wait("local s = require('acp').state() return s.sessions[s.current].id")
        count = len(self.traffic.received(method))
        self.editor.cmd(command)
        self.traffic.wait(method, count + 1)

    def _decide(self, result: dict[str, Any]) -> None:
        """Answer the oldest question. A cancelled one ends with the cancel that follows."""
        code = (
            "local s = require('acp').state() local one = s.sessions[s.current].{}[1] "
            f"return one and one.id ~= '{self._answered}' and one"
        )
        answer = "require('acp').answer(...)"
        if "action" in result:
            asked = self.editor.wait(code.format("elicitations"))
            self.editor.lua(answer, asked["id"], result["action"], result.get("content"))
            self._answered = asked["id"]
            return
        outcome = result["outcome"]
        if outcome["outcome"] == "selected":
            asked = self.editor.wait(code.format("permissions"))
            self.editor.lua(answer, asked["id"], outcome["optionId"])
            self._answered = asked["id"]
        elif not self.traffic.received("session/cancel"):
            self.editor.wait(code.format("permissions"))
            self.editor.cmd("AcpCancel")


class Stage:
    """An editor whose agent plays a transcript, and the expected chat."""

    def __init__(self, editor: Editor, path: Path) -> None:
        self.editor, self.path = editor, path
        self.traffic = Traffic(editor.home / "replay.jsonl", "replay")
        self.expected, self.user = Expected(), User(editor, self.traffic)
        editor.traffic.append(self.traffic)
        editor.write("notes.txt", NOTES)
        log = str(self.traffic.path)
        command = [sys.executable, "-m", "tests.agents", "--log", log, "replay", str(path)]
        entry = {"command": [*command, str(editor.work), log], "env": {"PYTHONPATH": str(ROOT)}}
        chat = {"tool_lines": 1000, "thoughts": "show"}
        editor.setup({"agent": "replay", "agents": {"replay": entry}, "chat": chat})

    def play(self, number: int = 0) -> None:
        """Play one run of the agent to its end."""
        questions: set[Any] = set()
        prompts: set[str] = set()
        for index, record in runs(self.path, str(self.editor.work))[number]:
            message = record.get("msg") or {}
            if record["dir"] == "a2c":
                if prompts or number == 0:  # earlier records are the replay of a load
                    self.expected.add(record, prompts)
                if message.get("method") in QUESTIONS:
                    questions.add(message["id"])
            elif message.get("method") in BY_THE_USER:
                if message["method"] == "session/prompt":
                    prompts.add(str(message["id"]))
                    self.expected.turn()
                self.user.do(index, message)
            elif "method" not in message and message["id"] in questions:
                self.user.do(index, message)
        until(lambda: self.traffic.notes().count("done") == number + 1, 30, "done")
        self.editor.wait_event("AcpTurnEnd", max(self.expected.ends, 1), 20)

    def missing(self) -> list[str]:
        """Return the parts that the chat lacks."""
        return list(shown(self.expected, bare("\n".join(self.editor.chat(1))), self.editor.work))

    def check(self) -> None:
        """Check that the chat shows everything and that every question was answered."""
        until(lambda: not self.missing(), 10, f"{self.path.stem}: {self.missing()}")
        assert self.expected.texts
        assert not conformance.unanswered(self.traffic.entries())


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_chat_shows_the_whole_conversation(editor: Editor, path: Path) -> None:
    stage = Stage(editor, path)
    stage.play()
    stage.check()


@pytest.mark.parametrize("name", ["gemini", "codex-zed", "kimi-code"])
def test_a_restart_shows_nothing_twice(editor: Editor, name: str) -> None:
    """The agent starts again, replays the session, and continues."""
    stage = Stage(editor, DATA / f"{name}-load.ndjson")
    stage.play()
    stage.check()
    before = editor.chat(1)
    editor.cmd("Acp restart")
    stage.play(1)
    stage.check()
    assert editor.chat(1)[: len(before)] == before
    hello = "Hello from the *fake* LLM."
    assert sum(hello in line for line in editor.chat(1)) == 2
    assert stage.traffic.received("session/load")
