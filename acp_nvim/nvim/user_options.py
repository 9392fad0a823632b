"""The user's options, as Lua sent them last, and the folders that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.agent.agents import spec_of
from acp_nvim.agent.settings import AgentSettings, Settings, decode, file_options
from acp_nvim.files.bytes import private_files
from acp_nvim.files.ports import FileOptions


class UserOptions:
    """Those of a host."""

    def __init__(self) -> None:
        """The defaults, until Lua has sent them."""
        self._settings = Settings()
        self._files = FileOptions()

    def settings(self) -> Settings:
        """Return all of them."""
        return self._settings

    def files(self) -> FileOptions:
        """Return those that the workspace reads."""
        return self._files

    def take(self, table: dict[str, Any]) -> Settings:
        """Take the options of verb `setup`."""
        self._settings = decode(table)
        self._files = file_options(self._settings)
        return self._settings

    def choose_agent(self, name: str) -> None:
        """Use this agent for new sessions."""
        self._settings = msgspec.structs.replace(self._settings, agent=name)

    def extend(self, names: list[str]) -> None:
        """The user handles these methods of agents' own now."""
        self._settings = msgspec.structs.replace(self._settings, extensions=names)

    def spec(self, name: str) -> AgentSettings | None:
        """Return how an agent is started. Raises `UnknownAgent` like `agents.spec_of`."""
        return spec_of(self._settings, name)

    def data(self) -> Path | None:
        """Return our folder in `stdpath('data')`, None before Lua has told where that is."""
        data = self._settings.stdpath.get("data")
        return Path(data) / "acp" if data else None

    def data_file(self, name: str) -> Path | None:
        """Return a file there, None likewise."""
        data = self.data()
        return data / name if data is not None else None

    def cache(self, name: str) -> Path:
        """Return a directory of ours for files that may go at any time; only the user may look into
        it.
        """
        root = self._settings.stdpath.get("cache")
        if not root:
            from tempfile import gettempdir

            root = gettempdir()
        return private_files.directory(Path(root) / "acp" / name)
