"""State of a process in a workspace as the values of its journal.

The values are built from the ledger, the tracked files and the checkpoints. The values of other
processes are applied to the same objects.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from acp_nvim.edits.carry import combine
from acp_nvim.edits.merge import Merged, merge, overlay
from acp_nvim.edits.pending import FileEdits, Pending, Reject
from acp_nvim.edits.undo_history import MAX_TOGETHER
from acp_nvim.files.buffers.tracked_file import FileState, Received, SavedIdle
from acp_nvim.files.bytes import roots
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.checkpoints.checkpoints import Checkpoint
from acp_nvim.files.files import Files
from acp_nvim.files.journal.replica import (
    BUFFER,
    CHECKPOINT,
    FILE,
    HEAD,
    NOTHING,
    REJECT,
    SESSION,
    TITLES,
    TREE,
    UNDO,
    WRITES,
    BufferValue,
    FileValue,
    Key,
    Replica,
    Values,
)
from acp_nvim.files.journal.session_keys import SessionKeys
from acp_nvim.files.ports import SessionInfo
from acp_nvim.files.review.commits import Commits

if TYPE_CHECKING:
    from acp_nvim.edits.text import Text
    from acp_nvim.edits.titles import TitledText

MOVING: Final = 3
"""Number of a session's latest checkpoints that may still change."""


class Frozen(NamedTuple):
    """Checkpoint, and a copy that does not change."""

    checkpoint: Checkpoint
    copy: Checkpoint
    was_moving: bool = True
    """Whether the checkpoint could still change after the copy."""


class SharedState:
    """Values of this process for the journals of its workspaces."""

    def __init__(
        self,
        files: Files,
        commits: Commits,
        keys: SessionKeys,
    ) -> None:
        self.replicas: dict[str, Replica] = {}
        """Journals in use, by root."""
        self.ignored = set[str]()
        """Roots whose journals a newer version wrote. Their edits are kept only in memory."""
        self._files = files
        self._commits = commits
        self._sessions = files.sessions
        self._keys = keys
        self._frozen: dict[int, Frozen] = {}
        """Copies of checkpoints as last written, by the identity of the checkpoint."""
        self._named: dict[int, tuple[Any, str]] = {}
        """Rejects and checkpoints with their names in the journal, by identity."""
        self._began, self._count = time.time_ns(), 0
        self._roots: dict[str, str] = {}
        """Roots of the workspaces, by directory in them."""

    def root(self, directory: str) -> str:
        """Return the root of a directory's workspace. Once determined, it does not change."""
        if directory not in self._roots:
            self._roots[directory] = roots.root_of(directory)
        return self._roots[directory]

    # -- to the journal ---------------------------------------------------------------------------

    def root_of(self, path: str) -> str:
        """Return the root whose journal stores a file.

        That is the root whose journal already has the file, otherwise the innermost one, even if
        its journal is ignored.
        """
        for root, replica in self.replicas.items():
            if (FILE, path) in replica.stored:
                return root
        inside = [root for root in (*self.replicas, *self.ignored) if is_below(path, root)]
        if inside:
            return max(inside, key=len)
        entry = self._files.ledger.get(path)
        writers = {session.n: session for session in self._sessions()}
        for n in sorted(entry.writers if entry else ()):
            if n in writers and (root := self.root(writers[n].cwd)) in self.replicas:
                return root
        return next(iter(self.replicas), "")

    def values(self, root: str) -> Values:
        """Return the current values of a workspace."""
        ledger = self._files.ledger
        edits, values = ledger.all_edits(), Values()
        stored_paths = {file.path for file in self._files.tracked if _has_stored_state(file.state)}
        for path in [*edits, *(stored_paths - edits.keys())]:
            if self.root_of(path) == root:
                value = self._value(path, edits.get(path, FileEdits()))
                if value != NOTHING:
                    values[FILE, path] = value
        titles = self._files.titles.items()
        values |= {(TITLES, path): titled for path, titled in titles if (FILE, path) in values}
        for path in ledger.disk_entries:
            if self.root_of(path) == root:
                values[BUFFER, self._buffer_name(path)] = BufferValue(
                    ledger.tracked_entry(path),
                    ledger.disk_entries.get(path),
                    ledger.disk_entries.with_unsaved_writes(path),
                )
        for level in ledger.rejects:
            if self.root_of(level[0].before.path) == root:
                values[REJECT, self._value_name(level)] = level
        values |= self._checkpoints(root)
        if not values:
            return values
        trees = self._files.trees.known.items()
        values |= {(TREE, top): mark for top, mark in trees if _overlaps(top, root)}
        heads = self._commits.heads.items()
        values |= {(HEAD, top): head for top, head in heads if _overlaps(top, root)}
        numbers = set(_numbers(values.values())) | {
            self._keys.number(name.partition(":")[0])
            for kind, name in values
            if kind in (CHECKPOINT, UNDO)
        }
        described = self._keys.descriptions(numbers, self._sessions())
        return values | {(SESSION, key): info for key, info in described.items()}

    def file_value(self, path: str) -> FileValue:
        """Return the value of a file."""
        return self._value(path, self._files.ledger.edits_of(path))

    def _value(self, path: str, edits: FileEdits) -> FileValue:
        state = self._files.tracked.state(path)
        return FileValue(
            edits.entry,
            edits.undo_entry,
            edits.history,
            edits.parked,
            state.user_format,
            state.agent_format,
            state.conflict_base,
            state.rights,
            state.displaced,
        )

    def _checkpoints(self, root: str) -> Values:
        frozen: dict[int, Frozen] = {}
        values = Values()
        for kind, lists in zip((CHECKPOINT, UNDO), self._files.checkpoints.lists(), strict=True):
            for n, checkpoints in lists.items():
                if self._session_root(n) == root:
                    copies = self._freeze(checkpoints, frozen)
                    for checkpoint, frozen_copy in zip(checkpoints, copies, strict=True):
                        name = f"{self._keys.key(n)}:{self._value_name(checkpoint)}"
                        values[kind, name] = frozen_copy
        self._frozen = {**self._frozen, **frozen}
        return values

    def _session_root(self, n: int) -> str:
        """Return the workspace of a session."""
        match = next((session for session in self._sessions() if session.n == n), None)
        cwd = match.cwd if match else self._keys.infos.get(self._keys.key(n), _NO_INFO).cwd
        return self.root(cwd) if cwd else ""

    def _freeze(
        self, checkpoints: list[Checkpoint], frozen: dict[int, Frozen]
    ) -> Iterator[Checkpoint]:
        """Yield copies of checkpoints, and add them to `frozen` by the id of the checkpoint.

        A checkpoint has the same copy until it changes.
        """
        settled = len(checkpoints) - MOVING
        for at, checkpoint in enumerate(checkpoints):
            known = self._frozen.get(id(checkpoint))
            if (
                known is None
                or known.checkpoint is not checkpoint
                or (known.was_moving and known.checkpoint != known.copy)
            ):
                known = Frozen(checkpoint, _copy(checkpoint))
            frozen[id(checkpoint)] = known._replace(was_moving=at >= settled)
            yield known.copy

    def _buffer_name(self, path: str = "") -> str:
        """Return the name of this Neovim's buffer of a file."""
        return f"{self._keys.instance}:{path}"

    def _value_name(self, value: Any) -> str:
        """Return the name of a reject or checkpoint in the journal.

        A value that this process has made gets a unique name on the first call.
        """
        known = self._named.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        self._count += 1
        name = f"{self._keys.instance}.{self._began}.{self._count}"
        self._set_value_name(value, name)
        return name

    def _set_value_name(self, value: Any, name: str) -> None:
        self._named[id(value)] = value, name

    # -- from the journal -------------------------------------------------------------------------

    def apply(self, replica: Replica, key: Key) -> None:
        """Apply a value that another process has changed."""
        kind, name = key
        value = replica.value(key)
        if kind == FILE:
            self._apply_file(replica, name, value or NOTHING)
        elif kind == TITLES:
            self._apply_titles(name, value)
        elif kind == REJECT:
            self._apply_reject(name, value)
        elif kind in (CHECKPOINT, UNDO):
            self._apply_checkpoint(kind, name, value, replica.own.get(key))
        elif value is not None:
            self._apply_plain(kind, name, value)
        replica.record(key, value)
        if value is None:
            replica.own.pop(key, None)
        elif kind in (CHECKPOINT, UNDO):
            replica.own[key] = _copy(value)
        elif kind not in (FILE, WRITES) and (
            kind != BUFFER or name.startswith(self._buffer_name())
        ):
            replica.own[key] = value

    def _apply_plain(self, kind: str, name: str, value: Any) -> None:
        """Apply a value of a kind that this process never changes."""
        if kind == SESSION:
            self._keys.add_info(name, value)
        elif kind == HEAD:
            self._commits.heads.setdefault(name, value)
        elif kind == TREE:
            self._files.trees.known.setdefault(name, value)

    def restore_buffers(self, replica: Replica) -> list[str]:
        """Restore the edits that this Neovim's last host had in unsaved buffers. Return the files.

        A file whose edits have changed since keeps the newer ones.
        """
        ledger, restored = self._files.ledger, list[str]()
        for (kind, name), value in replica.stored.items():
            path = name.removeprefix(self._buffer_name())
            if kind != BUFFER or path == name or value.published_entry != ledger.get(path):
                continue
            entry, undo_entry = value.entry_and_undo_entry
            self._install(path, self.file_value(path)._replace(entry=entry, undo_entry=undo_entry))
            ledger.disk_entries.set(path, value.disk, value.with_unsaved_writes)
            restored.append(path)
        return restored

    def _apply_file(self, replica: Replica, path: str, theirs: FileValue) -> None:
        """Apply another process's edits of a file (`theirs`), merged with unpublished edits."""
        ledger = self._files.ledger
        if not self._files.turns:
            self._files.tracked[path].apply(SavedIdle())
        key, mine, before = (FILE, path), ledger.get(path), ledger.before_unpublished(path)
        undecided, history = theirs.history, theirs.history
        if before is not None:
            published = replica.own.get(key, NOTHING).history
            own = self._unpublished(path, before, theirs, published)
            undecided = *history, *self._only_unpublished(path, before, own)
            history = *history, *own[-MAX_TOGETHER:]
        if path in ledger.disk_entries and theirs.entry is not None:
            self._apply_file_on_disk(path, theirs._replace(history=history), undecided)
            replica.own[key] = theirs if before is not None else self.file_value(path)
        elif before is None or mine is None:
            self._install(path, theirs)
            replica.own[key] = self.file_value(path)
        else:
            entry = merge_pending(before, mine, theirs.entry or theirs.undo_entry, undecided)
            self._install(path, theirs._replace(entry=entry, history=history))
            replica.own[key] = theirs

    def _unpublished(
        self, path: str, before: Pending, theirs: FileValue, published: Sequence[Pending]
    ) -> list[Pending]:
        """Return the earlier entries of a file with hunks that no other process has."""
        undo_history = self._files.ledger.undo_history
        undo_history.forget_accepted(before, _without_accepted(before, theirs))
        return [
            entry
            for entry in undo_history.entries_of(path)
            if entry.base is not None
            and entry not in theirs.history
            and entry not in published
            and entry.hunks_not_in(before)
        ]

    def _only_unpublished(
        self, path: str, before: Pending, own: Sequence[Pending]
    ) -> Iterator[Pending]:
        """Yield entries with only the hunks that no process can have accepted."""
        ledger = self._files.ledger
        for entry in (*own, ledger.disk_entry(path), ledger.get(path)):
            if entry is not None and entry.base is not None:
                yield entry.with_only(entry.hunks_not_in(before))

    def _apply_file_on_disk(
        self, path: str, theirs: FileValue, undecided: Sequence[Pending]
    ) -> None:
        """Apply the edits of a file on disk whose buffer in this Neovim has unsaved changes."""
        ledger = self._files.ledger
        mine, before = ledger.get(path), ledger.before_unpublished(path)
        stored = ledger.disk_entries.get(path)
        with_unsaved = ledger.disk_entries.with_unsaved_writes(path)
        entry = on_disk = theirs.entry
        known = before or stored
        if mine is not None:
            entry = merge_pending(known or _settled(mine), mine, theirs.entry, undecided)
        if before is not None and stored is not None and before != stored:
            on_disk = merge_pending(before, stored, theirs.entry, undecided)
        if with_unsaved is not None and known is not None:
            with_unsaved = merge_pending(known, with_unsaved, theirs.entry, undecided)
        self._install(path, theirs._replace(entry=entry))
        ledger.disk_entries.set(path, on_disk, with_unsaved)

    def _install(self, path: str, value: FileValue) -> None:
        self._files.ledger.replace_file(path, value.edits)
        if value.formats != self._value(path, value.edits).formats:
            self._files.tracked[path].apply(Received(*value.formats))

    def _apply_titles(self, path: str, titled: TitledText | None) -> None:
        if titled is None:
            self._files.titles.pop(path, None)
        else:
            self._files.titles[path] = titled

    def _apply_reject(self, name: str, level: list[Reject] | None) -> None:
        ledger = self._files.ledger
        rejects = [reject for reject in ledger.rejects if self._value_name(reject) != name]
        if level:
            self._set_value_name(level, name)
            rejects.append(level)
        ledger.replace_rejects(rejects)

    def _apply_checkpoint(
        self, kind: str, name: str, made: Checkpoint | None, before: Checkpoint | None
    ) -> None:
        """Apply a checkpoint. `before` is its value that this process last wrote or read."""
        session_key, _, checkpoint_name = name.partition(":")
        lists = self._files.checkpoints.lists()[kind == UNDO]
        checkpoints = lists.setdefault(self._keys.number(session_key), [])
        known = next(
            (
                checkpoint
                for checkpoint in checkpoints
                if self._value_name(checkpoint) == checkpoint_name
            ),
            None,
        )
        if made is None:
            checkpoints[:] = [checkpoint for checkpoint in checkpoints if checkpoint is not known]
        elif known is None:
            self._set_value_name(made, checkpoint_name)
            checkpoints.append(made)
        else:
            _merge_checkpoint(known, made, before or known)
            self._frozen.pop(id(known), None)


def merge_pending(
    before: Pending, mine: Pending, theirs: Pending | None, undecided: Sequence[Pending] = ()
) -> Pending:
    """Merge pending edits that another process and an agent of this process have changed.

    `before` are the edits before the agent's writes, `mine` the edits after them. `theirs` are the
    other process's edits, or its entry without hunks; None if all earlier ones were accepted. Lines
    of `before` that its live text lacks were rejected, so they are not part of the base. Nor are
    hunks of the `undecided` entries, which the other process may have taken for the user's.
    """
    writers = mine.writers | theirs.writers if theirs is not None else mine.writers
    if mine.base is None and before.live is None:
        return mine  # a new file
    if mine.live is None or before.live is None:
        return msgspec.structs.replace(mine, writers=writers)
    known = theirs.edited(before.live, restorable=before.hunks) if theirs is not None else None
    decided = before.live if known is None else known.base
    if decided is not None:
        decided = _without_hunks(decided, undecided)
    if before.base is None or mine.base is None or decided is None:
        return msgspec.structs.replace(mine, base=decided, writers=writers)
    merged = merge(before.base, mine.base, decided)
    base = merged.text if isinstance(merged, Merged) else overlay(before.base, mine.base, decided)
    merged_entry = msgspec.structs.replace(mine, base=base, writers=writers)
    if theirs is None or theirs.base is None or theirs.live is None:
        return merged_entry
    # This process may not have found their latest writes in the file yet, or have found them and
    # taken them for the user's.
    new = theirs.with_only(theirs.hunks_not_in(before))
    live = overlay(new.base, mine.live, new.live) if new.base and new.live else mine.live
    return combine(new.edited(live), msgspec.structs.replace(merged_entry, live=live))


def _without_accepted(entry: Pending, theirs: FileValue) -> Pending:
    """Return an entry without the hunks that the user has accepted in another process."""
    now = theirs.entry or theirs.undo_entry
    if now is None or now.base is None:
        return entry.accepted(entry.hunks)
    accepted = [hunk for hunk in entry.hunks_in(now.base) if not now.equal_hunk(entry, hunk)]
    return entry.accepted(accepted)


def _without_hunks(text: Text, entries: Sequence[Pending]) -> Text:
    """Return a text without the hunks of these entries, of which the last is the latest."""
    for entry in reversed(entries):
        if entry.base is not None and (present := entry.hunks_in(text)):
            text = entry.with_only(present).edited(text).base or text
    return text


def _settled(entry: Pending) -> Pending:
    """Return an entry without pending edits, with the base of `entry` as its live text."""
    return msgspec.structs.replace(entry, live=entry.base)


def _copy(checkpoint: Checkpoint) -> Checkpoint:
    """Copy a checkpoint and all of its parts that may still change."""
    growing = ("trees", "reasons", "touched", "late", "agent_changes", "ends", "unnamed")
    fields = {name: copy(getattr(checkpoint, name)) for name in growing}
    return msgspec.structs.replace(checkpoint, **fields)


def _merge_checkpoint(checkpoint: Checkpoint, other: Checkpoint, before: Checkpoint) -> None:
    """Add another process's data on the same checkpoint.

    Parts that have not changed here since `before` become equal to the other's. Otherwise two
    processes would keep overwriting each other's values.
    """
    for name in ("trees", "touched", "late", "agent_changes"):
        mine, theirs, known = (getattr(version, name) for version in (checkpoint, other, before))
        for key, value in theirs.items():
            if key not in mine or (key in known and mine[key] == known[key]):
                mine[key] = value
    if checkpoint.unnamed == before.unnamed:
        checkpoint.unnamed.clear()
    checkpoint.unnamed.update(other.unnamed)
    if checkpoint.reasons == before.reasons:
        checkpoint.reasons[:] = other.reasons
    if not checkpoint.ends or checkpoint.ends == before.ends:
        checkpoint.ends[:] = other.ends


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Sort the keys, sessions first, because other values refer to sessions."""
    return sorted(keys, key=lambda key: key[0] != SESSION)


def _overlaps(some: str, other: str) -> bool:
    return some == other or is_below(some, other) or is_below(other, some)


def _has_stored_state(state: FileState) -> bool:
    """Return whether the state of a file has to be stored even if it has no pending edits."""
    known = state.user_format or state.agent_format or state.rights
    return known is not None or state.conflict_base is not msgspec.UNSET


def _numbers(values: Iterable[Any]) -> Iterator[int]:
    """Yield the numbers of the sessions whose edits are or were pending."""
    for value in values:
        entries: list[Pending] = []
        if isinstance(value, FileValue):
            entries = [*value.history, *(edit.entry for edit in value.parked)]
            entries += [value.entry] if value.entry else []
        elif isinstance(value, BufferValue):
            entries = [entry for entry in value if entry is not None]
        elif isinstance(value, list):
            entries = [reject.before for reject in value]
        for entry in entries:
            yield from entry.writers


_NO_INFO: Final = SessionInfo()
