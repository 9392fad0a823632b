"""History of this host: pass changes to the writer thread, run queries in worker threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.agent.settings import HistorySettings
from acp_nvim.agent.wire.redact import variants
from acp_nvim.edits.text import Text, size
from acp_nvim.features.history import words
from acp_nvim.files.ports import AgentSession, PromptName
from acp_nvim.host.transcripts import UnreadableError
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.history.changes import Change
    from acp_nvim.history.hiding import SecretFilter
    from acp_nvim.history.recorder import Recorder
    from acp_nvim.history.writer import Callbacks, Writer

GAP_S: Final = 0.3
"""Seconds from a change to its transfer to the writer."""
PROMPT_DELAY_S: Final = 0.01
"""Seconds from a prompt to its transfer to the writer. The prompt has been sent by then."""
QUERY_WAIT_S: Final = 2.0
"""Seconds for which a query waits for the writer."""
MAX_RECORDED_SIZE: Final = 16 << 20
"""Largest text, in bytes of memory, whose authors are recorded."""
EXIT_WAIT_S: Final = 10.0
"""Seconds for which the exit of the host waits for the writer, unless Neovim ends it earlier."""


class History:
    """Session transcripts of this host in the database.

    Modules of `acp_nvim.history` are imported on first use, so as not to delay the first prompt.
    """

    def __init__(
        self,
        sessions: Callable[[], Iterable[Session]],
        instance_key: Callable[[], str],
        secrets: Callable[[], Sequence[str]],
        notify: Callable[[str], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """`instance_key` returns the key of this Neovim, `secrets` the values that are not stored.

        `notify` shows messages to the user. Nothing is stored before `configure`.
        """
        self._sessions = sessions
        self._instance_key = instance_key
        self._secrets = secrets
        self._notify = notify
        self._loop = loop
        self._settings = HistorySettings(enabled=False)
        self._path: Path | None = None
        self._follow_arguments: list[tuple[Session, int | None, int]] = []
        """Arguments of the calls to `follow` from before the recorder was created."""
        self._recorder: Recorder | None = None
        self._writer: Writer | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._prompts: list[tuple[str, str]] = []
        """Prompts, with their directories, that precede the creation of the recorder."""
        self._known_secrets: Sequence[str] = ()
        self._secret_filter: SecretFilter | None = None

    @property
    def enabled(self) -> bool:
        """Return whether transcripts are stored."""
        return self._settings.enabled and self._path is not None

    def uid(self, session: Session) -> str:
        """Return a session name that is unique across all Neovims."""
        return f"{self._instance_key()}.{session.n}"

    def configure(self, settings: HistorySettings, path: Path | None) -> None:
        """Set the options `history.*` and the path of the database."""
        is_enabled_now = settings.enabled and not self._settings.enabled
        self._settings, self._path = settings, self._path or path
        if is_enabled_now and any(session.transcript.entries for session in self._sessions()):
            self._get_recorder().skip_entries()

    def follow(self, session: Session, record: int | None, recorded: int) -> None:
        """Append the entries of a session to a record, by default that of its agent's session.

        The record already has the first `recorded` entries.
        """
        if self._recorder is None:
            self._follow_arguments.append((session, record, recorded))
        else:
            self._recorder.follow(session, record, recorded)

    def ignore(self, session: Session) -> None:
        """Do not record a session, because it shows a stored transcript."""
        self._get_recorder().ignore(session)

    def _get_recorder(self) -> Recorder:
        """Return the recorder. Create it and the writer first if necessary."""
        if self._recorder is None:
            from acp_nvim.history.recorder import Recorder
            from acp_nvim.history.writer import Writer

            assert self._path is not None
            number = int.from_bytes(os.urandom(7))
            self._writer = Writer(self._path, number, self._callbacks())
            self._recorder = Recorder(self._sessions, self.uid, self._write)
            for followed in self._follow_arguments:
                self._recorder.follow(*followed)
            self._follow_arguments.clear()
        return self._recorder

    def _callbacks(self) -> Callbacks:
        from acp_nvim.history.hiding import SecretFilter
        from acp_nvim.history.writer import Callbacks

        call = self._loop.call_soon_threadsafe
        return Callbacks(
            secret_filter=lambda: self._secret_filter or SecretFilter(),
            limits=lambda: (self._settings.days, self._settings.bytes),
            notify=lambda line: call(self._notify, line),
            request_all=lambda generation: call(self.rewrite_all, generation),
        )

    # -- writing ----------------------------------------------------------------------------------

    def on_frame(self) -> None:
        """Schedule the transfer of changes."""
        if self._timer is None and self.enabled and self._may_begin():
            self._timer = self._loop.call_later(GAP_S, self._flush)

    def _may_begin(self) -> bool:
        """Return whether a prompt was sent or a session was loaded.

        Before that, the imports for recording would delay the first prompt.
        """
        if self._recorder is not None:
            return True
        return any(session.turn or session.opening_id for session in self._sessions())

    def on_prompt_sent(self, session: Session, prompt: Prompt) -> None:
        """Record the prompt, and schedule an early transfer to the writer."""
        if not self.enabled:
            return
        self._prompts.append((prompt.text, session.cwd))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(PROMPT_DELAY_S, self._flush)

    def on_write(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        agents_text: Text,
        after: Text,
    ) -> None:
        """Record the author of a write. Texts larger than `MAX_RECORDED_SIZE` are left out."""
        own = self._own_session(session)
        if own is not None and size(after) <= MAX_RECORDED_SIZE:
            from acp_nvim.history.recorder import file_write

            texts = before, agents_text, after
            self._get_recorder().on_write(file_write(own.root, path, texts))
            self.on_frame()

    def on_move(self, session: AgentSession, old: str, new: str) -> None:
        own = self._own_session(session)
        if own is not None:
            from acp_nvim.history.recorder import file_move

            self._get_recorder().on_write(file_move(own.root, old, new))
            self.on_frame()

    def prompt(self, session: AgentSession) -> PromptName | None:
        own = self._own_session(session)
        if own is None:
            return None
        from acp_nvim.history.recorder import prompt_of

        root = own.root
        return PromptName(self.uid(root), root.agent, root.id, *prompt_of(root))

    def on_adopt(self, prompt: PromptName, path: str, before: Text | None, after: Text) -> None:
        if self.enabled and size(after) <= MAX_RECORDED_SIZE:
            from acp_nvim.history.recorder import recovered_write

            session = prompt.session, prompt.agent, prompt.id
            sent_prompt = prompt.sent, prompt.number, prompt.words
            self._get_recorder().on_recovered_write(
                recovered_write(session, sent_prompt, path, before, after)
            )
            self.on_frame()

    def _own_session(self, session: AgentSession) -> Session | None:
        """Return the session if it belongs to this Neovim and the history is enabled."""
        own = self._sessions() if self.enabled else ()
        return next((entry for entry in own if entry.n == session.n), None)

    def _flush(self) -> None:
        self._timer = None
        if not self.enabled:
            return
        seconds = self._pass_changes()
        if seconds is not None and self._timer is None:
            self._timer = self._loop.call_later(seconds, self._flush)

    def _pass_changes(self, *, is_final: bool = False) -> float | None:
        recorder = self._get_recorder()
        for prompt in self._prompts:
            recorder.on_prompt(*prompt)
        self._prompts.clear()
        return recorder.flush(is_final=is_final)

    def _write(self, generation: int, changes: Sequence[Change]) -> None:
        from acp_nvim.history.hiding import SecretFilter

        secrets = self._secrets()
        if secrets != self._known_secrets:
            self._known_secrets, self._secret_filter = secrets, SecretFilter(variants(secrets))
        if self._writer is not None:
            self._writer.write(generation, changes)

    def rewrite_all(self, generation: int) -> None:
        """Write all open sessions again, after the database may have lost some of their entries."""
        self._get_recorder().record_again(generation)
        self.on_frame()

    def delete(self, record: int, uid: str | None) -> None:
        """Delete a session. If it is open here, it continues in a new record."""
        self._get_recorder().delete(record, uid)
        self._flush_now()

    def _flush_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._flush()

    async def on_exit(self) -> None:
        """Pass the remaining changes to the writer."""
        self.close()

    async def on_processes_ended(self) -> None:
        """Wait for the writer, as the last step of the exit."""
        await to_thread.run_sync(self.wait_written)

    def close(self) -> None:
        """Pass the remaining changes to the writer. The caller must then await `wait_written`."""
        if self._timer is not None:
            self._timer.cancel()
        if self.enabled and (self._recorder is not None or self._may_begin()):
            self._pass_changes(is_final=True)
        self._settings = HistorySettings(enabled=False)

    @property
    def is_scheduled(self) -> bool:
        """Return whether a transfer of changes is scheduled."""
        return self._timer is not None

    def wait_idle(self) -> None:
        """Wait, in a thread, until the writer has written everything."""
        if self._writer is not None and self._writer.has_started:
            self._writer.wait_written(QUERY_WAIT_S)

    def wait_written(self) -> None:
        """Wait until the writer thread has ended."""
        if self._writer is not None:
            self._writer.close(EXIT_WAIT_S)

    # -- reading ----------------------------------------------------------------------------------

    async def read(self, name: str, *args: Any) -> Any:
        """Run a function of `history.search`, after all changes so far are written.

        Return None if there is no history. Raise `UnreadableError`.
        """
        if self._path is None:
            return None
        if self.enabled and self._may_begin():
            self._flush_now()
        return await to_thread.run_sync(self._read, self._path, name, args)

    def _read(self, path: Path, name: str, args: Sequence[Any]) -> Any:
        """Run a query, in any thread. Raise UnreadableError.

        A database that cannot be written is opened read-only. A damaged one is moved aside.
        """
        self.wait_idle()
        if not path.exists():
            return None
        import sqlite3

        from acp_nvim.history.database import (
            NewerVersionError,
            forbids_writes,
            identity_of,
            is_damage,
        )

        identity = identity_of(path)
        try:
            return self._ask(path, name, args)
        except NewerVersionError as error:
            raise UnreadableError(wording.HISTORY_NEWER) from error
        except (sqlite3.Error, OSError) as error:
            if forbids_writes(error):
                return self._ask_read_only(path, name, args, error)
            if not isinstance(error, sqlite3.Error) or not is_damage(error):
                raise UnreadableError(words.HISTORY_UNREADABLE.format(reason=error)) from error
        return self._ask_new(path, identity, name, args)

    def _ask_read_only(self, path: Path, name: str, args: Sequence[Any], cause: Exception) -> Any:
        """Run a query on a database that cannot be written. Raise UnreadableError."""
        import sqlite3

        from acp_nvim.history import search
        from acp_nvim.history.database import Database, NewerVersionError

        try:
            with closing(Database(path, writes=False)) as database:
                return None if database.is_empty else getattr(search, name)(database, *args)
        except NewerVersionError as error:
            raise UnreadableError(wording.HISTORY_NEWER) from error
        except sqlite3.Error:
            raise UnreadableError(words.HISTORY_UNREADABLE.format(reason=cause)) from cause

    def _ask_new(self, path: Path, identity: Any, name: str, args: Sequence[Any]) -> Any:
        """Move a damaged database aside and run the query on a new one.

        The writer detects the damage by itself.
        """
        import sqlite3

        from acp_nvim.history.database import set_aside

        try:
            aside = set_aside(path, identity)
            if aside is not None:
                line = wording.HISTORY_DAMAGED.format(path=aside)
                self._loop.call_soon_threadsafe(self._notify, line)
            return self._ask(path, name, args)
        except (sqlite3.Error, OSError) as error:
            raise UnreadableError(words.HISTORY_UNREADABLE.format(reason=error)) from error

    def _ask(self, path: Path, name: str, args: Sequence[Any]) -> Any:
        from acp_nvim.history import search
        from acp_nvim.history.database import Database

        with closing(Database(path)) as database:
            return getattr(search, name)(database, *args)
