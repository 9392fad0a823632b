"""The user's options, as last sent by Lua, and the folders that depend on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.agent.agents import spec_of
from acp_nvim.agent.settings import AgentSettings, Settings, decode, file_options
from acp_nvim.files.bytes import private_files
from acp_nvim.files.ports import FileOptions


class UserOptions:
    """Options of a host."""

    def __init__(self) -> None:
        """Start with the defaults, until Lua sends the options."""
        self._settings = Settings()
        self._files = FileOptions()

    def settings(self) -> Settings:
        return self._settings

    def files(self) -> FileOptions:
        """Return the options of the workspace."""
        return self._files

    def replace(self, table: dict[str, Any]) -> Settings:
        """Replace the options with the arguments of the verb `setup`, and return them."""
        self._settings = decode(table)
        self._files = file_options(self._settings)
        return self._settings

    def choose_agent(self, name: str) -> None:
        """Use this agent for new sessions."""
        self._settings = msgspec.structs.replace(self._settings, agent=name)

    def set_extensions(self, names: list[str]) -> None:
        """Set the names of extension methods that the user handles."""
        self._settings = msgspec.structs.replace(self._settings, extensions=names)

    def spec(self, name: str) -> AgentSettings | None:
        """Return the settings of an agent. Raise `UnknownAgent` as `agents.spec_of` does."""
        return spec_of(self._settings, name)

    def data(self) -> Path | None:
        """Return the plugin's folder in `stdpath('data')`, or None before the verb `setup`."""
        data = self._settings.stdpath.get("data")
        return Path(data) / "acp" if data else None

    def data_file(self, name: str) -> Path | None:
        """Return the path of a file in `data`, or None before the verb `setup`."""
        data = self.data()
        return data / name if data is not None else None

    def runtime_directory(self) -> str | None:
        """Return `stdpath('run')`, or None before the verb `setup`."""
        return self._settings.stdpath.get("run")

    def extensions(self) -> list[str]:
        """Return the names of extension methods that the user handles."""
        return self._settings.extensions

    def cache(self, name: str) -> Path:
        """Return a cache directory of the plugin that only the user can read."""
        root = self._settings.stdpath.get("cache")
        if not root:
            from tempfile import gettempdir

            root = gettempdir()
        return private_files.directory(Path(root) / "acp" / name)
