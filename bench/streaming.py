"""Cases in which the agent sends text: the same turn runs several times, alternating sides."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from bench.editor import Watched
from bench.results import Budget, Figure, percentile
from bench.sides import Name, Side
from bench.workloads import CHUNK, chunks, long_message, output, prose

Check = Callable[[Name, list[str]], None]
SPOKEN = 3
"""Number of five-second runs. Their CPU times differ by a third."""


class WrongText(AssertionError):
    """The buffer does not have the text that was sent."""


def ends_with(text: str) -> Check:
    """Return a check that the chat ends with this text, after at most six other rows.

    Blank rows at the end are ignored.
    """

    def check(name: Name, chat: list[str]) -> None:
        expected, shown = text.rstrip("\n").split("\n"), "\n".join(chat).rstrip("\n").split("\n")
        head = len(shown) - len(expected)
        if shown[head:] != expected or not 0 < head <= 6:
            raise WrongText(f"{name}: {len(shown)} rows for {len(expected)}: {shown[:8]}")

    return check


def tool_updates(name: Name, chat: list[str]) -> None:
    """Check the shown lines of the last update and, in the product, the number of omitted ones."""
    shown = [line.strip() for line in chat if "compiling" in line]
    expected = [line.strip() for line in output(8).splitlines()]
    more = any(line.strip() == "… +1992 lines" for line in chat)
    if shown != expected or (name == "product" and not more):
        raise WrongText(f"{name}: {chat}")


def tool_calls(name: Name, chat: list[str]) -> None:
    """Check that all calls are shown once and in order, as completed and with their content."""
    heads = [line for line in chat if "read file" in line]
    wanted = [f"read file {n}" for n in range(300)]
    contents = [line.strip() for line in chat if line.strip().startswith("two ")]
    right = len(heads) == 300 and all("completed" in line or "✓" in line for line in heads)
    right = right and all(
        want in line.replace(" ·", "") for want, line in zip(wanted, heads, strict=True)
    )
    if not right or contents != [f"two {n}" for n in range(300)]:
        raise WrongText(f"{name}: {len(heads)} calls, {len(contents)} contents, {chat[:9]}")


@contextmanager
def both(*agent: str) -> Iterator[list[Side]]:
    """Yield floor and product, each in its own Neovim with an agent for the workload."""
    sides: list[Side] = []
    try:
        sides = [Side("floor", *agent), Side("product", *agent)]
        yield sides
    finally:
        for side in sides:
            side.close()


Runs = dict[Name, list[Watched]]


def runs(sides: list[Side], check: Check, times: int, every: float, *, keys: bool = False) -> Runs:
    """Run the same turn `times` times on alternating sides, after one that is not measured."""
    found: Runs = {"product": [], "floor": []}
    for side in sides:
        side.run(every=every)
        if keys:
            side.editor.lua("vim.cmd.startinsert()")
            side.editor.pump_for(0.05)
    for _ in range(times):
        for side in sides:
            found[side.name].append(side.run(every=every, keys=keys))
            check(side.name, side.chat())
    return found


class Figures:
    """Figures of one case."""

    def __init__(self, case: str, found: Runs) -> None:
        self.case = case
        self.found = found
        self.list: list[Figure] = []

    def add(
        self, what: str, unit: str, of: Callable[[list[Watched]], float], budget: Budget | None
    ) -> None:
        product, floor = of(self.found["product"]), of(self.found["floor"])
        self.list.append(Figure(self.case, what, unit, product, floor, budget))

    def work(self, wall: Budget | None, cpu: Budget | None) -> None:
        """Add the medians of wall and CPU time."""
        self.add("wall", "ms", lambda r: median(w.wall for w in r), wall)
        self.add("CPU", "ms", lambda r: median(_cpu(w) for w in r), cpu)
        self.add("of it Neovim", "ms", lambda r: median(w.cpu_nvim * 1000 for w in r), None)

    def responsiveness(
        self, key: Budget | None = None, most: Budget | None = None, paint: Budget | None = None
    ) -> None:
        """Add the times of answers to pings, and of keys or paints, over all runs.

        The budgets: `key` for the slowest key, `most` for the 99th percentile of keys, `paint` for
        the longest interval between paints.
        """
        self.add("not answering, worst", "ms", lambda r: max(_all(r, "gaps")), None)
        self.add("not answering, p99", "ms", lambda r: percentile(_all(r, "gaps"), 99), None)
        if self.found["product"][0].keys:
            self.add("key, p99", "ms", lambda r: percentile(_all(r, "keys"), 99), most)
            self.add("key, worst", "ms", lambda r: max(_all(r, "keys")), key)
        else:
            self.add("no paint, worst", "ms", lambda r: max(_all(r, "paints")), paint)

    def memory(self, sides: list[Side]) -> None:
        floor, product = (side.memory() for side in sides)
        self.list.append(Figure(self.case, "peak memory Neovim", "MB", product[0], floor[0]))
        self.list.append(Figure(self.case, "peak memory host", "MB", product[1], floor[1]))


def _cpu(seen: Watched) -> float:
    return (seen.cpu_nvim + seen.cpu_host) * 1000


def _all(found: list[Watched], name: str) -> list[float]:
    return [value for seen in found for value in getattr(seen, name)]


def burst(count: int, times: int) -> list[Figure]:
    """Measure a turn whose chunks are all sent at once. Type during 100,000 or more chunks."""
    with both("burst", str(count)) as sides:
        check = ends_with(prose(count * CHUNK))
        plain = Figures(f"burst of {count:,} chunks", runs(sides, check, times, 0.002))
        plain.work(*(Budget(1.4), Budget(1.75)) if count >= 100_000 else (Budget(2), Budget(2.75)))
        plain.responsiveness(paint=Budget(50, "value") if count >= 100_000 else None)
        plain.memory(sides)
        if count < 100_000:
            return plain.list
        typed = Figures(
            f"{count:,} chunks while one types", runs(sides, check, times, 0.02, keys=True)
        )
        typed.responsiveness(key=Budget(16, "value"), most=Budget(8, "value"))
        return plain.list + typed.list


def trickle() -> list[Figure]:
    """Measure 100 chunks per second for 5 s, then the same in a chat of 200 KB."""
    text = "".join(chunks(500))
    with both("trickle", "500") as sides:
        for side in sides:
            side.run("warm 10")
        fresh: Runs = {"product": [], "floor": []}
        for _ in range(SPOKEN):
            for side in sides:
                fresh[side.name].append(_spoken(side, text))
        product = next(side for side in sides if side.name == "product")
        product.run("burst 10000")
        late = [_spoken(product, text, new=False) for _ in range(SPOKEN)]
    first = Figures("100 chunks/s, 5 s, fresh chat", fresh)
    first.work(None, Budget(1.5))
    first.responsiveness()
    after = Figures(
        "the same after 200 KB (own fresh)", {"product": late, "floor": fresh["product"]}
    )
    after.work(None, Budget(1.1))
    after.responsiveness()
    return first.list + after.list


def _spoken(side: Side, text: str, *, new: bool = True) -> Watched:
    seen = side.run(every=0.025, new=new)
    chat = side.chat()
    if not "\n".join(chat).rstrip("\n").endswith("\n" + text.rstrip("\n")):
        raise WrongText(f"{side.name}: {chat[-3:]}")
    return seen


COLOURED = """
local chats, rows = require('acp.ui.chats').chats, 0
for _, spans in pairs(chats[#chats].colours) do rows = rows + (#spans > 0 and 1 or 0) end
return rows
"""


def colours() -> list[Figure]:
    """Measure two seconds of typing after a block of code is complete.

    Meanwhile, treesitter or Vim's syntax highlights the block. An earlier block has loaded
    the highlighting.
    """
    figures: list[Figure] = []
    for language, by in (("lua", "treesitter"), ("python", "Vim's syntax")):
        with both(f"code_{language}", "500") as sides:
            found: Runs = {side.name: [_typed(side)] for side in sides}
            seen = Figures(f"500 lines coloured by {by}", found)
            seen.responsiveness(key=Budget(16, "value"))
            figures += seen.list
    return figures


def _typed(side: Side) -> Watched:
    def coloured() -> bool:
        return side.name == "floor" or side.editor.lua(COLOURED) == 500

    side.run(every=0.02)
    side.editor.wait(coloured)
    side.run(every=0.02)
    side.editor.lua("vim.cmd.startinsert()")
    end = time.monotonic() + 2
    seen = side.editor.watch(lambda: time.monotonic() > end, 0.002, keys=True)
    side.editor.wait(coloured)
    return seen


def line() -> list[Figure]:
    """Measure 400 KB without a newline. Each redraw must compute the width of the whole line."""
    count = 20_000
    with both("line", str(count)) as sides:
        check = ends_with(prose(count * CHUNK).replace("\n", " "))
        found = Figures("one line of 400 KB, in chunks", runs(sides, check, 3, 0.002))
        found.work(None, None)
        found.responsiveness()
        return found.list


def message() -> list[Figure]:
    """Measure one chunk of 14 MB."""
    with both("message", "200000") as sides:
        check = ends_with(long_message())
        plain = Figures("one message of 14 MB", runs(sides, check, 5, 0.002))
        plain.work(Budget(2.25), Budget(2.75))
        plain.responsiveness()
        plain.memory(sides)
        typed = Figures("14 MB while one types", runs(sides, check, 3, 0.02, keys=True))
        typed.responsiveness(key=Budget(16, "value"))
        return plain.list + typed.list


def updates() -> list[Figure]:
    """Measure one tool call whose output grows to 2,000 lines."""
    with both("updates", "200") as sides:
        found = Figures("200 cumulative updates", runs(sides, tool_updates, 5, 0.002))
        found.work(Budget(3), None)
        found.responsiveness()
        return found.list


def tools() -> list[Figure]:
    """Measure 300 tool calls that are each announced and completed."""
    with both("tools", "300") as sides:
        found = Figures("300 tool calls", runs(sides, tool_calls, 45, 0.002))
        found.work(Budget(2.5), None)
        found.responsiveness()
        return found.list


QUESTIONS = """
local session = require('acp').state().sessions[require('acp').state().current]
return { vim.tbl_map(function(one) return one.title end, session.permissions),
  (session.more or {}).permissions or 0 }
"""


def asked(side: Side, count: int) -> None:
    """Check that all questions are open, in order.

    The agent's report at the end of the turn shows that each was answered once.
    """
    titles, more = (
        side.editor.lua(QUESTIONS) if side.name == "product" else (_asked_lines(side.chat()), 0)
    )
    shown = [title for title in titles if title in (f"run command {n}" for n in range(count))]
    if shown != [f"run command {n}" for n in range(count - more)]:
        raise WrongText(f"{side.name}: {len(titles)} and {more} of {count}: {titles[:3]}")


def _asked_lines(chat: list[str]) -> list[str]:
    return [line[2:].split(" ·")[0] for line in chat if line.startswith("○ run command")]


def permissions() -> list[Figure]:
    """Measure 200 permissions that are requested at once, and their cancellation."""
    count = 200
    pending: Runs = {"product": [], "floor": []}
    cancelled: Runs = {"product": [], "floor": []}
    with both("permissions", str(count)) as sides:
        for turn in range(21):
            for side in sides:
                seen = side.asked(count)
                asked(side, count)
                ended = side.cancel()
                if not any(line.endswith(f"{count} cancelled") for line in side.chat()):
                    raise WrongText(f"{side.name}: {side.chat()[-3:]}")
                if turn:
                    pending[side.name].append(seen)
                    cancelled[side.name].append(ended)
    first = Figures(f"{count} permissions pending", pending)
    first.work(None, None)
    first.responsiveness()
    then = Figures(f"{count} permissions cancelled", cancelled)
    then.work(None, None)
    then.responsiveness()
    return first.list + then.list
