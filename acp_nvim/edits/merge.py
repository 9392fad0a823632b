"""Three-way merge by lines: the user's and the agent's changes to the same base.

Changes in different places are both applied, and equal changes are one. Changes to the same lines
conflict. So do two adjacent changes that both add more lines than they remove, since their order
would be arbitrary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.hunks import Hunk, apply, diff
from acp_nvim.edits.text import EMPTY, Text, from_lines, rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Range = tuple[int, int]
MAX_RANGES = 5
"""Maximum number of ranges named in a reason."""


class Merged(msgspec.Struct, frozen=True):
    """Result with both sides' changes: `hunks` turn the live lines into the lines of `text`."""

    hunks: list[Hunk]
    text: Text


class Conflict(msgspec.Struct, frozen=True):
    """Ranges that both sides changed: first and last live line of each, 1-based."""

    ranges: list[Range]

    @property
    def reason(self) -> str:
        """Describe the conflict for an error message."""
        return conflict_reason(self.ranges)


def merge(base: Text, live: Text, theirs: Text) -> Merged | Conflict:
    """Merge the agent's changes (base to theirs) into the user's text (base to live).

    The final newline is merged separately: a change by either side wins. The result shares the
    strings of unchanged lines with `live`, so it takes little memory and is compared quickly.
    """
    if live == base or theirs == live:
        hunks = diff(live.lines, theirs.lines)
        return Merged(hunks, Text(tuple(apply(live.lines, hunks)), theirs.eol))
    if theirs == base:
        return Merged([], live)
    agent_hunks: list[Hunk] = []
    conflicts: list[Range] = []
    shift = 0  # growth of the base by the user's changes so far
    lines = rows(base)
    regions = _regions(diff(lines, rows(live)), diff(lines, rows(theirs)))
    for users, agents in (part for region in regions for part in _without_equal(lines, *region)):
        if not users:
            agent_hunks += [_shift_hunk(hunk, shift) for hunk in agents]
        elif agents and not _is_same_change(lines, users, agents):
            conflicts.append(_range([*users, *agents], users, shift, len(live.lines)))
        shift += sum(hunk.growth for hunk in users)
    if conflicts:
        return Conflict(conflicts)
    eol = theirs.eol if live == EMPTY or (live.eol == base.eol and theirs != EMPTY) else live.eol
    return _result(live, agent_hunks, eol)


def overlay(base: Text, ours: Text, theirs: Text) -> Text:
    """Return a merge of both sides without conflicts.

    Lines that both sides changed are merged one by one.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    chosen: list[Hunk] = []
    lines = rows(base)
    for mine, others in _regions(diff(lines, rows(ours)), diff(lines, rows(theirs)), True):
        chosen += [_blend_sides(lines, mine, others)] if mine and others else mine or others
    eol = ours.eol if theirs == EMPTY or (theirs.eol == base.eol and ours != EMPTY) else theirs.eol
    return from_lines(apply(lines, chosen), eol)


def _blend_sides(base: Sequence[str], mine: list[Hunk], others: list[Hunk]) -> Hunk:
    """Return one side's lines with the removals and additions of both sides."""
    start, end = min(mine[0].start, others[0].start), max(mine[-1].end, others[-1].end)
    part = base[start:end]
    ours, theirs = (
        apply(part, [_shift_hunk(hunk, -start) for hunk in hunks]) for hunks in (mine, others)
    )
    if all((line in ours) == (line in part) for line in theirs):
        return Hunk(start, end, tuple(theirs), start)  # no line is lost
    lines: list[str] = []
    row = 0
    for hunk in diff(ours, theirs):
        both = (*ours[hunk.start : hunk.end], *hunk.lines)
        lines += [*ours[row : hunk.start], *(line for line in both if line not in part)]
        row = hunk.end
    return Hunk(start, end, (*lines, *ours[row:]), start)


def _result(live: Text, agent_hunks: list[Hunk], eol: bool) -> Merged:
    lines = apply(rows(live), agent_hunks)
    if lines and live != EMPTY:
        return Merged(agent_hunks, Text(tuple(lines), eol))
    text = from_lines(lines, eol)  # one side is empty, or both sides removed every line
    return Merged(diff(live.lines, text.lines), text)


def _regions(
    users: list[Hunk], agents: list[Hunk], touching: bool = False
) -> Iterator[tuple[list[Hunk], list[Hunk]]]:
    """Group hunks by base rows: a hunk of one side alone, or entangled hunks of both sides.

    With `touching`, hunks that only touch are grouped too.
    """
    sides: tuple[list[Hunk], list[Hunk]] = ([], [])
    tagged = [(hunk, 0) for hunk in users] + [(hunk, 1) for hunk in agents]
    for hunk, side in sorted(tagged, key=lambda item: (item[0].start, item[0].end)):
        other = sides[1 - side]
        joins = other and (
            _are_entangled(other[-1], hunk) or (touching and hunk.start <= other[-1].end)
        )
        if (sides[0] or sides[1]) and not joins:
            yield sides
            sides = ([], [])
        sides[side].append(hunk)
    if sides[0] or sides[1]:
        yield sides


def _are_entangled(first: Hunk, second: Hunk) -> bool:
    """Return whether hunks of two sides change the same lines or insert at the same place."""
    if first.start < second.end and second.start < first.end:
        return True
    are_touching = first.start <= second.end and second.start <= first.end
    return are_touching and first.growth > 0 and second.growth > 0


def _is_same_change(base: Sequence[str], users: list[Hunk], agents: list[Hunk]) -> bool:
    """Return whether both sides made the same change to these lines."""
    if users == agents:
        return True
    start = min(users[0].start, agents[0].start)
    end = max(users[-1].end, agents[-1].end)
    part = base[start:end]
    mine, others = ([_shift_hunk(hunk, -start) for hunk in hunks] for hunks in (users, agents))
    return apply(part, mine) == apply(part, others)


def _without_equal(
    base: Sequence[str], users: list[Hunk], agents: list[Hunk]
) -> Iterable[tuple[list[Hunk], list[Hunk]]]:
    """Return the parts of a region in which the sides agree or only one of them changed lines.

    Return the region itself if they disagree on a line.
    """
    if not (users and agents):
        return [(users, agents)]
    parts = list(_regions(_by_line(users), _by_line(agents)))
    is_solved = all(
        not (mine and others) or _is_same_change(base, mine, others) for mine, others in parts
    )
    return parts if is_solved else [(users, agents)]


def _by_line(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Split hunks that replace lines one by one."""
    return [part for hunk in hunks for part in _lines_of(hunk)]


def _lines_of(hunk: Hunk) -> Iterable[Hunk]:
    if hunk.growth:
        return [hunk]
    return (
        Hunk(hunk.start + i, hunk.start + i + 1, (line,), hunk.new_start + i)
        for i, line in enumerate(hunk.lines)
    )


def _shift_hunk(hunk: Hunk, rows: int) -> Hunk:
    return Hunk(hunk.start + rows, hunk.end + rows, hunk.lines, hunk.new_start)


def _range(group: list[Hunk], users: list[Hunk], shift: int, count: int) -> Range:
    """Return the live lines of a group, 1-based, or the line in place of removed ones."""
    start = min(hunk.start for hunk in group) + shift
    end = max(hunk.end for hunk in group) + shift + sum(hunk.growth for hunk in users)
    first = min(start + 1, count)
    return first, max(first, end)


def conflict_reason(ranges: Sequence[Range]) -> str:
    """Return the reason, such as 'lines 4-6 were changed by the user and by the agent'."""
    names = [
        f"{first}-{last}" if last > first else f"{first}" for first, last in ranges[:MAX_RANGES]
    ]
    if len(ranges) > MAX_RANGES:
        names.append(f"{len(ranges) - MAX_RANGES} more places")
    is_one_line = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    subject = f"line {listed} was" if is_one_line else f"lines {listed} were"
    return f"{subject} changed by the user and by the agent"
