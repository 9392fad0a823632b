"""`python -m tests.agents_sdk.example`: an agent as the SDK's documentation builds one.

The prompt says what a turn does: `edit PATH` reads the file through the client, asks for permission
and writes it back in capitals; `shell COMMAND` runs a command in a terminal of the client; `wait`
thinks until it is cancelled; anything else is said again.
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


class Example:
    """Everything that this file's docstring says, for any number of sessions. Of `acp.Agent` it has
    what it needs: the SDK refuses the other methods.
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
                await self._tell(session_id, acp.update_agent_thought_text("Waiting."))
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
        """Word by word."""
        for word in text.split(" "):
            await self._tell(session_id, acp.update_agent_message_text(f"{word} "))

    async def _edit(self, session_id: str, path: str) -> None:
        old = (await self._client.read_text_file(path=path, session_id=session_id)).content
        new = old.upper()
        entries = [acp.plan_entry("Write it in capitals", priority="high", status="in_progress")]
        await self._tell(session_id, acp.update_plan(entries))
        diff = acp.tool_diff_content(path, new, old)
        start = acp.start_tool_call(
            "edit-1", f"Capitals for {path}", kind="edit", status="pending", content=[diff]
        )
        await self._tell(session_id, start)
        asked = schema.ToolCallUpdate(tool_call_id="edit-1")
        answer = await self._client.request_permission(
            session_id=session_id, tool_call=asked, options=OPTIONS
        )
        if answer.outcome.outcome != "selected" or answer.outcome.option_id != "yes":
            await self._tell(session_id, acp.update_tool_call("edit-1", status="failed"))
            await self._say(session_id, "Left as it was.")
            return
        await self._client.write_text_file(path=path, content=new, session_id=session_id)
        await self._tell(session_id, acp.update_tool_call("edit-1", status="completed"))
        entries = [acp.plan_entry("Write it in capitals", priority="high", status="completed")]
        await self._tell(session_id, acp.update_plan(entries))
        await self._say(session_id, "Written.")

    async def _shell(self, session_id: str, command: str) -> None:
        made = await self._client.create_terminal(
            command="sh", args=["-c", command], session_id=session_id
        )
        where = {"session_id": session_id, "terminal_id": made.terminal_id}
        start = acp.start_tool_call(
            "shell-1",
            command,
            kind="execute",
            status="in_progress",
            content=[acp.tool_terminal_ref(made.terminal_id)],
        )
        await self._tell(session_id, start)
        end = await self._client.wait_for_terminal_exit(**where)
        output = await self._client.terminal_output(**where)
        await self._client.release_terminal(**where)
        status: Any = "failed" if end.exit_code else "completed"
        await self._tell(session_id, acp.update_tool_call("shell-1", status=status))
        await self._say(session_id, f"Code {end.exit_code}, {len(output.output)} characters.")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, Example())))
