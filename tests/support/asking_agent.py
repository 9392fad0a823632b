"""Agent that asks, withdraws and changes questions, step by step, within one turn."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.traffic import Traffic
from tests.support.waiting import until

METHOD = "session/request_permission"


class Asking:
    """Agent that asks, step by step, within one turn."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        editor.lua(
            "require('acp.features.permissions.clock').ms = function() return 0 end"
        )  # only `later` changes it
        self.traffic: Traffic = editor.agent("script")
        self.agent = StepwiseAgent.at_work(editor)

    def ask(self, id: str, call: dict[str, Any] | None = None) -> None:
        """Ask, and wait until the card is on the screen."""
        self.agent.ask("asks_about", id, json.dumps(call or {}))
        self.drawn(id)

    def drawn(self, id: str) -> None:
        """Wait until the question about this tool call is on the screen."""
        self.editor.wait(
            "local id = ... for _, one in ipairs(require('acp').state().sessions[1].permissions) do"
            " if one.tool_call == id and one.shown_ms then return true end end",
            id,
        )

    def assert_asks(self, id: str, call: dict[str, Any]) -> None:
        """Ask, assert that no rule answers, and refuse as the user."""
        before = self.outcomes()
        self.ask(id, call)
        assert self.outcomes() == before
        self.editor.answer("Acp deny")
        self.answered(*before, "reject")
        self.editor.wait("#require('acp').state().sessions[1].permissions == 0")

    def take_back(self, id: str) -> None:
        self.agent.ask("takes_back", id)

    def announce(self, id: str, **call: Any) -> None:
        """Begin a tool call."""
        self.agent.ask("announces", id, json.dumps(call))

    def update(self, id: str, **call: Any) -> None:
        self.agent.ask("tells_more", id, json.dumps(call))

    def permission(self) -> dict[str, Any]:
        """Return the oldest pending permission."""
        found: dict[str, Any] = self.editor.session(1)["permissions"][0]
        return found

    def changed(self, before: dict[str, Any]) -> dict[str, Any]:
        """Wait until another permission is the oldest, and return it."""
        self.editor.wait(
            "(require('acp').state().sessions[1].permissions[1] or { id = ... }).id ~= ...",
            before["id"],
        )
        return self.permission()

    def outcomes(self) -> list[str]:
        answers = [frame["result"]["outcome"] for frame in self.traffic.answers(METHOD)]
        return [answer.get("optionId", answer["outcome"]) for answer in answers]

    def answered(self, *outcomes: str) -> None:
        """Wait until the agent has exactly these answers, in the order of the questions."""
        until(lambda: self.outcomes() == [*outcomes], what=str(outcomes))

    def end(self) -> None:
        self.editor.cmd("AcpCancel")
        self.editor.wait_event("AcpTurnEnd")
