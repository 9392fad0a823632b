"""Names of the MCP server with the editor's tools at one agent."""

from __future__ import annotations

from acp_nvim.agent.session_params import OWN


class ToolsNames:
    """The name for each session: the same for all, until the agent refuses a name that it has seen.

    Some agents register servers for the whole process, and take one name only once.
    """

    def __init__(self) -> None:
        """No name was refused yet."""
        self._count = 1
        self._is_shared = True

    def next(self) -> str:
        """Return the name for a session that is opened."""
        return OWN if self._is_shared else self.another()

    def another(self) -> str:
        """Return a name that no session at this agent has had."""
        self._count += 1
        return f"{OWN}-{self._count}"

    def always_another(self) -> None:
        """Give each session a name of its own from now on."""
        self._is_shared = False
