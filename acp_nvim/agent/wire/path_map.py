"""Mapping of paths between this machine and the place of an agent (option `agents.*.paths`)."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Final

from acp_nvim.protocol.uris import file_path, file_suffix, quote_path

_LOCAL_PREFIX: Final = "neovim:"
"""Prefix of a path that is sent to an agent although its place does not have the file.

The prefix makes a path relative and gives a URI an unknown scheme. Therefore the result cannot name
another file.
"""
_FILE: Final = "file://"


class PathMap:
    """Map between paths on this machine (here) and paths at the agent (there), by directory pairs.

    A path there that no pair covers becomes a path that does not exist here
    (`render.text.remote_path`). All guards treat it as outside of the session's directories.
    """

    def __init__(self, name: str, pairs: Mapping[str, str]) -> None:
        """`name` is the agent's name. A `~` in a directory there requires `set_home`."""
        self._remote_prefix = f"/{name}:/"
        self._given = dict(pairs)
        self._home: str | None = None
        self._there: list[tuple[str, str]] = []
        """Pairs (here, there), the longest directory here first."""
        self._here: list[tuple[str, str]] = []
        """Pairs (there, here), the longest directory there first."""
        self.directory = ""
        """Remote directory for sessions without pairs, or an empty string."""
        self._build()

    def set_home(self, home: str, directory: str) -> None:
        """Set the remote home directory and the agent's working directory."""
        self._home = home or None
        self.directory = "" if self._given else directory
        self._build()

    def _build(self) -> None:
        pairs = []
        for here, there in self._given.items():
            is_below_home = there == "~" or there.startswith("~/")
            if is_below_home and self._home is None:
                continue
            whole = f"{self._home}{there[1:]}" if is_below_home else there
            pairs.append((_normal(os.path.expanduser(here)), _normal(whole)))  # noqa: PTH111
        self._there = _longest_first(pairs)
        self._here = _longest_first((there, here) for here, there in pairs)

    @property
    def is_empty(self) -> bool:
        return not self._given

    def covers_here(self, path: str) -> bool:
        """Return whether a path on this machine is covered by a pair."""
        return self._map_covered(path) is not None

    def to_agent(self, path: str) -> str:
        """Return the agent's path for a path on this machine. Relative paths are unchanged."""
        if not path.startswith("/"):
            return path
        mapped = self._map_covered(path)
        if mapped is None and path.startswith(self._remote_prefix):
            own = _normal(path[len(self._remote_prefix) - 1 :])
            mapped = own if _replace_directory(own, self._here) is None else None
        return _LOCAL_PREFIX + path if mapped is None else mapped

    def to_local(self, path: str) -> str:
        """Return this machine's path for a path of the agent, or for its `file:` URI.

        Relative paths are returned unchanged.
        """
        path = file_path(path) or path
        if not path.startswith("/"):
            return path
        path = _normal(path)
        mapped = _replace_directory(path, self._here)
        return self._remote_prefix + path[1:] if mapped is None else mapped

    def lines_to_agent(self, text: str) -> str:
        """Convert the paths at the beginning of lines to the agent's paths.

        A word may precede the path, as in `modified /src/a`.
        """
        if not self._there:
            return text
        pairs = dict(self._there)
        heres = "|".join(map(re.escape, pairs))
        beginning = rf"(?m)^(\S+ )?({heres})(?=/|:|$)"
        return re.sub(beginning, lambda match: (match[1] or "") + pairs[match[2]], text)

    def folder_to_agent(self, path: str) -> str:
        """Return the remote directory of a session. Without pairs, return the agent's own."""
        return self.directory or self.to_agent(path)

    def uri_to_agent(self, uri: str) -> str:
        """Return the agent's form of a `file:` URI or a plain path. Other URIs are unchanged."""
        if uri.startswith("/"):
            return self.to_agent(uri)
        path = file_path(uri)
        if path is None:
            return uri
        mapped = self.to_agent(path)
        scheme = _FILE if mapped.startswith("/") else _LOCAL_PREFIX
        return scheme + quote_path(mapped.removeprefix(_LOCAL_PREFIX)) + file_suffix(uri)

    def uri_to_local(self, uri: str) -> str:
        """Return this machine's form of a `file:` URI or a plain path of the agent."""
        if uri.startswith("/"):
            return self.to_local(uri)
        path = file_path(uri)
        return uri if path is None else _FILE + quote_path(self.to_local(path)) + file_suffix(uri)

    def _map_covered(self, path: str) -> str | None:
        if path.startswith(self._remote_prefix):
            return None
        path = _normal(path)
        mapped = _replace_directory(path, self._there)
        if mapped is not None or not self._there:
            return mapped
        # The path may have links.
        real = [(os.path.realpath(here), there) for here, there in self._there]
        return _replace_directory(os.path.realpath(path), _longest_first(real))


def _normal(path: str) -> str:
    """Return an absolute path without `.`, `..`, double slashes and a trailing slash."""
    return "/" + posixpath.normpath(path).lstrip("/")


def _longest_first(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)


def _replace_directory(path: str, pairs: Iterable[tuple[str, str]]) -> str | None:
    """Return a path with its directory replaced by the first pair that contains it.

    Return None if no pair does.
    """
    for before, after in pairs:
        if path == before or path.startswith(before.rstrip("/") + "/"):
            rest = path[len(before) :].lstrip("/")
            return posixpath.join(after, rest) if rest else after
    return None
