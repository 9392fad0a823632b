"""Race: one prompt for several agents or presets, each in its own worktree."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.text import from_lines, rows
from acp_nvim.features.worktrees import parts, steps, words, worktree_git
from acp_nvim.features.worktrees.landing import other
from acp_nvim.features.worktrees.records import Worktree
from acp_nvim.features.worktrees.verbs import session_of
from acp_nvim.features.worktrees.worktrees import list_left
from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.checkpoints.store import StoreError
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.host.prompting import is_empty, prompt_of, submit
from acp_nvim.session.session import Session
from acp_nvim.verbs import Args, verb

if TYPE_CHECKING:
    from acp_nvim.app import Host


Compare = Callable[[Sequence[str], Sequence[str]], list[Hunk]]
"""Function that returns the hunks between the lines of two texts."""


@verb("race")
async def race(host: Host, args: Args) -> None:
    """Send a prompt to new sessions of several agents or presets, each in a worktree."""
    worktrees, cwd = parts(host)[0], str(args["cwd"])
    if is_empty(prompt_of(host, args)):
        host.echo("info", wording.PROMPT_EMPTY)
        return
    began = int(time.time())
    current, racers, left = host.sessions.conversation(None), list[Session](), ""
    for name in args["names"]:
        try:
            made = await worktrees.make(cwd, args["names"])
        except (StoreError, OSError) as error:
            host.echo("error", words.NO_WORKTREE_MADE.format(reason=error))
            break
        conversation = host.sessions.new_named(made.cwd, str(name))
        host.session_list.work_in(cwd)
        worktrees.begin(conversation.session, made, began)
        submit(host, conversation, prompt_of(host, args))
        racers.append(conversation.session)
        left = list_left(made)
    else:
        line = words.RACING_WITHOUT if left else words.RACING
        names = ", ".join(args["names"])
        host.echo("warn" if left else "info", line.format(names=names, files=left))
    if current is not None and current.session.status not in ("closed", "failed"):
        host.sessions.make_current(current.session.n)  # the user sees its chat, not a racer's
    if racers:
        _watch(host, racers)


def _watch(host: Host, racers: Sequence[Session]) -> None:
    """Report the results when no racer works any more."""

    def on_frame() -> None:
        if not any(racer.is_running or racer.own_turn or racer.queue for racer in racers):
            host.observers.on_frame.remove(on_frame)
            host.tasks.start_soon(_report, host, racers)

    host.observers.on_frame.append(on_frame)


async def _report(host: Host, racers: Sequence[Session]) -> None:
    """Tell the user what each racer has done."""
    worktrees, results, changed = parts(host)[0], list[str](), 0
    for racer in racers:
        worktree = worktrees.records.of(racer.cwd)
        if worktree is None:
            continue
        try:
            result = await to_thread.run_sync(worktree_git.result, worktree, worktrees.env)
        except StoreError:
            continue  # its directory is no longer a worktree
        count = len(result.changes)
        changed += count
        results.append(f"{worktree.racer} {_outcome(racer, count)}")
    if results:
        line = words.RACE_OVER if changed else words.RACE_OVER_WITHOUT_CHANGES
        host.echo("info", line.format(results=", ".join(results)))


def _outcome(racer: Session, count: int) -> str:
    files = words.PART_FILE if count == 1 else words.PART_FILES.format(count=count)
    if racer.error is None and racer.status != "failed":
        return files if count else words.PART_NO_CHANGES
    return words.PART_FAILED_WITH.format(files=files) if count else words.PART_FAILED


@verb("race_compare")
async def compare(host: Host, args: Args) -> None:
    """Show the changed texts of the last race beside the user's, in diff mode."""
    files: dict[str, list[dict[str, str]]] = {}
    racers = _last(host, str(args["cwd"]))
    for worktree in racers:
        try:
            result = await to_thread.run_sync(worktree_git.result, worktree, parts(host)[0].env)
        except StoreError as error:
            host.echo("warn", words.WORKTREE_STAYS.format(branch=worktree.branch, reason=error))
            continue
        for step in steps.steps(result.changes, worktree.tree, host.options.files()):
            if step.text is not None:
                files.setdefault(step.path, []).append(other(worktree, step.change))
    if files:
        listed = [{"path": path, "others": others} for path, others in sorted(files.items())]
        host.screen.push("worktrees_compare", listed)
    elif not racers:
        host.echo("info", words.NOTHING_TO_COMPARE)
    else:
        is_over = not any(map(parts(host)[1].is_in_use, racers))
        host.echo("info", words.RACE_ENDED_WITHOUT_CHANGES if is_over else words.RACE_UNCHANGED)


@verb("race_take")
async def take(host: Host, args: Args) -> None:
    """Merge hunks of a file in a worktree into the user's file, as pending edits.

    The hunks are in the lines `first` to `last` (1-based) of the worktree's file.
    """
    worktrees = parts(host)[0]
    worktree = worktrees.records.of(str(args["other"]))
    if worktree is None:
        host.echo("info", words.WORKTREE_NO_LONGER_EXISTS)
        return
    path, first, last = str(args["path"]), int(args["first"]) - 1, int(args["last"])
    try:
        result = await to_thread.run_sync(worktree_git.result, worktree, worktrees.env)
        planned = steps.steps(result.changes, worktree.tree, host.options.files())
        step = next((step for step in planned if step.path == path), None)
        change = None if step is None or step.is_guarded else step.text
        if change is None:
            host.echo("info", words.NOT_BY_HUNK)
            return
        host.workspace.open(worktree.tree)
        await _take(host, session_of(host, worktree), change, first, last)
    except (StoreError, Refusal) as error:
        host.echo("warn", words.NOT_TAKEN.format(reason=error))


async def _take(host: Host, session: Session, change: FileChange, first: int, last: int) -> None:
    """Merge the hunks of rows `first` to `last`.

    If the user has changed these hunks, replace only the rows themselves.
    """
    change_sets = host.workspace.change_sets
    try:
        wanted = partial_change(change, diff, first, last)
        await change_sets.carry_out(session, [wanted], is_known=False)
    except Refusal as error:
        live = (await change_sets.live_text(change.path)).text
        if error.reason not in ("conflict", "failed") or live is None or change.after is None:
            raise
        from_live = msgspec.structs.replace(change, before=live)
        wanted = partial_change(from_live, line_hunks, first, last)
        await change_sets.carry_out(session, [wanted], is_known=False)


def partial_change(change: FileChange, compare: Compare, first: int, last: int) -> FileChange:
    """Return the part of a change that touches these rows of the text after it."""
    before, after = change.before, change.after
    if before is None or after is None:
        return change
    base = rows(before)
    hunks = compare(base, rows(after))
    chosen = [hunk for hunk in hunks if _touches(hunk, first, last)]
    if chosen == hunks:
        return change
    return msgspec.structs.replace(change, after=from_lines(apply(base, chosen), before.eol))


def line_hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Return the hunks of a diff. A hunk that keeps the number of lines is split into lines."""
    hunks: list[Hunk] = []
    for hunk in diff(old, new):
        if hunk.end - hunk.start != len(hunk.lines):
            hunks.append(hunk)
            continue
        for at, line in enumerate(hunk.lines):
            row = hunk.start + at
            hunks.append(Hunk(row, row + 1, (line,), hunk.new_start + at))
    return hunks


def _touches(hunk: Hunk, first: int, last: int) -> bool:
    """Return whether a hunk touches rows of the new text. A removal touches both neighbours."""
    if hunk.lines:
        return hunk.new_start < last and hunk.new_end > first
    return first <= hunk.new_start <= last


@verb("race_end")
async def end(host: Host, args: Args) -> None:
    """Remove the worktrees of the last race and all changes that the user did not take."""
    left = _last(host, str(args["cwd"]))
    if left:
        await parts(host)[1].drop(left)
    else:
        host.echo("info", words.NOTHING_TO_COMPARE)


def _last(host: Host, cwd: str) -> list[Worktree]:
    """Return the worktrees of the last race in the repository of a directory."""
    tree = roots.root_of(cwd)
    records = [
        record for record in parts(host)[0].records.all() if record.tree == tree and record.race
    ]
    last = max((worktree.race for worktree in records), default=0)
    return [worktree for worktree in records if worktree.race == last]
