"""Proposals: the files that a requested call would write, with the user's amendments.

A diff of the protocol contains either the whole file or the replaced piece (v1/tool-calls#content).
The protocol does not say which, so the file's text decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from acp_nvim.edits import patch_apply
from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.merge import Conflict, Merged, merge
from acp_nvim.edits.patch import FilePatch
from acp_nvim.edits.patch_apply import PatchConflict
from acp_nvim.edits.text import EMPTY, Text, from_lines, parse
from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall

WHOLE: Final = "acp.nvim/whole"
"""Key of `_meta` by which a tool call declares that its diffs contain whole files."""


class Change(msgspec.Struct, frozen=True):
    """Diff of a tool call. `old` is the whole text or a piece of it; empty means a new file.

    `line` (1-based) is the agent's location in the file. `everywhere` replaces all equal
    pieces. `is_whole` means that `old` is the whole text, possibly an earlier one.
    """

    path: str
    old: str
    new: str
    line: int | None = None
    everywhere: bool = False
    is_whole: bool = False


class Proposal(msgspec.Struct, frozen=True):
    """One file before and after an edit. `base` is None if the file does not exist.

    If a piece was not found, `is_whole` is false and both texts contain only the pieces.
    """

    path: str
    base: Text | None
    text: Text
    is_whole: bool = True
    is_deletion: bool = False
    """Whether the file would be deleted."""
    origin: str | None = None
    """The file that is moved or copied here. `base` is its text."""
    problem: str = ""
    """Reason why a patch cannot be applied, in one line."""


class PlacedPatch(msgspec.Struct, frozen=True):
    """Patch of one file, with the real paths of the file and of its origin."""

    patch: FilePatch
    path: str
    origin: str | None = None


def changes_of(call: ToolCall) -> list[Change]:
    """Return the diffs of a tool call."""
    diffs = [item for item in call.content if isinstance(item, schema.Diff)]
    lines = {at.path: at.line for at in call.locations if isinstance(at.line, int)}
    raw = call.raw_input if isinstance(call.raw_input, dict) else {}
    is_whole = bool((call.meta or {}).get(WHOLE))
    is_everywhere = raw.get("replace_all") is True or raw.get("replaceAll") is True
    return [
        Change(
            item.path,
            item.old_text if isinstance(item.old_text, str) else "",
            item.new_text,
            lines.get(item.path),
            is_everywhere,
            is_whole,
        )
        for item in diffs
    ]


def propose_patches(
    placed: Sequence[PlacedPatch], live: Mapping[str, Text | None]
) -> list[Proposal]:
    """Apply patches one after the other. Return a proposal for each file.

    `live` has the texts of all files in the patches.
    """
    now = dict(live)
    problems: dict[str, str] = {}
    origins: dict[str, str] = {}
    for patched in placed:
        source = patched.origin or patched.path
        try:
            after = patch_apply.apply(_patch_without_cr(patched.patch, now[source]), now[source])
        except PatchConflict as conflict:
            problems.setdefault(patched.path, str(conflict))
            continue
        if patched.origin is not None:
            origins[patched.path] = patched.origin
            if patched.patch.kind == "moved":
                now[patched.origin] = None
        now[patched.path] = after
    proposals: list[Proposal] = []
    for path in dict.fromkeys(patched.path for patched in placed):
        if path in problems:
            patches = [patched.patch for patched in placed if patched.path == path]
            proposals.append(_hunks_only(path, patches, problems[path]))
            continue
        origin, text = origins.get(path), now[path]
        base = live[origin or path]
        proposals.append(
            Proposal(path, base, text or EMPTY, is_deletion=text is None, origin=origin)
        )
    return proposals


def _hunks_only(path: str, patches: Iterable[FilePatch], problem: str) -> Proposal:
    hunks = [hunk for patch in patches for hunk in patch.hunks]
    old = from_lines(line for hunk in hunks for line in hunk.old)
    new = from_lines(line for hunk in hunks for line in hunk.new)
    return Proposal(path, old, new, is_whole=False, problem=problem)


def _patch_without_cr(patch: FilePatch, text: Text | None) -> FilePatch:
    """Return the patch without the `\\r` of line endings if the text has none."""
    rows = [row for hunk in patch.hunks for row in hunk.lines]
    if not any(row.endswith("\r") for row in rows):
        return patch
    if text is None or any("\r" in line for line in text.lines):
        return patch
    bare = [
        msgspec.structs.replace(hunk, lines=tuple(row.removesuffix("\r") for row in hunk.lines))
        for hunk in patch.hunks
    ]
    return msgspec.structs.replace(patch, hunks=tuple(bare))


def propose(
    path: str, live: Text | None, changes: Sequence[Change], known: Sequence[Text] = ()
) -> Proposal:
    """Apply changes to one file, one after the other. Return the proposal.

    `known` are other texts that the agent may use as the whole file, such as the text that it read
    or the saved one.
    """
    text = live
    whole = [*known] if live is None else [live, *known]
    for change in changes:
        text = _apply_change(text, change, whole)
        if text is None:
            return pieces(path, changes)
    return Proposal(path, live, text or EMPTY)


def pieces(path: str, changes: Sequence[Change]) -> Proposal:
    """Return only the changed pieces, for changes that do not fit the text."""

    def joined(pieces: Iterator[str]) -> Text:
        return parse("".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces))

    old = joined(change.old for change in changes if change.old)
    new = joined(change.new for change in changes if change.new)
    return Proposal(path, old, new, is_whole=False)


def _apply_change(text: Text | None, change: Change, known: Sequence[Text]) -> Text | None:
    """Apply a change. Return None if its old text is not found."""
    if not change.old:
        return parse(_without_cr(change.new, text))
    if text is None:
        return None
    old, new = _without_cr(change.old, text), _without_cr(change.new, text)
    content = str(text)
    if old == content:
        return parse(new)
    if change.is_whole or any(str(text) == old for text in known):
        merged = merge(parse(old), text, parse(new))
        return merged.text if isinstance(merged, Merged) else None
    replaced = _replace_piece(content, old, new, change)
    return None if replaced is None else parse(replaced)


def _without_cr(piece: str, text: Text | None) -> str:
    """Return the piece without the `\\r` of line endings if the text has none."""
    if "\r\n" in piece and text is not None and not any("\r" in line for line in text.lines):
        return piece.replace("\r\n", "\n")
    return piece


def _replace_piece(content: str, old: str, new: str, change: Change) -> str | None:
    """Replace a piece of the content. Return None if the piece is not found.

    The last newline of a file may be missing.
    """
    if old in content:
        if change.everywhere:
            return content.replace(old, new)
        at = _nearest(content, old, change.line)
        return content[:at] + new + content[at + len(old) :]
    unended = old.removesuffix("\n")
    if unended and unended != old and content.endswith(unended):
        return content.removesuffix(unended) + new.removesuffix("\n")
    return None


def _nearest(content: str, old: str, line: int | None) -> int:
    """Return the offset of `old`. If it occurs several times, use the place nearest to the line."""
    best = at = content.find(old)
    if line is None:
        return best
    start = 0
    for _ in range(line - 1):
        start = content.find("\n", start) + 1 or len(content)
    while at >= 0:
        best = min(best, at, key=lambda place: abs(place - start))
        at = content.find(old, at + 1)
    return best


# -- amendments ----------------------------------------------------------------------------------


def amended_text(proposal: Text, content: str) -> Text:
    """Return the text that the user left in the buffer. An empty buffer means an empty file."""
    return EMPTY if content == "\n" and proposal != parse("\n") else parse(content)


def merge_amendment(proposal: Text, amendment: Text, text: Text) -> Text:
    """Merge the user's changes (proposal to amendment) into the agent's text.

    If that text is the proposal, as usual, the result is the amendment. Otherwise both changes are
    combined. On the same lines, the user's changes take precedence.
    """
    merged = merge(proposal, amendment, text)
    if isinstance(merged, Merged):
        return merged.text
    agents = diff(proposal.lines, text.lines)
    hunks = [hunk for hunk in agents if not _collides(proposal, amendment, hunk)]
    merged = merge(proposal, amendment, from_lines(apply(proposal.lines, hunks), text.eol))
    return amendment if isinstance(merged, Conflict) else merged.text


def _collides(proposal: Text, amendment: Text, hunk: Hunk) -> bool:
    alone = from_lines(apply(proposal.lines, [hunk]), proposal.eol)
    return isinstance(merge(proposal, amendment, alone), Conflict)
