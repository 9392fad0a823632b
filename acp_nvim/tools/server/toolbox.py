"""Tools of this editor by name, and their running calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import anyio
import msgspec

from acp_nvim.files.bytes.refusals import Refusal, one_line
from acp_nvim.protocol.text import clean, clean_text
from acp_nvim.session.calls import own_tools
from acp_nvim.session.calls.tool_use import Offered
from acp_nvim.session.session import Session
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

Enabled = bool | Sequence[str]
"""Option `tools`: all, none, or a list of names."""

TEXT_CHARACTERS: Final = 1 << 20
"""Maximum length of a result's text. Longer text is cut, and longer structured data is left out."""
MAX_RUNNING: Final = 64
"""Maximum number of running calls per session."""

_CONTROL: Final = dict.fromkeys(
    code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
)


class Outcome(msgspec.Struct, frozen=True):
    """Result of a call for the agent. If the call has failed, the text is the reason."""

    result: ToolResult
    has_failed: bool = False


class UnknownTool(Exception):
    """Call of a tool that does not exist or is not enabled for the session."""


class ToolList(msgspec.Struct, frozen=True):
    """Tools that are imported when an agent lists or calls them."""

    writes: Mapping[str, bool]
    """Names of the tools in their order, and whether each changes files."""
    load: Callable[[], Iterable[Tool[Any]]]


class Toolbox:
    """Tools in the order of their listing. Each call is limited in time and counted."""

    def __init__(
        self,
        tools: Iterable[Tool[Any]],
        fault: Callable[[str, Exception], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        late: Sequence[ToolList] = (),
    ) -> None:
        """`fault` is called with the tool's name and an internal error.

        `late` are lists that are loaded on first use, before the other tools.
        """
        self._late = late
        self._is_loaded = False
        self._tools = {tool.name: tool for tool in tools}
        self._fault = fault
        self._clock = clock
        self._running: dict[str, set[anyio.CancelScope]] = {}

    def add(self, tool: Tool[Any]) -> None:
        """Add a tool, or replace one of the same name."""
        self._tools[tool.name] = tool

    def drop(self, name: str) -> None:
        """Remove a tool, if it exists."""
        self._tools.pop(name, None)

    def load(self) -> None:
        """Import the tools that are imported late. Only the first call has an effect."""
        if not self._is_loaded:
            self._is_loaded = True
            late = {tool.name: tool for tools in self._late for tool in tools.load()}
            self._tools = {**late, **self._tools}

    def offered(self, enabled: Enabled) -> Offered:
        """Return the names of the tools for a session with this option, without loading them."""
        late = () if self._is_loaded else self._late
        writes = {name: value for tools in late for name, value in tools.writes.items()}
        writes |= {tool.name: tool.writes for tool in self._tools.values()}
        names = [name for name in writes if enabled is True or (enabled and name in enabled)]
        return Offered(names, {name for name in names if writes[name]})

    def list_tools(self, enabled: Enabled) -> list[Tool[Any]]:
        """Return the tools for a session with this option."""
        if not enabled:
            return []
        self.load()
        return [tool for tool in self._tools.values() if enabled is True or tool.name in enabled]

    async def call(
        self,
        session: Session,
        name: str,
        arguments: msgspec.Raw | bytes | None,
        *,
        enabled: Enabled = True,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Outcome:
        """Run a tool, count the call, and show its place and result in the session.

        Raise `UnknownTool`. Any other failure becomes an `Outcome`.
        """
        tool = next((tool for tool in self.list_tools(enabled) if tool.name == name), None)
        if tool is None:
            raise UnknownTool(name)
        began = self._clock()
        agent_call = own_tools.on_start(session, name, tool.title)
        outcome = _failure("cancelled")
        try:
            outcome = await self._run_cancellable(
                tool, Call(session, progress, agent_call), arguments
            )
        finally:
            self._count(session, outcome, self._clock() - began)
            own_tools.on_place(session, outcome.result.path, outcome.result.line)
            if agent_call is not None:
                line = outcome.result.text if outcome.has_failed else outcome.result.summary
                own_tools.on_result(session, agent_call, tool.title, line)
        return outcome

    def cancel(self, session: Session) -> None:
        """Cancel all running calls of a session. Each is answered with an error."""
        for scope in self._running.get(session.key, ()):
            scope.cancel()

    async def _run_cancellable(
        self, tool: Tool[Any], call: Call, arguments: msgspec.Raw | bytes | None
    ) -> Outcome:
        """Run a tool as one of its session's calls, which can be cancelled together."""
        running = self._running.setdefault(call.session.key, set())
        if len(running) >= MAX_RUNNING:
            return _failure(f"{MAX_RUNNING} calls are running; wait for one of them to end")
        with anyio.CancelScope() as scope:
            running.add(scope)
            try:
                return await self._run_timed(tool, call, arguments)
            finally:
                running.discard(scope)
                if not running:
                    self._running.pop(call.session.key, None)
        return _failure("cancelled by the user")

    async def _run_timed(
        self, tool: Tool[Any], call: Call, arguments: msgspec.Raw | bytes | None
    ) -> Outcome:
        from acp_nvim.tools.server import arguments as tool_arguments

        try:
            decoded = tool_arguments.read(tool.arguments, arguments)
            with anyio.move_on_after(tool.timeout_s):
                return Outcome(_presentable(await tool.run(call, decoded)))
            return _failure(f"{tool.name} took more than {tool.timeout_s:g} s")
        except (ToolError, Refusal) as error:
            return _failure(str(error))
        except Exception as error:
            self._fault(tool.name, error)
            return _failure(f"internal error: {type(error).__name__}: {error}")

    def _count(self, session: Session, outcome: Outcome, seconds: float) -> None:
        use = session.tools
        if use is None:  # the session has been closed
            return
        use.count(seconds, failed=outcome.has_failed)
        session.change("tools")


def _failure(reason: str) -> Outcome:
    return Outcome(
        ToolResult(one_line(" ".join(clean_text(reason).split()))[:2000]), has_failed=True
    )


def _presentable(result: ToolResult) -> ToolResult:
    """Return a result of limited size without control characters."""
    text = printable(result.text)
    structured = result.structured
    if structured is not None:
        data = msgspec.json.encode(clean(structured))
        structured = msgspec.json.decode(data) if len(data) <= TEXT_CHARACTERS else None
    return msgspec.structs.replace(result, text=text, structured=structured)


def printable(text: str) -> str:
    """Return the text without control characters except line endings and tabs, cut if too long."""
    text = clean_text(text)
    if not text.isprintable():
        text = text.translate(_CONTROL)
    if len(text) <= TEXT_CHARACTERS:
        return text
    hidden_count = len(text) - TEXT_CHARACTERS
    return (
        f"{text[:TEXT_CHARACTERS]}\n… {hidden_count:,} more characters are left out; ask for a part"
    )
