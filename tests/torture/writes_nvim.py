"""The histories of `writes` in a real Neovim, with an agent in its own process.

`python -m tests.torture.writes_nvim SEED COUNT`
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.session.session import Session
from tests.support.editor import Editor
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until
from tests.torture.changes import Clock
from tests.torture.world import AS_USER, BUFFERS, in_lua
from tests.torture.writes import History, Knowledge

STEPS = 25
IN_BUFFER = """
local path, code = ...
local bufnr = vim.fn.bufnr('^' .. path .. '$')
vim.api.nvim_buf_call(bufnr, function() assert(loadstring(code))() end)
"""
CHOOSE_FIRST = "vim.ui.select = function(items, _, on_choice) on_choice(items[1], 1) end"
"""Decide and restore all files, including those that the agent did not name."""


class Buffer:
    """A loaded buffer."""

    def __init__(self, found: dict[str, Any]) -> None:
        lines = tuple(found["lines"])
        self.text = EMPTY if lines == ("",) and not found["eol"] else Text(lines, found["eol"])
        self.modified = bool(found["modified"])
        self.is_new = True


class RealNeovim:
    """The part of `FakeNeovim` that a history needs, over a real Neovim."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor

    @property
    def buffers(self) -> dict[str, Buffer]:
        """Return the loaded buffers by path."""
        found = self.editor.lua(BUFFERS)[0]
        items = found.items() if isinstance(found, dict) else ()
        return {path: Buffer(item) for path, item in items}

    def open(self, path: str) -> None:
        self.editor.lua("vim.cmd('silent hide buffer ' .. vim.fn.bufadd(...))", path)

    def refresh(self, path: str) -> None:
        self.editor.cmd("silent! checktime")

    def type(self, path: str, text: Text) -> None:
        old = self.buffers[path].text
        code = "".join(
            f"vim.api.nvim_buf_set_lines(0, {h.start}, {h.end}, true, {in_lua(h.lines)}) "
            for h in reversed(diff(old.lines, text.lines))
        )
        self.editor.lua(AS_USER, path, code)

    def undo(self, path: str, steps: int) -> bool:
        before = self.buffers[path].text
        command = f"silent! normal! {steps}u" if steps > 0 else "silent! redo"
        self.editor.lua(IN_BUFFER, path, f"vim.cmd({json.dumps(command)})")
        return self.buffers[path].text != before

    def save(self, path: str) -> None:
        self.editor.lua(IN_BUFFER, path, "vim.cmd('silent write! ++p')")

    def reload(self, path: str) -> None:
        self.editor.lua(IN_BUFFER, path, "vim.cmd('silent edit!')")

    def wipe(self, path: str) -> None:
        self.editor.cmd(f"silent bwipeout! {path}")


class Real(History):
    """One agent, one user, one Neovim."""

    def __init__(self, editor: Editor, seed: int) -> None:
        self.editor = editor
        self.rng = random.Random(seed)
        self.work = editor.work
        self.outside = editor.home / "outside"
        self.clock, self.words, self.log = Clock(), 0, []
        for folder in (self.outside, self.work / "d"):
            folder.mkdir()
        for name in ("c", "precious"):
            (self.outside / name).write_text("precious\n")
        self.paths = [str(self.work / name) for name in ("a", "b", "d/c", "new", "deep/er/new")]
        for path in self.paths[:3]:
            self.put(path, Text(tuple(self.word("old") for _ in range(12))))
        fake: Any = RealNeovim(editor)
        self.neovim = fake
        self.sessions = [Session(1, "script", str(self.work))]
        self.sessions[0].id = "s1"
        self.minds = {("s1", path): Knowledge() for path in self.paths}
        fields: Any = {"save": "auto"}
        self.options = type("Options", (), fields)()
        editor.agent("script")
        self.agent = StepwiseAgent(editor)
        self.agent.begin()
        self.agent.traffic.wait("session/prompt")
        self.prompts = 1
        editor.lua(CHOOSE_FIRST)
        editor.lua("require('acp').setup({ agent = 'script', files = { outside = 'deny' } })")

    def put(self, path: str, text: Text) -> None:
        """Write the file. Neovim recognizes a change by time and size."""
        super().put(path, text)

    async def wait_idle(self) -> None:
        """Wait until the host has processed all notifications."""
        self.editor.lua("vim.wait(0)")

    # ---- the agent

    def ask(self, method: str, *words: str) -> dict[str, Any]:
        answers = len(self.agent.traffic.answers(method))
        self.agent.ask(*words)
        answer = self.agent.traffic.wait_answers(method, answers + 1)[-1]
        if "error" in answer:
            error = answer["error"]
            data = error["data"]
            raise Refusal(data["reason"], data["path"], error["message"])
        found: dict[str, Any] = answer["result"]
        return found

    async def ask_read(self, session: Session, path: str) -> str:
        return str(self.ask("fs/read_text_file", "read", path)["content"])

    async def ask_write(self, session: Session, path: str, text: Text) -> None:
        self.ask("fs/write_text_file", "write", path, json.dumps(str(text)))

    async def turn(self) -> None:
        self.note("is prompted")
        self.agent.end()
        self.agent.begin()
        self.prompts += 1
        until(lambda: len(self.agent.traffic.received("session/prompt")) == self.prompts)

    # ---- the user

    def pending(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.editor.session(1).get("edits", [])
        return found

    def tell(self, verb: str, args: dict[str, Any]) -> None:
        """Make a decision and wait for the message about its result."""
        said = self.editor.messages()
        self.editor.lua("require('acp.base.host').notify(...)", verb, args)
        until(lambda: self.editor.messages() != said, what=f"{verb}: {said[-300:]}")

    async def decide(self) -> None:
        edits = self.pending()
        if self.rng.random() < 0.2 and edits:
            await self.act("unreject", "", self.unreject)
        elif edits:
            edit = self.rng.choice(edits)
            verb = "accept" if self.rng.random() < 0.25 else "reject"
            scope = "file" if self.rng.random() < 0.7 else "all"
            args = {"scope": scope, "path": edit["path"], "session": 1}

            async def work() -> None:
                self.tell(verb, args)

            await self.act("decides", "", work)

    async def unreject(self) -> None:
        self.tell("unreject", {"all": True})

    async def restore(self) -> None:
        """Restore a checkpoint between two turns."""
        n = self.rng.randint(1, self.prompts)
        self.agent.end()

        async def work() -> None:
            said = self.editor.messages()
            args = {"every": True, "session": 1, "n": n}
            self.editor.lua("require('acp.base.host').notify(...)", "restore", args)
            until(lambda: "restored to" in self.editor.messages()[len(said) :], what="restore")

        await self.act("restores", "", work)
        self.agent.begin()
        self.prompts += 1
        until(lambda: len(self.agent.traffic.received("session/prompt")) == self.prompts)

    def steps(self) -> list[Callable[[], Awaitable[None]]]:
        return [step for step in super().steps() if step != self.program]


async def history(editor: Editor, seed: int, steps: int = STEPS) -> None:
    """Run one random history. Raise AssertionError with its steps if it fails."""
    world = Real(editor, seed)
    try:
        for _ in range(steps):
            await world.step()
    except (AssertionError, Refusal, OSError, KeyError) as error:
        raise AssertionError("\n".join([*world.log, repr(error), str(error)])) from error
    world.agent.end()


def main(words: Sequence[str]) -> int:
    """Run histories from a seed on and return the number of failures."""
    first, count = (int(word) for word in [*words, "1"][:2])
    failed = 0
    for seed in range(first, first + count):
        editor = Editor(Path(tempfile.mkdtemp()))
        editor.errors_expected = True
        try:
            anyio.run(history, editor, seed)
            editor.close()
        except BaseException as error:
            failed += 1
            print(seed, "FAILED", str(error)[-3000:], sep="\n", flush=True)
            editor.kill()
    print(f"{count} histories, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
