"""Overview: publish the sessions of this Neovim, for the overviews of other Neovims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from acp_nvim import wording

if TYPE_CHECKING:
    from acp_nvim.app import Host
    from acp_nvim.features.overview.shared_sessions import SharedSessions

SHARED_KEYS: Final = frozenset(
    (
        *("status", "title", "topic", "queue", "edits", "usage"),
        *("permissions", "elicitations", "questions"),
    )
)
"""Keys of the session state that other Neovims show."""
DELAY_S: Final = 0.3
"""Seconds between a change and its write. Changes within this time are written together."""


class Publisher:
    """Writer of the file that other Neovims read. It writes shortly after a change."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self._is_due = self._has_failed = False
        self._shared: SharedSessions | None = None

    def on_frame(self) -> None:
        """Write the file soon if a session has changed."""
        if self._is_due:
            return
        own = self._app.foreign_sessions.own()
        if any(not SHARED_KEYS.isdisjoint(session.changes.names) for session in own):
            self._is_due = True
            self._app.tasks.start_later(self._publish)

    async def _publish(self) -> None:
        await anyio.sleep(DELAY_S)
        self._is_due = False
        if self._shared is None:
            from acp_nvim.features.overview.shared_sessions import SharedSessions, file_of

            state, instance = self._app.settings().stdpath.get("state"), self._instance
            if not state or not instance:
                return
            self._shared = SharedSessions(file_of(state, instance), instance)
        try:
            await self._shared.write(self._app.foreign_sessions.own())
        except OSError as error:
            self._report_failure(error)

    def _report_failure(self, error: OSError) -> None:
        """Tell the user, once, that other Neovims do not see the sessions."""
        if not self._has_failed:
            self._has_failed = True
            self._app.echo("warn", wording.SESSIONS_NOT_SHARED.format(reason=error))

    @property
    def _instance(self) -> str:
        """Return the name of this run of Neovim, or an empty string if it has none."""
        return self._app.workspace.persistence.keys.instance

    async def on_exit(self) -> None:
        """Remove the file."""
        if self._shared is not None:
            await self._shared.remove()


def install(app: Host) -> None:
    publisher = Publisher(app)
    app.observers.on_frame.append(publisher.on_frame)
    app.observers.on_exit.append(publisher.on_exit)
