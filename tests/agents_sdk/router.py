"""`python router.py`: an agent of the official Python SDK's router, in versions 1 and 2.

Runs with `agent-client-protocol==1.0.0rc3` (`tests/real/test_sdk_versions.py`). Version 1 is
`example.Example`. In version 2 `edit PATH` sends a plan, asks for permission and writes the file in
capitals on disk; `wait` runs until a cancel; any other text is sent back.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from acp.experimental import AgentProtocolRouter
from acp.experimental.v2 import schema
from example import Example

OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Do it", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Leave it", kind="reject_once"),
]


def text(words: str) -> Any:
    """Return a block of text."""
    return schema.TextContentBlock(text=words, type="text")


def capitalise(path: str) -> None:
    """Write a file in capitals, without the client."""
    Path(path).write_text(Path(path).read_text().upper())


class Example2:
    """The agent in version 2: a turn continues after its prompt is answered."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._cwd: dict[str, str] = {}
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._said = 0

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        return schema.InitializeResponse(
            protocol_version=protocol_version,
            info=schema.Implementation(name="sdk", title="SDK Example", version="2"),
            capabilities=schema.AgentCapabilities(session=schema.SessionCapabilities()),
        )

    async def new_session(self, cwd: str, **_: Any) -> Any:
        id = f"sdk-{len(self._cwd)}"
        self._cwd[id] = cwd
        return schema.NewSessionResponse(session_id=id)

    async def resume_session(self, session_id: str, **_: Any) -> Any:
        return schema.ResumeSessionResponse()

    async def close_session(self, session_id: str, **_: Any) -> Any:
        return schema.CloseSessionResponse()

    async def list_sessions(self, **_: Any) -> Any:
        found = [schema.SessionInfo(session_id=id, cwd=cwd) for id, cwd in self._cwd.items()]
        return schema.ListSessionsResponse(sessions=found)

    async def cancel_session(self, session_id: str, **_: Any) -> None:
        if session_id in self._turns:
            self._turns[session_id].cancel()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        id = self._next("user")
        words = "".join(block.text for block in prompt if block.type == "text")
        turn = self._turn(session_id, id, prompt, words)
        self._turns[session_id] = asyncio.create_task(turn)
        return schema.PromptResponse(message_id=id)

    async def _turn(self, session_id: str, id: str, prompt: list[Any], words: str) -> None:
        await self._tell(session_id, schema.UserMessageUpdate(message_id=id, content=prompt))
        await self._tell(session_id, schema.RunningSessionStateUpdate(state="running"))
        reason = "end_turn"
        try:
            await self._answer(session_id, words)
        except asyncio.CancelledError:
            reason = "cancelled"
        idle = schema.IdleSessionStateUpdate(state="idle", stop_reason=reason)
        await self._tell(session_id, idle)

    async def _answer(self, session_id: str, words: str) -> None:
        word, _space, rest = words.partition(" ")
        if word == "edit":
            await self._edit(session_id, rest)
        elif word == "wait":
            await asyncio.Event().wait()
        else:
            await self._say(session_id, words)

    async def _edit(self, session_id: str, path: str) -> None:
        await self._plan(session_id, "in_progress")
        call = {"tool_call_id": "edit-1", "title": f"Capitals for {path}", "kind": "edit"}
        pending = schema.SessionToolCallUpdate(**call, status="pending")
        await self._tell(session_id, pending)
        subject = schema.ToolCallPermissionSubjectVariant(
            tool_call=schema.ToolCallUpdate(tool_call_id="edit-1")
        )
        await self._tell(
            session_id, schema.RequiresActionSessionStateUpdate(state="requires_action")
        )
        answer = await self._client.request_permission(
            session_id=session_id, title="May it?", options=OPTIONS, subject=subject
        )
        await self._tell(session_id, schema.RunningSessionStateUpdate(state="running"))
        allowed = getattr(answer.outcome, "option_id", "") == "yes"
        if allowed:
            capitalise(path)
        status = "completed" if allowed else "failed"
        await self._tell(
            session_id, schema.SessionToolCallUpdate(tool_call_id="edit-1", status=status)
        )
        await self._plan(session_id, "completed" if allowed else "cancelled")
        await self._say(session_id, "Written." if allowed else "Left as it was.")

    async def _plan(self, session_id: str, status: str) -> None:
        entry = schema.PlanEntry(content="Write it in capitals", priority="high", status=status)
        items = schema.PlanUpdateItems(type="items", plan_id="plan", entries=[entry])
        await self._tell(session_id, schema.SessionPlanUpdate(plan=items))

    async def _say(self, session_id: str, words: str) -> None:
        """Send the words one by one, then the whole text."""
        id = self._next("agent")
        for word in words.split(" "):
            chunk = schema.AgentMessageChunk(message_id=id, content=text(f"{word} "))
            await self._tell(session_id, chunk)
        whole = schema.AgentMessageUpdate(message_id=id, content=[text(words)])
        await self._tell(session_id, whole)

    async def _tell(self, session_id: str, update: Any) -> None:
        await self._client.session_update(session_id=session_id, update=update)

    def _next(self, who: str) -> str:
        self._said += 1
        return f"{who}-{self._said}"


if __name__ == "__main__":
    asyncio.run(AgentProtocolRouter(v1=lambda client: Example(), v2=Example2).run())
