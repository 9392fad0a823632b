"""`python -m tests.agents_sdk.example`: an agent as the SDK's documentation builds one.

The prompt selects the turn: `edit PATH` reads the file through the client, asks for permission and
writes it back in capitals; `shell COMMAND` runs a command in a terminal of the client; `wait` runs
until a cancel; any other text is sent back.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import acp
from acp import schema
from acp.interfaces import Client

OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Do it", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Leave it", kind="reject_once"),
]


def block(words: str) -> Any:
    """Return a block of text."""
    return schema.TextContentBlock(type="text", text=words)


def done(id: str, status: Any) -> Any:
    """Return the end of a tool call."""
    return schema.ToolCallProgress(
        session_update="tool_call_update", tool_call_id=id, status=status
    )


def plan(status: Any) -> Any:
    """Return the plan of an edit."""
    entry = schema.PlanEntry(content="Write it in capitals", priority="high", status=status)
    return schema.AgentPlanUpdate(session_update="plan", entries=[entry])


class Example:
    """The agent of this module, for any number of sessions.

    The SDK refuses the methods of `acp.Agent` that it lacks.
    """

    def __init__(self) -> None:
        self._client: Client
        self._cancelled: dict[str, asyncio.Event] = {}

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(),
            agent_info=schema.Implementation(name="sdk", title="SDK Example", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        id = f"sdk-{len(self._cancelled)}"
        self._cancelled[id] = asyncio.Event()
        return schema.NewSessionResponse(session_id=id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        text = "".join(block.text for block in prompt if block.type == "text")
        self._cancelled[session_id].clear()
        word, _space, rest = text.partition(" ")
        match word:
            case "edit":
                await self._edit(session_id, rest)
            case "shell":
                await self._shell(session_id, rest)
            case "wait":
                thought = schema.AgentThoughtChunk(
                    session_update="agent_thought_chunk", content=block("Waiting.")
                )
                await self._tell(session_id, thought)
                await self._cancelled[session_id].wait()
            case _:
                await self._say(session_id, text)
        cancelled = self._cancelled[session_id].is_set()
        return schema.PromptResponse(stop_reason="cancelled" if cancelled else "end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled[session_id].set()

    async def _tell(self, session_id: str, update: Any) -> None:
        await self._client.session_update(session_id, update)

    async def _say(self, session_id: str, text: str) -> None:
        for word in text.split(" "):
            said = schema.AgentMessageChunk(
                session_update="agent_message_chunk", content=block(f"{word} ")
            )
            await self._tell(session_id, said)

    async def _edit(self, session_id: str, path: str) -> None:
        old = (await self._client.read_text_file(path=path, session_id=session_id)).content
        new = old.upper()
        await self._tell(session_id, plan("in_progress"))
        start = schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id="edit-1",
            title=f"Capitals for {path}",
            kind="edit",
            status="pending",
            content=[
                schema.FileEditToolCallContent(type="diff", path=path, new_text=new, old_text=old)
            ],
        )
        await self._tell(session_id, start)
        asked = schema.ToolCallUpdate(tool_call_id="edit-1")
        answer = await self._client.request_permission(
            session_id=session_id, tool_call=asked, options=OPTIONS
        )
        if answer.outcome.outcome != "selected" or answer.outcome.option_id != "yes":
            await self._tell(session_id, done("edit-1", "failed"))
            await self._say(session_id, "Left as it was.")
            return
        await self._client.write_text_file(path=path, content=new, session_id=session_id)
        await self._tell(session_id, done("edit-1", "completed"))
        await self._tell(session_id, plan("completed"))
        await self._say(session_id, "Written.")

    async def _shell(self, session_id: str, command: str) -> None:
        made = await self._client.create_terminal(
            command="sh", args=["-c", command], session_id=session_id
        )
        where = {"session_id": session_id, "terminal_id": made.terminal_id}
        start = schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id="shell-1",
            title=command,
            kind="execute",
            status="in_progress",
            content=[schema.TerminalToolCallContent(type="terminal", terminal_id=made.terminal_id)],
        )
        await self._tell(session_id, start)
        end = await self._client.wait_for_terminal_exit(**where)
        output = await self._client.terminal_output(**where)
        await self._client.release_terminal(**where)
        status: Any = "failed" if end.exit_code else "completed"
        await self._tell(session_id, done("shell-1", status))
        await self._say(session_id, f"Code {end.exit_code}, {len(output.output)} characters.")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, Example())))
