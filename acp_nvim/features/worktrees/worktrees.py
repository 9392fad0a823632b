"""Worktrees of the sessions of a host: create one, set it up, name its branch, remove it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.agent.observers import TurnStart
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.remote_agents import covers
from acp_nvim.agent.serving.consent import Consent
from acp_nvim.features.worktrees import setup_command, words, worktree_git
from acp_nvim.features.worktrees.claims import Claims
from acp_nvim.features.worktrees.records import Records, Worktree
from acp_nvim.features.worktrees.setup_command import Setup
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.checkpoints.store import StoreError, list_names
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.protocol.errors import RequestError
from acp_nvim.render.text import home_path
from acp_nvim.session import index
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.app import Host

SLOW_S: Final = 1.0
"""Seconds after which the creation of a worktree is announced."""
NAMED: Final = 5
"""Maximum number of files named in a line."""


class NewWorktree(msgspec.Struct, frozen=True):
    """New worktree, and files in which it differs from the user's tree."""

    worktree: Worktree
    cwd: str
    """Directory of the session: the counterpart of the user's directory in the repository."""
    left: Sequence[str]
    """Files whose changes are not committed or not saved, relative to the top."""
    filtered: int
    """Number of files that have a git filter."""


class Worktrees:
    """Worktrees of a host's sessions."""

    def __init__(self, host: Host) -> None:
        self.records = Records(host.options.data)
        self.claims = Claims(self.records.folder)
        self.env: Mapping[str, str] = agent_environment()
        self._host = host
        self._consent = Consent(
            host.problem, lambda: host.options.data_file("setup.json"), setup_command.TEXTS
        )
        self._setups: dict[int, Setup] = {}
        """Setups that are running or waiting for the user's consent, by session number."""

    def sessions(self, worktree: Worktree) -> list[Conversation]:
        """Return the open sessions in a worktree."""
        conversations = self._host.sessions.conversations.values()
        here = (
            conversation
            for conversation in conversations
            if worktree.contains(conversation.session.cwd)
        )
        return [conversation for conversation in here if conversation.session.status != "closed"]

    # -- a new one --------------------------------------------------------------------------------

    async def make(self, cwd: str, names: Sequence[str | None]) -> NewWorktree:
        """Make a worktree of the repository of a directory, and return it.

        Raise StoreError if that fails or an agent of these names could not reach it, or OSError.
        """
        with self._host.tasks.if_slow(SLOW_S, lambda: self._host.echo("info", words.WORKTREE_SLOW)):
            made = await to_thread.run_sync(self._make, cwd, names)
        unsaved = await self._host.nvim.buffers.unsaved()
        tree = made.worktree.tree
        below = {path[len(tree) + 1 :] for path in unsaved if is_below(path, tree)}
        return msgspec.structs.replace(made, left=sorted({*made.left, *below}))

    def _make(self, cwd: str, names: Sequence[str | None]) -> NewWorktree:
        """Make a worktree with its branch and its record. A failure leaves none of them."""
        cwd = os.path.realpath(cwd)
        repository, commit = worktree_git.find(cwd, self.env)
        tree = os.path.realpath(repository.top)
        place = self._folder(tree)
        self._check_reach(place, [self._host.sessions.agent_of(name) for name in names])
        place.mkdir(parents=True, exist_ok=True)
        place = Path(os.path.realpath(place))
        id = self.records.reserve(Path(tree).name or "root", place)
        path = str(place / id)
        try:
            branch, filtered = worktree_git.add(repository, commit, path, "new", self.env)
            try:
                worktree = Worktree(id, path, tree, branch, commit)
                self.records.save(worktree)
                directory = Path(path, os.path.relpath(cwd, tree))
                directory.mkdir(parents=True, exist_ok=True)
                left = worktree_git.left_behind(repository, commit, self.env)
            except BaseException:
                worktree_git.discard(repository, commit, path, branch, self.env)
                raise
        except BaseException:
            self.records.forget(id)
            raise
        left = [name for name in left if not is_below(str(Path(tree, name)), str(place))]
        return NewWorktree(worktree, os.path.normpath(directory), left, filtered)

    def _folder(self, tree: str) -> Path:
        """Return the directory for worktrees of the repository at `tree`. Raise OSError."""
        option = self._host.settings().worktrees.dir
        place = Path(tree, Path(option).expanduser()) if option else self.records.folder()
        if place is None:
            raise OSError("stdpath('data') is not known")
        return place

    def _check_reach(self, place: Path, agents: Iterable[str]) -> None:
        """Raise StoreError if one of these agents is remote and cannot reach a directory."""
        for agent in agents:
            spec = self._host.options.spec(agent)
            if spec is not None and not covers(agent, spec, str(place)):
                reason = wording.WHY_NOT_COVERED.format(agent=agent, folder=home_path(str(place)))
                raise StoreError(reason)

    def begin(self, session: Session, made: NewWorktree, race: int = 0) -> None:
        """Record the session of a new worktree, describe it in the chat, and begin its setup."""
        worktree = made.worktree
        described = msgspec.structs.replace(
            worktree, agent=session.agent, preset=session.preset or "", race=race
        )
        self.records.save(described)
        session.notice("info", words.WORKTREE_MADE.format(path=home_path(worktree.path)))
        if left := list_left(made):
            session.notice("warning", words.WORKTREE_WITHOUT.format(files=left))
        if made.filtered:
            session.notice("warning", words.WORKTREE_FILTERED.format(count=made.filtered))
        command = self._host.settings().worktrees.setup
        if command:
            self._set_up(session, worktree, command)

    def show(self, session: Session) -> None:
        """Set the worktree of a session whose directory is in one. Lock it for an open session."""
        worktree = self.records.of(session.cwd)
        if worktree is not None:
            session.set_worktree({"path": worktree.path, "branch": worktree.branch})
            if session.status != "closed":
                self.claims.share(worktree.id)

    # -- the setup --------------------------------------------------------------------------------

    def _set_up(self, session: Session, worktree: Worktree, command: str | Sequence[str]) -> None:
        """Run the setup command if the user allows it, now or by an earlier answer."""
        host = self._host
        kill_s = lambda: host.settings().timeouts.kill_s  # noqa: E731
        setup = self._setups[session.n] = Setup(session, host.reaper, self.env, kill_s)

        def on_answer(allowed: bool | None) -> None:
            if allowed:
                host.tasks.start_soon(
                    setup.run, command, partial(self._exclude_changes, session, worktree)
                )
            else:
                setup.over.set()

        subject = setup_command.question(command, worktree.tree, session.cwd)
        known = self._consent.answer(subject)
        if known is None:
            self._consent.ask(session, subject, on_answer)
        else:
            on_answer(known)

    async def _exclude_changes(self, session: Session, worktree: Worktree) -> None:
        """Record changes by the setup as landed, which excludes them from the result."""

        def record() -> None:
            result = worktree_git.result(worktree, self.env)
            worktree_git.record_landed(worktree, result.base, result.changes, self.env)

        try:
            await to_thread.run_sync(record)
        except StoreError as error:
            session.notice("warning", words.SETUP_NOT_LEFT_OUT.format(reason=error))

    def on_left(self, session: Session) -> None:
        """End the setup of a closed session, and release its lock of the worktree."""
        if session.status != "closed":
            return
        setup = self._setups.pop(session.n, None)
        if setup is not None:
            setup.stop()
            setup.over.set()
        worktree = self.records.of(session.cwd)
        if worktree is not None and not self.sessions(worktree):
            self.claims.release(worktree.id)

    def stop_setup(self, session: Session) -> bool:
        """End the running setup of a session. Return False if none is running."""
        setup = self._setups.get(session.n)
        return setup is not None and setup.stop()

    # -- the first prompt -------------------------------------------------------------------------

    async def on_turn_starting(self, turn: TurnStart) -> None:
        """Wait for the setup, name the branch, and attach the worktree's files."""
        session = turn.session
        setup = self._setups.get(session.n)
        if setup is not None:
            await setup.over.wait()
            self._setups.pop(session.n, None)
        worktree = self.records.of(session.cwd)
        if worktree is None:
            return
        if not worktree.title:
            await self._name_branch(session, worktree, turn.prompt.text or turn.prompt.label)
        turn.prompt.move_files(partial(_counterpart, worktree))

    async def _name_branch(self, session: Session, worktree: Worktree, text: str) -> None:
        title = index.title(text)
        try:
            branch = await to_thread.run_sync(worktree_git.rename_branch, worktree, title, self.env)
        except StoreError as error:
            session.notice(
                "warning", words.BRANCH_NOT_NAMED.format(branch=worktree.branch, reason=error)
            )
            branch = worktree.branch
        else:
            session.notice("info", words.WORKTREE_BRANCH.format(branch=branch))
        self.records.save(msgspec.structs.replace(worktree, branch=branch, title=title or branch))
        self.show(session)

    # -- the end ----------------------------------------------------------------------------------

    async def remove(self, worktree: Worktree) -> str:
        """Close the sessions of a worktree, and remove it with all its files. Raise StoreError.

        Edits that are pending in it are accepted first. Chats of its sessions report the removal.
        Return the message about it.
        """
        host = self._host
        for conversation in self.sessions(worktree):
            try:
                await conversation.close()
            except RequestError as error:
                host.problem(str(error))
            host.sessions.leave(conversation.session.n)
        ledger, review = host.workspace.files.ledger, host.workspace.review
        pending = [entry for entry in ledger.files() if worktree.contains(entry.path)]
        if pending:
            await review.files("accept", pending)
        is_whole = await to_thread.run_sync(worktree_git.remove, worktree, self.env)
        self.records.forget(worktree.id)
        self.claims.release(worktree.id)
        host.screen.push("worktree_gone", worktree.path)
        rest = "" if is_whole else words.PART_BRANCH_STAYS
        line = words.WORKTREE_REMOVED.format(branch=worktree.branch) + rest
        for conversation in host.sessions.conversations.values():
            session = conversation.session
            # A closed session may be from an earlier worktree at the same path.
            if worktree.contains(session.cwd) and session.worktree is not None:
                session.set_worktree(None)
                session.notice("info", line)
        return line


def list_left(made: NewWorktree) -> str:
    """Return the uncommitted files, which a new worktree lacks, in one line."""
    tree = made.worktree.tree
    return list_names([str(Path(tree, name)) for name in made.left], tree, NAMED)


def _counterpart(worktree: Worktree, path: str) -> str:
    """Return the file of the worktree that corresponds to a file of the user's tree.

    A path without a counterpart is returned unchanged.
    """
    if not is_below(path, worktree.tree) or worktree.contains(path):
        return path
    counterpart = Path(worktree.path, os.path.relpath(path, worktree.tree))
    return str(counterpart) if counterpart.exists() else path
