"""Tool calls, and the verdicts of permission rules about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acp_nvim.agent.serving.judging import judge
from acp_nvim.agent.settings import Settings, decode
from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.questions import rule_case
from acp_nvim.session.session import Session


def rules(*wanted: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"permission": {"rules": list(wanted)}, **more}


def verdict(call: ToolCall, cwd: Path, *wanted: dict[str, Any], **more: Any) -> str | None:
    """Return the verdict on a call, in a session with the first preset of `more`, if any."""
    settings: Settings = decode(rules(*wanted, **more))
    session = Session(1, "agent", str(cwd))
    session.preset = next(iter(settings.presets), None)
    return judge(rule_case(call, "agent", str(cwd)), session, settings)


def edit(path: Path | str) -> ToolCall:
    return ToolCall("t", kind="edit", content=[schema.Diff(str(path), "x")])


def run(raw: dict[str, Any]) -> ToolCall:
    return ToolCall("t", kind="execute", raw_input=raw)
