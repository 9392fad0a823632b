"""Landing: the changes in a worktree become pending edits of the user's tree.

Each change is merged into the live text with the common ancestor, like an agent's write. A worktree
is removed when all its changes have landed or been refused, and the user has accepted or rejected
the landed ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from anyio import to_thread

from acp_nvim.agent.serving.answering import decision_id, wait
from acp_nvim.features.worktrees import steps, words, worktree_git
from acp_nvim.features.worktrees.records import Worktree
from acp_nvim.features.worktrees.steps import Step
from acp_nvim.features.worktrees.worktree_git import Change
from acp_nvim.features.worktrees.worktrees import NAMED, Worktrees
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.checkpoints.store import StoreError, list_names
from acp_nvim.files.writes.file_writer import Refused, refusal_reason
from acp_nvim.render.text import home_path
from acp_nvim.session.questions.decisions import Decision, Option
from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.app import Host

OPTIONS: Final = (
    Option("allow_once", words.OPTION_LAND, "allow_once"),
    Option("reject_once", words.OPTION_LEAVE_BEHIND, "reject_once"),
)


class Landing:
    """Actions that land and remove the worktrees of a host."""

    def __init__(self, host: Host, worktrees: Worktrees) -> None:
        self._host = host
        self._worktrees = worktrees
        self._undecided: dict[str, Worktree] = {}
        """Worktrees with pending landed edits, by id. They are removed once none is pending."""
        self._busy: set[str] = set()
        """Ids of worktrees that are being landed or removed."""

    async def land(self, worktree: Worktree, session: Session) -> None:
        """Land the changes in a worktree as pending edits of a session, and show the review."""
        if self._is_at_work(worktree) or not await self._is_quiet(worktree, words.NOT_LANDED_BUSY):
            return
        if not self._claim(worktree):
            self._host.echo("warn", words.NOT_LANDED.format(reason=words.WHY_IN_USE))
            return
        is_whole = False
        try:
            is_whole = await self._land(worktree, session)
        except StoreError as error:
            self._host.echo("error", words.NOT_LANDED.format(reason=error))
        finally:
            self._unclaim(worktree)
        if is_whole:
            await self._remove_if_done(worktree.id)

    def _is_at_work(self, worktree: Worktree) -> bool:
        """Return whether a worktree is being landed or removed here, and tell the user if so."""
        if worktree.id not in self._busy:
            return False
        self._host.echo("info", words.AT_WORK.format(branch=worktree.branch))
        return True

    def _claim(self, worktree: Worktree) -> bool:
        """Lock a worktree. Return False if it is locked here or by another Neovim."""
        if worktree.id in self._busy or not self._worktrees.claims.try_alone(worktree.id):
            return False
        self._busy.add(worktree.id)
        return True

    def _unclaim(self, worktree: Worktree) -> None:
        self._busy.discard(worktree.id)
        self._worktrees.claims.end_alone(worktree.id)

    def _busy_session(self, worktree: Worktree) -> Session | None:
        """Return a session that works in a worktree or has prompts for it."""
        sessions = (conversation.session for conversation in self._worktrees.sessions(worktree))
        busy = (s for s in sessions if s.is_running or s.own_turn or s.queue)
        return next(busy, None)

    def is_in_use(self, worktree: Worktree) -> bool:
        """Return whether a session is working in a worktree, or another Neovim has one in it."""
        if worktree.id in self._busy or self._busy_session(worktree):
            return True
        claims = self._worktrees.claims
        try:
            return not claims.try_alone(worktree.id)
        finally:
            claims.end_alone(worktree.id)

    async def _is_quiet(self, worktree: Worktree, busy: str) -> bool:
        """Return whether no session is working in a worktree and all its text is saved.

        Otherwise, tell the user why the worktree can be neither landed nor removed. `busy` is the
        message for a session that is still working.
        """
        host, session = self._host, self._busy_session(worktree)
        if session is not None:
            host.echo("warn", busy.format(session=session.n))
            return False
        unsaved = [path for path in await host.nvim.buffers.unsaved() if worktree.contains(path)]
        if unsaved:
            files = list_names(sorted(unsaved), worktree.path, NAMED)
            host.echo("warn", words.NOT_LANDED_UNSAVED.format(files=files))
        return not unsaved

    async def _land(self, worktree: Worktree, session: Session) -> bool:
        """Land all changes that can land, after a question about guarded files.

        Accept the landed edits in the worktree. Record and report which changes have landed. If
        none has, show both versions of the files. Return whether no change is left.
        """
        host = self._host
        await host.workspace.catch_up()
        host.workspace.open(worktree.tree)
        await host.workspace.sync_all()
        env = self._worktrees.env
        result = await to_thread.run_sync(worktree_git.result, worktree, env)
        planned = steps.steps(result.changes, worktree.tree, host.options.files())
        is_unchanged = not planned and bool(self._worktrees.sessions(worktree))
        if is_unchanged and not await to_thread.run_sync(worktree_git.landed, worktree, env):
            is_merged = await to_thread.run_sync(worktree_git.is_merged, worktree, env)
            line = words.MERGED if is_merged else words.NO_CHANGES_YET
            host.echo("info", line.format(branch=worktree.branch))
            return is_merged
        allowed = await self._ask(session, planned)
        done: list[Change] = []
        landed: list[str] = []
        failed: list[Step] = []
        for step in planned:
            why = step.blocked
            if not why and step.questions and allowed is None:
                why = words.WHY_UNANSWERED
            why = why or await self._apply(session, step, allowed is True)
            if why:
                why = why.removesuffix("; try again")
                line = words.NOT_LANDED_FILE.format(file=step.change.path, reason=why)
                session.notice("warning", line)
                host.echo("warn", line)
                failed.append(step)
                continue
            done.append(step.change)
            if host.workspace.files.ledger.get(step.path) is not None:
                landed.append(step.path)
        if done:
            await to_thread.run_sync(worktree_git.record_landed, worktree, result.base, done, env)
            await self._accept_there(worktree, done)
        waiting = [path for path in worktree.waiting if path not in landed] + landed
        worktree = msgspec.structs.replace(worktree, waiting=waiting)
        self._worktrees.records.save(worktree)
        if self._pending(worktree):
            self._watch(worktree)
        self._report(worktree, session, landed, failed)
        if failed and not landed:
            self._compare(worktree, failed)
        return not failed

    def _report(
        self, worktree: Worktree, session: Session, landed: Sequence[str], failed: Sequence[Step]
    ) -> None:
        host = self._host
        if landed:
            listed = list_names(landed, worktree.tree, NAMED)
            tree = home_path(worktree.tree)
            session.notice("info", words.LANDED.format(tree=tree, files=listed))
            if session.status != "closed":
                host.sessions.make_current(session.n)  # `:Acp accept all` means its edits now
            others = [
                other.path for other in self._worktrees.records.all() if other.id != worktree.id
            ]
            host.run("review", {"path": landed[0], "without": others})
        elif self._pending(worktree) and not failed:
            host.echo("info", words.NOTHING_TO_LAND)

    def _compare(self, worktree: Worktree, failed: Iterable[Step]) -> None:
        """Show both versions of the texts that have not landed, in diff mode."""
        files = [
            {"path": step.path, "others": [other(worktree, step.change)]}
            for step in failed
            if step.text is not None and not step.is_guarded
        ]
        if files:
            self._host.screen.push("worktrees_compare", files, True)

    async def _ask(self, session: Session, planned: Sequence[Step]) -> bool | None:
        """Ask about guarded files. Return the answer, or None if the question was dismissed."""
        asked = [step for step in planned if step.questions and not step.blocked]
        if not asked:
            return True
        decision = Decision(
            *(decision_id(), "consent", words.LAND_ALSO, "edit"),
            options=OPTIONS,
            details=[step.line() for step in asked],
        )
        session.ask(decision)
        session.event("AcpNotice", severity="info", title=words.LAND_ALSO)
        option = (await wait(decision)).option
        return None if option is None else option.kind == "allow_once"

    async def _apply(self, session: Session, step: Step, allowed: bool) -> str:
        """Change one file of the user's tree. Return the reason for a failure, or an empty string.

        Unless `allowed`, skip a guarded file, and keep an existing file's mode and line endings.
        """
        if step.is_guarded and not allowed:
            return ""
        try:
            if step.change.before is None:
                await to_thread.run_sync(steps.clear_folder, step.path)
            if step.text is None:
                buffer = self._host.workspace.files.buffers.get(step.path)
                if buffer is not None and buffer.is_modified:
                    raise Refusal("conflict", step.path, words.WHY_UNSAVED_HERE)
                await to_thread.run_sync(steps.copy, step)
            else:
                change_sets = self._host.workspace.change_sets
                if (await change_sets.live_text(step.path)).text != step.text.after:
                    await change_sets.carry_out(session, [step.text], is_known=False)
                if step.ends is not None and allowed:
                    await change_sets.set_ends(step.path, step.ends)
            if step.executable is not None and (allowed or step.change.before is None):
                await to_thread.run_sync(steps.set_executable, step.path, step.executable)
        except (Refusal, Refused) as error:
            return refusal_reason(error)
        return ""

    async def _accept_there(self, worktree: Worktree, done: Iterable[Change]) -> None:
        """Accept the landed edits in the worktree, because they are pending in the user's tree."""
        ledger = self._host.workspace.files.ledger
        paths = [str(Path(worktree.path, change.path)) for change in done]
        entries = [entry for path in paths if (entry := ledger.get(path)) is not None]
        if entries:
            await self._host.workspace.review.files("accept", entries)

    # -- the end ----------------------------------------------------------------------------------

    def _pending(self, worktree: Worktree) -> list[str]:
        """Return the landed files with hunks that the user has neither accepted nor rejected."""
        ledger = self._host.workspace.files.ledger
        return [path for path in worktree.waiting if ledger.get(path) is not None]

    def _watch(self, worktree: Worktree) -> None:
        if not self._undecided:
            self._host.observers.on_frame.append(self.on_frame)
        self._undecided[worktree.id] = worktree

    def _unwatch(self, worktree: Worktree) -> None:
        if self._undecided.pop(worktree.id, None) is not None and not self._undecided:
            self._host.observers.on_frame.remove(self.on_frame)

    def on_frame(self) -> None:
        """Remove idle worktrees whose landed edits have all been accepted or rejected."""
        for worktree in list(self._undecided.values()):
            is_idle = worktree.id not in self._busy and self._busy_session(worktree) is None
            if is_idle and not self._pending(worktree):
                self._unwatch(worktree)
                self._host.tasks.start_soon(self._remove_if_done, worktree.id)

    async def _remove_if_done(self, id: str) -> None:
        """Remove a worktree if it is not in use and no changes are left in it."""
        worktree = self._worktrees.records.get(id)
        if worktree is None or id in self._busy or self._busy_session(worktree) is not None:
            return
        if self._pending(worktree):
            return
        self._unwatch(worktree)
        if not self._claim(worktree):
            self._host.echo("warn", self._stays_message(worktree, words.WHY_IN_USE))
            return
        try:
            await self._remove_unless_more(worktree)
        except StoreError as error:
            self._host.echo("warn", self._stays_message(worktree, error))
        finally:
            self._unclaim(worktree)

    async def _remove_unless_more(self, worktree: Worktree) -> None:
        result = await to_thread.run_sync(worktree_git.result, worktree, self._worktrees.env)
        unsaved = await self._host.nvim.buffers.unsaved()
        if result.changes or any(map(worktree.contains, unsaved)):
            self._host.echo("info", self._stays_message(worktree, words.WHY_MORE_CHANGES))
        else:
            line = await self._worktrees.remove(worktree)
            races = [record.race for record in self._worktrees.records.all()]
            has_others = worktree.race and worktree.race in races
            self._host.echo("info", words.WORKTREE_OF_RACE_REMOVED if has_others else line)

    def _stays_message(self, worktree: Worktree, why: object) -> str:
        return words.WORKTREE_STAYS.format(branch=worktree.branch, reason=why)

    async def on_closed(self, session: Session) -> None:
        """Remove the worktree of a closed session if nothing was changed in it."""
        worktree = self._worktrees.records.of(session.cwd)
        if worktree is None or worktree.waiting or worktree.id in self._busy:
            return
        try:
            result = await to_thread.run_sync(worktree_git.result, worktree, self._worktrees.env)
        except StoreError:
            return  # its directory is no longer a worktree, so it is left alone
        if not result.changes:
            await self._remove_if_done(worktree.id)

    async def drop(self, worktrees: Sequence[Worktree]) -> None:
        """Remove worktrees with everything that has not landed, after a question."""
        host, claimed = self._host, list[Worktree]()
        for worktree in worktrees:
            if self._is_at_work(worktree):
                return
            if not await self._is_quiet(worktree, words.NOT_REMOVED_BUSY):
                return
        try:
            for worktree in worktrees:
                if not self._claim(worktree):
                    host.echo("warn", words.NOT_REMOVED.format(reason=words.WHY_IN_USE))
                    return
                claimed.append(worktree)
            if await self._may_drop(worktrees):
                await self._drop(worktrees)
            else:
                host.echo("info", words.NOTHING_REMOVED)
        except StoreError as error:
            host.echo("warn", words.NOT_REMOVED.format(reason=error))
        finally:
            for worktree in claimed:
                self._unclaim(worktree)

    async def _drop(self, worktrees: Sequence[Worktree]) -> None:
        """Remove worktrees, and report it in one line unless a branch was kept."""
        lines: list[str] = []
        for worktree in worktrees:
            self._unwatch(worktree)
            lines.append(await self._worktrees.remove(worktree))
        is_whole = not any(line.endswith(words.PART_BRANCH_STAYS) for line in lines)
        if len(lines) > 1 and is_whole:
            lines = [words.WORKTREES_REMOVED.format(count=len(lines))]
        for line in lines:
            self._host.echo("info", line)

    async def _may_drop(self, worktrees: Sequence[Worktree]) -> bool:
        """Return whether worktrees may be removed. Ask the user if anything would be lost."""
        paths: list[str] = []
        for worktree in worktrees:
            result = await to_thread.run_sync(worktree_git.result, worktree, self._worktrees.env)
            paths += [str(Path(worktree.path, change.path)) for change in result.changes]
        if not paths:
            return True
        files = list_names(paths, str(Path(worktrees[0].path).parent), NAMED)
        text = words.DROP_WORKTREE if len(worktrees) == 1 else words.DROP_WORKTREES
        question = text.format(branch=worktrees[0].branch, count=len(worktrees), files=files)
        answers = (words.OPTION_REMOVE, words.OPTION_KEEP_WORKTREE)
        return await self._host.choose(question, answers, "worktree") == 0


def other(worktree: Worktree, change: Change) -> dict[str, str]:
    """Return a file of a worktree for the operation `worktrees_compare`."""
    path = str(Path(worktree.path, change.path))
    return {"agent": worktree.racer, "branch": worktree.branch, "path": path}
