"""Verbs for pending edits and remarks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from acp_nvim import wording
from acp_nvim.agent.prompts.comments import comment_from
from acp_nvim.app import Host
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.features.review import listed_edits, words
from acp_nvim.files.bytes.file_format import clean
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.checkpoints.store import list_names
from acp_nvim.files.review.review import Verdict
from acp_nvim.nvim.notices import MAX_LINES
from acp_nvim.verbs import Args, verb


def _real_path(host: Host, args: Args) -> str:
    """Return the real path of a file.

    The path of a pending file is returned unchanged, even if it has become a link.
    """
    path = str(args["path"])
    return path if host.workspace.files.ledger.get(path) else os.path.realpath(path)


@verb("edited")
@verb("saved")
@verb("leaving")
def handled_on_arrival(host: Host, args: Args) -> None:
    """Do nothing. `buffer_events` has handled these verbs on arrival."""


@verb("opened")
async def opened(host: Host, args: Args) -> None:
    """Show the pending edits of a file in its new buffer, and watch the buffer."""
    path, live = str(args["path"]), host.workspace.live
    async with live.hold(path):
        await live.sync(path)
    host.workspace.files.pending_view.show(path)


@verb("disk_changed")
async def disk_changed(host: Host, args: Args) -> None:
    """Check a file that changed on disk during a turn. A save of its buffer waits for this."""
    path, same, lines = str(args["path"]), None, args.get("lines")
    shown = None if lines is None else clean(Text(tuple(lines), bool(args["eol"])))
    try:
        same = await host.workspace.check_changed(path, shown)
    finally:
        await host.nvim.bridge.call("acp.buffers.disk_changes", "on_checked", path, same)


@verb("refresh")
async def refresh(host: Host, args: Args) -> None:
    """Look for changes, after Neovim has gained focus, a command has run or a file was saved."""
    await host.workspace.refresh([c.session for c in host.sessions.conversations.values()])


# -- decisions ------------------------------------------------------------------------------------


@verb("accept")
async def accept(host: Host, args: Args) -> None:
    """Accept a hunk, all hunks of a file, or all."""
    async with host.workspace.deciding():
        await _decide(host, args, "accept")


@verb("reject")
async def reject(host: Host, args: Args) -> None:
    """Reject a hunk, all hunks of a file, or all: restore the lines of the base."""
    async with host.workspace.deciding():
        await _decide(host, args, "reject")


async def _decide(host: Host, args: Args, verdict: Verdict) -> None:
    review = host.workspace.review
    if args.get("scope", "hunk") == "hunk":
        row, tick = int(args.get("line", 1)) - 1, args.get("tick")
        notes = await review.hunk(verdict, _real_path(host, args), row, tick)
    else:
        notes = await _decide_files(host, args, verdict)
        place = review.next_hunk(str(args.get("path", "")), 0)
        host.screen.push("next_hunk", *(place or ()))
    host.nvim.notices.show_lines(notes)


async def _decide_files(host: Host, args: Args, verdict: Verdict) -> list[str]:
    """Accept or reject all hunks of a file, or of all files. Return messages for the user.

    Before all files are rejected, ask about those that the agent has not named.
    """
    workspace = host.workspace
    await workspace.catch_up(running=verdict == "reject")  # do not accept edits not yet shown
    await workspace.persistence.adopt_writes()
    entries, left = _entries(host, args), 0
    if verdict == "reject" and args["scope"] == "all":
        entries = await _confirm_reject(host, args)
        left = len(_entries(host, args)) - len(entries)
    if left and not entries:
        return [words.NOT_REJECTED]
    done = _decided_message(verdict, entries)
    done += words.PART_LEFT_PENDING.format(count=left) if left else ""
    if others := _other_sessions_files(host, args):
        files = Path(others[0].path).name if len(others) == 1 else f"{len(others)} files"
        done = done if entries else words.NO_EDITS_OF_SESSION
        done += words.PART_OF_OTHERS.format(files=files)
    return await workspace.review.files(verdict, entries) or [done]


def _entries(host: Host, args: Args) -> Sequence[Pending]:
    """Return the named file, or all files of the session."""
    if args["scope"] != "file":
        return host.workspace.review.in_scope(args.get("session") or host.sessions.current)
    entry = host.workspace.files.ledger.get(_real_path(host, args))
    return [entry] if entry else []


def _other_sessions_files(host: Host, args: Args) -> list[Pending]:
    """Return the files that `all` leaves pending because other sessions have changed them."""
    if args["scope"] == "file":
        return []
    decided = {entry.path for entry in _entries(host, args)}
    files = host.workspace.files.ledger.files()
    return [entry for entry in files if entry.path not in decided]


async def _confirm_reject(host: Host, args: Args) -> list[Pending]:
    """Return the files that the user wants to reject.

    One question lists the files that the agent has not named.
    """
    spared, agreed = set[str](), set[str]()
    while True:
        entries = _entries(host, args)
        unnamed = (entry.path for entry in entries if not entry.is_named)
        undecided = sorted(path for path in unnamed if path not in spared | agreed)
        if not undecided:
            return [entry for entry in entries if entry.path not in spared]
        conversation = host.sessions.conversation(args.get("session") or None)
        cwd = conversation.session.cwd if conversation is not None else os.sep
        answers = (words.OPTION_REJECT_TOO, words.OPTION_LEAVE_PENDING)
        question = wording.UNNAMED.format(files=list_names(undecided, cwd, MAX_LINES))
        answer = await host.choose(question, answers, "reject")
        if answer is None:
            return []
        (spared if answer else agreed).update(undecided)


def _decided_message(verdict: Verdict, entries: Sequence[Pending]) -> str:
    """Return a message with the numbers of accepted or rejected hunks and files."""
    if not entries:
        return wording.NO_EDITS
    hunks = sum(max(len(entry.hunks), 1) for entry in entries)
    count = f"{hunks} hunk{'' if hunks == 1 else 's'}"
    files = f"{len(entries)} files" if len(entries) > 1 else Path(entries[0].path).name
    return words.DECIDED.format(done=f"{verdict}ed".capitalize(), hunks=count, files=files)


@verb("unreject")
async def unreject(host: Host, args: Args) -> None:
    """Undo the last reject."""
    async with host.workspace.deciding():
        paths = host.workspace.files.ledger.unreject_paths()
        names = ", ".join(Path(path).name for path in paths)
        notes = await host.workspace.review.unreject()
    host.nvim.notices.show_lines(notes or [words.UNREJECTED.format(files=names)])


@verb("base_written")
def base_written(host: Host, args: Args) -> None:
    """Replace the base of a file after the user wrote it in the review.

    Hunks whose lines the base now has are accepted.
    """
    path = _real_path(host, args)
    text = clean(Text(tuple(args.get("lines") or [""]), bool(args.get("eol", True))))
    host.workspace.files.ledger.set_base(path, text)
    host.workspace.files.pending_view.refresh(path)


# -- views ---------------------------------------------------------------------------------------


@verb("workspace")
def workspace(host: Host, args: Args) -> None:
    """Open the workspace of a file that the user edits.

    It shows edits left there by another Neovim.
    """
    host.workspace.open(str(args["root"]), str(args.get("path") or ""))


@verb("journal_changed")
async def journal_changed(host: Host, args: Args) -> None:
    """Read a journal that this or another Neovim has changed."""
    await host.workspace.persistence.exchange(only_if_news=True)


@verb("parked")
async def parked(host: Host, args: Args) -> None:
    """Put the parked edits, which are not in their files, into the quickfix list."""
    await host.workspace.sync_all()
    by_file = host.workspace.files.ledger.parked.all().values()
    items = [
        item for edits in by_file for edit in edits for item in listed_edits.parked_items(edit)
    ]
    if items:
        host.screen.push("quickfix", items, words.PARKED_TITLE)
    else:
        host.echo("info", words.NOTHING_PARKED)


@verb("drop_parked")
def drop_parked(host: Host, args: Args) -> None:
    """Drop the parked edits of a file, or of all files."""
    parked_edits = host.workspace.files.ledger.parked
    paths = [_real_path(host, args)] if args.get("path") else list(parked_edits)
    paths = [path for path in paths if path in parked_edits]
    if not paths:
        host.echo("info", words.NOTHING_PARKED)
        return
    host.workspace.drop_parked(paths)
    files = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"
    host.echo("info", words.PARKED_DROPPED.format(files=files))


@verb("edits")
async def edits(host: Host, args: Args) -> None:
    """Put the pending hunks of all files into the quickfix list."""
    entries, titles = await _synchronized_edits(host), host.observers.titles
    items = [item for entry in entries for item in listed_edits.quickfix(entry, titles(entry))]
    host.screen.push("quickfix", items, words.EDITS_TITLE)


@verb("review")
async def review(host: Host, args: Args) -> None:
    """Open the review of pending edits, with the requested file first.

    With `permission`, show the edits that this permission request proposes instead. If nothing is
    pending, show the proposals of the oldest request. Leave out files below the directories
    `without`.
    """
    if args.get("permission") is not None:
        host.run("propose", {"id": args["permission"]})
        return
    without = args.get("without") or ()
    entries = [
        entry
        for entry in await _synchronized_edits(host)
        if not any(is_below(entry.path, directory) for directory in without)
    ]
    wanted = _real_path(host, args) if args.get("path") else None
    if wanted is not None and all(entry.path != wanted for entry in entries):
        host.echo("info", wording.NOTHING_PENDING_IN.format(file=Path(wanted).name))
        return
    if not entries:
        host.run("propose", {})
        return
    entries.sort(key=lambda entry: entry.path != wanted)
    buffers, titles = host.workspace.files.buffers, host.observers.titles
    files = [
        listed_edits.review(entry, buffers.get(entry.path) is not None, titles(entry))
        for entry in entries
    ]
    host.screen.push("review", files)


async def _synchronized_edits(host: Host) -> list[Pending]:
    """Return all pending edits, synchronized with files and buffers.

    Edits of the user's files come first, then the edits in worktrees of sessions.
    """
    await host.workspace.catch_up()
    await host.workspace.sync_all()
    sessions = (conversation.session for conversation in host.sessions.conversations.values())
    trees = [session.worktree["path"] for session in sessions if session.worktree]
    entries = host.workspace.files.ledger.files()
    return sorted(entries, key=lambda entry: any(is_below(entry.path, tree) for tree in trees))


@verb("comment")
def comment(host: Host, args: Args) -> None:
    """Add a remark on the hunk under the cursor, or on the line (`context`).

    The next prompt contains it.
    """
    path = _real_path(host, args)
    remark = comment_from(args, path, host.workspace.files.ledger.get(path))
    host.comments.add(remark)
    conversation = host.sessions.conversation(args.get("session") or None)
    if conversation is not None:
        conversation.session.notice(
            "info", words.COMMENTED_AS.format(place=remark.place, text=remark.text)
        )
    else:
        host.echo("info", words.COMMENTED.format(place=remark.place))
