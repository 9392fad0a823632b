"""Unsent prompts survive Neovim and the host, of which one or both are killed.

`python -m tests.torture.unsent SEED STEPS COUNT` runs COUNT histories in real Neovims with a real
host and a scripted agent, and prints the steps of those that fail. With a final `both`, two Neovims
work in one folder.

Each prompt is made only once, so its words show its place, and whether the agent has got it.

- The next Neovim has everything that was written before the kill, as the model says: the current
  session's draft in the composer, other drafts among the earlier prompts, the queue in its order
  and on hold.
- After a kill during a step each prompt is in its place from before or after the step, never in
  two places, and never both in Neovim and at the agent.
- The prompts of the history are among the earlier prompts. One exception: a prompt that the agent
  has got is missing if the kill falls within the milliseconds in which the history writes it.
- A living Neovim keeps its prompts to itself.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from acp_nvim.history import search
from acp_nvim.history.database import Database
from tests.support.editor import Editor
from tests.support.killed_host import HOST_PID, kill_host, wait_host
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorError
from tests.support.waiting import until as waited
from tests.torture import histories
from tests.torture.unsent_model import Talk, Waiting, Words

STEPS = 14
AGENTS = ("one", "two")
"""One agent per session, since a scripted agent runs one turn at a time."""
IDLE = "((require('acp').state().sessions[...] or {}).status) == 'idle'"

PATIENCE_S = 60.0
"""Many of these run at once, beside other tests."""
until = partial(waited, timeout=PATIENCE_S)

LOOK = lua_chunk(__file__, "unsent_prompts")
"""All unsent prompts of this Neovim."""

EARLIER = lua_chunk(__file__, "earlier_prompts")

TYPE = lua_chunk(__file__, "type_draft")

EDIT_QUEUE = """
local lines = ...
vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
vim.cmd('silent write | close')
"""
RULE = "─" * 24


class Run:
    """One Neovim from its start to its end."""

    def __init__(self, world: History, name: str, words: Words) -> None:
        self.world = world
        self.words = words
        home = world.root / name
        home.mkdir()
        env = {
            "XDG_STATE_HOME": str(world.root / "state"),
            "XDG_DATA_HOME": str(world.root / "data"),
        }
        self.editor = editor = Editor(home, work=world.root / "work", env=env)
        editor.errors_expected = True
        self.agents = [editor.agent("script", name=name) for name in reversed(AGENTS)]
        editor.cmd("AcpPrompt")
        editor.wait(IDLE, 1, timeout=PATIENCE_S)
        editor.cmd("stopinsert")
        drafts = editor.lua(
            "return require('acp.features.prompts.draft_file').path(...)", str(editor.work)
        )
        self._drafts = Path(drafts)

    # ---- state

    def shown(self) -> Any:
        """Return Neovim's state in the terms of the model."""
        found = self.editor.lua(LOOK)
        queue = dict(found["queue"])
        running = sorted(found["running"])
        return dict(found["drafts"]), queue, found["held"], running, found["current"]

    def wanted(self) -> Any:
        words = self.words
        queue = {n: talk.texts for n, talk in words.talks.items() if talk.queue}
        running = sorted(n for n, talk in words.talks.items() if talk.running)
        return words.drafts, queue, [], running, words.current

    def stored(self) -> Any:
        """Return the state that would survive this Neovim."""
        try:
            kept = json.loads(self._drafts.read_text())
        except FileNotFoundError:
            return {}, [], []
        drafts = {draft["n"]: draft["text"] for draft in kept["drafts"]}
        earlier = [one["text"] for one in kept["earlier"]]
        return drafts, [one["text"] for one in kept["queue"]], sorted(earlier)

    def is_quiet(self) -> bool:
        """Return whether exactly the visible state would survive this Neovim."""
        drafts, queue, held, *_ = self.shown()
        claimed = list(self._drafts.parent.glob(f"{self._drafts.stem}.*.json"))
        all_taken = self.editor.lua(LOOK).get("taken") and not held and not claimed
        return bool(all_taken) and self.stored()[:2] == (drafts, queue.get(1, []))

    def received_prompts(self) -> list[str]:
        """Return the prompts that the agent has got, line by line."""
        asked = [one for agent in self.agents for one in agent.received("session/prompt")]
        return [line for one in asked for line in one["params"]["prompt"][0]["text"].split("\n")]

    def earlier(self) -> list[str]:
        """Return the earlier prompts that the composer offers."""
        self.editor.lua(EARLIER)
        found: list[str] = self.editor.wait("_G.earlier and { _G.earlier }", timeout=PATIENCE_S)[0]
        return found

    def settle(self) -> None:
        """Wait until Neovim, disk and agent equal the model."""
        words = self.words
        running = [
            line for talk in words.talks.values() for line in talk.running.split("\n") if line
        ]
        _same(self.shown, self.wanted, "shown")
        on_disk = words.drafts, words.queue, sorted(words.earlier)
        _same(self.stored, lambda: on_disk, "stored")
        until(lambda: set(running) <= set(self.received_prompts()), what=f"at the agent: {running}")
        got = self.received_prompts()
        twice = {line for line, count in Counter(got).items() if count > 1} - self.world.returned
        assert not twice, f"sent twice: {twice}"
        assert not set(got) & set(words.all()) - self.world.returned, "sent, and not"

    # ---- ends

    def kill(self, how: str) -> None:
        """Kill Neovim, and its host if ``how`` is ``together``. Wait until both are gone."""
        together = how == "together" and self.editor.state()["host"] == "running"
        host = self.editor.lua(HOST_PID) if together else None
        self.editor.kill()  # first, since Neovim takes the host's prompt back
        if host is not None:
            with suppress(ProcessLookupError):
                os.kill(host, signal.SIGKILL)
        self.editor.close(PATIENCE_S)


def _same(found: Callable[[], Any], wanted: Callable[[], Any], what: str) -> None:
    try:
        until(lambda: found() == wanted())
    except AssertionError as error:
        raise AssertionError(f"{what}\nfound  {found()}\nwanted {wanted()}") from error


class History:
    """One folder with one or two Neovims."""

    def __init__(self, root: Path, seed: int, both: bool) -> None:
        self.rng = random.Random(seed)
        self.root = root
        self.log: list[str] = []
        self.names = 0
        self.written: list[str] = []
        self.sent: list[str] = []
        """Prompts that agents of earlier Neovims have got."""
        self.returned = set[str]()
        """Prompts that returned to the user because the host was killed during their turn."""
        self.alive = [self.start(Words()) for _ in range(2 if both else 1)]

    def note(self, *words: object) -> None:
        self.log.append(" ".join(map(str, words)))

    def start(self, words: Words) -> Run:
        self.names += 1
        self.note("starts", self.names)
        return Run(self, f"n{self.names}", words)

    def prompt(self) -> str:
        """Return a new prompt. Its turn lasts until `end`."""
        order = self.root / "orders" / f"w{len(self.written) + 1}"
        order.mkdir(parents=True)
        self.written.append(f"obeys {order}")
        return self.written[-1]

    # ---- steps of users: each returns whether it is possible, and changes model and Neovim

    def types(self, run: Run) -> bool:
        """Type in the composer of a session."""
        n, talk = self.rng.choice(sorted(run.words.talks.items()))
        roll = self.rng.random()
        if talk.draft and roll < 0.15:
            talk.draft = ""
        elif talk.draft and roll < 0.5:
            talk.draft += "\n" + self.prompt()
        else:
            talk.draft = self.prompt()
        self.note("types", n, talk.draft)
        run.editor.lua(TYPE, n, talk.draft)
        return True

    def sends(self, run: Run) -> bool:
        """Send the draft of a composer."""
        ready = [(n, talk) for n, talk in run.words.talks.items() if talk.draft]
        if not ready:
            return False
        n, talk = self.rng.choice(ready)
        self.note("sends", n, talk.draft)
        talk.send(talk.draft)
        talk.draft = ""
        run.editor.lua("require('acp.features.prompts.composer').send(...)", n)
        return True

    def commands(self, run: Run) -> bool:
        """Send a text with `:AcpPrompt`."""
        text = self.prompt()
        self.note(":AcpPrompt", text)
        run.words.talks[run.words.current].send(text)
        run.editor.cmd(f"AcpPrompt {text}")
        return True

    def opens(self, run: Run) -> bool:
        """Open one more session."""
        if len(run.words.talks) == len(AGENTS):
            return False
        run.editor.cmd("Acp new two")
        n = run.editor.wait(
            "local n = require('acp').state().current return n ~= 1 and n", timeout=PATIENCE_S
        )
        self.note("opens", n)
        run.words.talks[n] = Talk()
        run.words.current = n
        run.editor.wait(IDLE, n, timeout=PATIENCE_S)
        return True

    def edits_queue(self, run: Run) -> bool:
        """Remove, change, add or move a prompt in the queue window."""
        talk = run.words.talks[run.words.current]
        texts = talk.texts
        if not texts:
            return False
        at = self.rng.randrange(len(texts))
        match self.rng.randrange(4):
            case 0:
                del texts[at]
            case 1:
                texts[at] = self.prompt()
            case 2:
                texts.insert(at, self.prompt())
            case _:
                self.rng.shuffle(texts)
        self.note("edits the queue", texts)
        talk.edit(texts)
        run.editor.cmd("Acp queue")
        run.editor.wait("vim.bo.filetype == 'acpqueue'", timeout=PATIENCE_S)
        run.editor.lua(EDIT_QUEUE, f"\n{RULE}\n".join(texts).split("\n"))
        return True

    def runs_queue(self, run: Run) -> bool:
        """Run `:Acp queue run`."""
        talk = run.words.talks[run.words.current]
        if not talk.queue:
            return False
        self.note("runs the queue")
        talk.release()
        run.editor.cmd("Acp queue run")
        return True

    def clears_queue(self, run: Run) -> bool:
        """Run `:Acp queue clear`."""
        talk = run.words.talks[run.words.current]
        if not talk.queue or self.rng.random() < 0.6:
            return False
        self.note("clears the queue")
        talk.queue = []
        run.editor.cmd("Acp queue clear")
        return True

    def cancels(self, run: Run) -> bool:
        """Run `:AcpCancel`."""
        talk = run.words.talks[run.words.current]
        if not talk.running:
            return False
        self.note("cancels")
        talk.cancel()
        run.editor.cmd("AcpCancel")
        return True

    def ends(self, run: Run) -> bool:
        """Let an agent end its turn."""
        busy = [(n, talk) for n, talk in run.words.talks.items() if talk.running]
        if not busy:
            return False
        n, talk = self.rng.choice(busy)
        self.note("ends", n, talk.running)
        for line in talk.running.split("\n"):
            order = Path(line.partition(" ")[2])
            (order / "new").write_text('["end"]')
            (order / "new").rename(order / "1.json")
        talk.end()
        return True

    # ---- deaths

    def host_dies(self, run: Run) -> bool:
        """Kill the host. All prompts return to the composers."""
        if run.editor.state()["host"] != "running":
            return False
        self._wait_history(run)
        self.note("the host dies")
        for talk in run.words.talks.values():
            self.returned |= {line for line in talk.running.split("\n") if line}
            talk.host_killed()
        kill_host(run.editor)
        shown = [run.words.drafts, {}, []]
        _same(lambda: list(run.shown()[:3]), lambda: shown, "shown without a host")
        if self.rng.random() < 0.5:
            run.editor.cmd("Acp edits")
            wait_host(run.editor)
        return True

    def dies(self, run: Run) -> bool:
        """Kill Neovim when everything is written. The next one must have the same."""
        self._wait_history(run)
        how = self.rng.choice(["alone", "together"])
        self.note("dies", how)
        run.kill(how)
        self.sent += run.received_prompts()
        after = self.start(run.words.reborn())
        self.alive[self.alive.index(run)] = after
        after.settle()
        wanted = lines_of(after.words.earlier) | self._history()
        missing = wanted - lines_of(after.earlier())
        assert not missing, f"not among the earlier prompts: {missing}"
        return True

    def dies_during_step(self, run: Run) -> bool:
        """Kill Neovim during a step."""
        before = Counter(run.words.all())
        act = self.rng.choice([self.types, self.sends, self.commands, self.edits_queue, self.ends])
        if not act(run):
            return False
        after = Counter(run.words.all())
        run.editor.rpc.pump(self.rng.random() ** 3 * 0.4)
        how = self.rng.choice(["alone", "together"])
        self.note("dies at it", how)
        run.kill(how)
        self.sent += run.received_prompts()
        found = self.start(Words())
        self.alive[self.alive.index(run)] = found
        self._compare(found, before, after)
        found.settle()
        return True

    def _compare(self, run: Run, before: Counter[str], after: Counter[str]) -> None:
        """Check that each prompt is in one place. Then set the model to the real state."""
        until(run.is_quiet, what="shown and stored")
        drafts, texts, earlier = run.stored()
        assert not run.shown()[3], "sent by itself"
        there = [*drafts.values(), *texts, *earlier]
        everywhere = Counter(line for text in there for line in text.split("\n"))
        self.note("found", drafts, texts, earlier)
        twice = [line for line, count in everywhere.items() if count > 1]
        assert not twice, f"in two places: {twice}"
        nowhere = set(everywhere) - set(before) - set(after) - set(self.written[-2:])
        assert not nowhere, f"gone before, and there: {nowhere}"
        again = set(everywhere) & set(self.sent) - self.returned
        assert not again, f"sent, and there: {again}"
        offered = lines_of(run.earlier())
        lost = set(before & after) - set(everywhere)
        assert not lost, f"lost: {lost}"
        lost = (
            set(before) - set(everywhere) - offered - set(self.sent) - self.dropped(before, after)
        )
        assert not lost, f"lost while it was sent: {lost}"
        talk = Talk(drafts.get(1, ""), [Waiting(text) for text in texts], held=bool(texts))
        run.words = Words({1: talk}, earlier)

    def _wait_history(self, run: Run) -> None:
        """Wait until the history has the prompts that the agent has got."""
        wanted = set(run.received_prompts()) - self.returned
        until(lambda: wanted <= self._history(), what="the history has all prompts")

    def _history(self) -> set[str]:
        """Return the prompts in the history, line by line."""
        path = self.root / "data/nvim/acp/history.db"
        if not path.exists():
            return set()
        with closing(Database(path)) as database:
            found = search.prompts(database, len(self.written))
        return lines_of(found)

    def dropped(self, before: Counter[str], after: Counter[str]) -> set[str]:
        """Return the prompts that the last step removed without sending them."""
        return set(before - after) if not self.log[-2].startswith(("sends", "ends")) else set()

    # ---- a history

    def step(self) -> None:
        """Take a random step."""
        run = self.rng.choice(self.alive)
        self.note(f"[{run.editor.home.name}]")
        roll = self.rng.random()
        acts = [
            *[self.types] * 4,
            *[self.sends] * 3,
            *[self.commands] * 2,
            *[self.edits_queue] * 3,
            *[self.ends] * 3,
            self.opens,
            self.runs_queue,
            self.clears_queue,
            self.cancels,
        ]
        if roll < 0.22:
            acts = [self.dies, self.dies_during_step, self.dies_during_step, self.host_dies]
        while not self.rng.choice(acts)(run):
            pass
        for one in self.alive:
            one.settle()


def lines_of(texts: Iterable[str]) -> set[str]:
    """Return the prompts of texts, each of which may have several."""
    return {line for text in texts for line in text.split("\n")}


def history(root: Path, seed: int, both: bool, steps: int = STEPS) -> None:
    """Run one random history. Raise AssertionError with its steps if it fails."""
    world = History(root, seed, both)
    try:
        for _ in range(steps):
            world.step()
        for run in world.alive:
            run.kill("together")
    except (AssertionError, EditorError) as error:
        raise AssertionError("\n".join([*world.log, str(error)])) from error
    finally:
        for run in world.alive:
            run.editor.kill()


def run(seed: int, both: bool = False, steps: int = STEPS) -> str:
    """Run one history in its own directory and return the failure, or ""."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        try:
            history(Path(os.path.realpath(root)), seed, both, steps)
        except AssertionError as error:
            return str(error).replace(os.path.realpath(root), "") or repr(error)
    return ""


if __name__ == "__main__":
    sys.exit(histories.main(run, STEPS))
