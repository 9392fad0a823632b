"""Checks of the paths that agents use: session directories, guarded names, the user's answer."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Literal, TypeVar

from acp_nvim.files.bytes.guard import Guarded, Verb, by_name, guarded_by_link
from acp_nvim.files.bytes.paths import Place, below, place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.ports import AgentSession, FileOptions

S = TypeVar("S", bound=AgentSession)

Why = Guarded | Literal["outside"]
_ABOUT: Final[dict[Why, str]] = {
    "outside": "outside of the session's directories",
    "secret": "a secret file",
    "executed": "a file that other programs run",
}

PATH_BYTES: Final = 1000
"""Longest path that is served. Neovim exits when it writes a file whose name fills its line for
messages (1,024 bytes).
"""

Ask = Callable[[S, Verb, Place, Why], Awaitable[bool]]
"""Function that asks the user about a path, with a reason, and returns whether it is allowed."""


class PathGuard(Generic[S]):
    """Guard of every path by which agents reach files."""

    def __init__(self, options: Callable[[], FileOptions], ask: Ask[S]) -> None:
        """``options`` is called for each request."""
        self._options = options
        self._ask = ask

    async def allow(self, session: S, verb: Verb, path: str) -> tuple[Place, Why | None]:
        """Resolve the path, and ask the user if necessary. Raise Refusal.

        Return the place, and the reason of the question if there was one.
        """
        where, why = await self.reason_to_ask(session, verb, path)
        if why is not None:
            await self.question(session, verb, where, why)
        return where, why

    async def reason_to_ask(self, session: S, verb: Verb, path: str) -> tuple[Place, Why | None]:
        """Return the resolved path, and the reason to ask the user, if any.

        Raise Refusal if an option forbids the access, or the path would crash Neovim.
        """
        where = place(path)
        if len(os.fsencode(where.real)) > PATH_BYTES:
            raise Refusal("failed", path, f"the path is longer than {PATH_BYTES} bytes")
        options = self._options()
        inside = below(where.real, session.roots)
        if inside is None and options.outside == "deny":
            raise Refusal("outside", path, "outside of the session's directories")
        why: Why | None = by_name(where, inside, verb, options)
        why = why or await guarded_by_link(where, session.roots, verb, options)
        if why is None and inside is None and options.outside == "ask":
            why = "outside"
        return where, why

    async def question(self, session: S, verb: Verb, where: Place, why: Why) -> None:
        """Ask the user. Raise Refusal if they do not allow it."""
        if not await self._ask(session, verb, where, why):
            what = f"the user did not allow to {verb} {_ABOUT[why]}"
            raise Refusal("denied", where.path, what)
        if place(where.path).real != where.real:
            raise Refusal("failed", where.path, "leads elsewhere since the user was asked about it")

    async def may_show(self, session: S, real: str) -> bool:
        """Return whether an answer may contain lines of the file without a question."""
        if not self.may_list(session, real):
            return False
        where = Place(real, real)
        return await guarded_by_link(where, session.roots, "read", self._options()) is None

    def may_list(self, session: S, real: str) -> bool:
        """Return whether an answer may name the file without a question.

        Only the path is checked.
        """
        options, inside = self._options(), below(real, session.roots)
        if inside is None and options.outside != "allow":
            return False
        return by_name(Place(real, real), inside, "read", options) is None
