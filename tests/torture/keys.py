"""Random keys in the windows of the plugin, while an agent works.

`python -m tests.torture.keys SEED STEPS COUNT` runs COUNT histories in a real Neovim with a screen,
a real host and a scripted agent, and prints the steps of those that fail.

A step is keys of the user, a new size of the screen, or an act of the agent without any key.

- Neovim answers. Without a key there is no hit-enter prompt.
- `:messages`, `v:errmsg` and the messages of the plugin have no internal error.
- An act of the agent keeps the user's window, mode, cursor and text, and adds only its own lines.
- Keys that move between windows or close them keep all texts.
- The user's windows have no options of the plugin.
- A permission request is answered only by keys that can answer it, after it was on the screen.
- At the end each request of a living agent has one answer, and `:qa!` leaves no process.

The steps depend only on the seed. Their timing does not, since the agent is a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.lua import lua_chunk
from tests.support.rpc import EditorBlocked, EditorError, EditorGone
from tests.support.waiting import until
from tests.torture import histories
from tests.torture.drawn_keys import ANCHOR, FILES, MOVES, Step, can_answer, drawn

STEPS = 40
ANSWER_S = 5.0
"""Maximum time until Neovim answers, in seconds."""
ACT_S = 0.4
"""Time in which most acts of the agent are done. Some wait for an answer of the user."""
LATE: Final = 6
"""Number of presses in which a command of the plugin may still open a window."""
CHOICE: Final = "Type number"
"""Beginning of the last line of Neovim's own list of choices."""
SEE: Final = lua_chunk(__file__, "see_keys")
"""Return window, mode, cursor and texts, and remove the errors so far."""
RECORD_FAULTS: Final = lua_chunk(__file__, "record_faults")


class Monkey:
    """One history in one Neovim."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.orders = 0
        self.prompts = 0
        self.shown: set[str] = set()
        """Ids of the permission requests that have been on the screen."""
        self.chosen: set[str] = set()
        """Ids of those that were answered."""
        self.is_trusting = False
        """Whether permission requests may be allowed without a question."""
        self.may_answer = [False, False]
        """Whether this step and the one before it may answer a permission request."""
        self.opening = 0
        """Number of presses in which the last command of the plugin may still open a window."""
        self.columns = 120
        self.had_quickfix = False
        """Whether a window of the quickfix list was open. Its height stays fixed with a file."""
        self.home = editor.home / "orders"
        self.home.mkdir()
        for name in FILES:
            rows = "".join(f"{name[0]} {row}\n" for row in range(12))
            editor.write(name, f"{rows}{ANCHOR}\n{rows}")
        repository(editor.work)
        self.traffic = editor.agent("many_turns", str(self.home))
        editor.lua(RECORD_FAULTS)
        editor.cmd("set mouse=a | edit a.txt")
        editor.prompt("begin")
        self.traffic.wait("session/prompt")

    # ---- steps

    def take(self, step: Step) -> None:
        """Take a step and check the invariants."""
        kind, *words = step
        self.may_answer = [False, self.may_answer[0]]
        if kind == "press":
            self.opening = max(0, self.opening - 1)
            self.press(words)
        elif kind == "resize":
            self.columns = int(words[0])
            self.editor.rpc.request("nvim_ui_try_resize", *map(int, words))
        else:
            self.act(words)
        self.leave_prompts()
        self.check(self.see())

    def press(self, tokens: list[str]) -> None:
        """Press keys one after the other."""
        for token in tokens:
            before = self.see() if self.is_free() else None
            if before is not None:
                self.shown |= self.visible_requests()
            self.is_trusting |= token.startswith(":Acp<Space>trust")
            self.may_answer[0] |= before is None or can_answer(token, before["kind"])
            self.opening = LATE if ":Acp" in token or token == ":@:<CR>" else self.opening
            self.had_quickfix |= token.startswith(":copen")
            self.editor.keys(token)
            is_move = before is not None and before["mode"] == "n" and token in MOVES
            if before is not None and is_move and self.is_free():
                compare_texts(before, self.see(), token, is_returning=self.opening > 0)

    def act(self, words: list[str]) -> None:
        """Let the agent act, without any key."""
        before = self.see() if self.is_free() else None
        if words[0] == "end":
            self.prompts += 1
            self.lua("require('acp').prompt(...)", f"prompt {self.prompts}")
        self.order([word.replace("WORK", str(self.editor.work)) for word in words])
        if before is None:
            return
        after = self.see()
        kept = ["window", "mode"] + (["cursor"] if before["kind"] != "view" else [])
        is_message = "r" in before["mode"] + after["mode"]  # one is just being shown
        is_gone = before["window"] not in after["windows"]  # a float of the plugin
        if before["mode"] == "n" and after["mode"] == "no":
            after["mode"] = "n"  # an operator that could have begun a mapping
        is_new = after["window"] not in before["windows"] or after["mode"] == "c"  # or a choice
        may_change = self.opening == LATE or (self.opening > 0 and is_new)
        if not (may_change or is_message or is_gone or before["line"] == ANCHOR):
            changed = {it: (before[it], after[it]) for it in kept if before[it] != after[it]}
            assert not changed, f"the agent changed {changed}"
        compare_texts(before, after, "the agent", is_returning=self.opening > 0)

    def order(self, words: list[str]) -> None:
        """Give the agent an order, and wait until it is done and shown, but not for long."""
        self.orders += 1
        waiting = self.home / "order"
        opened = len(self.traffic.received("session/new"))
        session = f"s{1 + self.orders % max(opened, 1)}"
        waiting.write_text(json.dumps([session, *words]))
        waiting.rename(self.home / f"{self.orders}.json")
        end = time.monotonic() + ACT_S
        while time.monotonic() < end and f"done {self.orders}" not in self.traffic.notes():
            self.editor.rpc.pump(0.02)
        for _ in range(3):
            self.editor.rpc.pump(0.03)

    # ---- state

    def is_free(self) -> bool:
        """Return whether Neovim serves requests. Fail if its main loop is stuck."""
        return not self.editor.rpc.mode(ANSWER_S)["blocking"]

    def leave_prompts(self) -> None:
        """Type keys until Neovim serves requests."""
        for key in ["<CR>", "<Esc>", "<C-c>"] * 4:
            if self.is_free():
                return
            self.show_rest()
            self.editor.keys(key)
        assert self.is_free(), "Neovim waits for a key"

    def show_rest(self) -> None:
        """Leave a more prompt, where any other key shows one line or one page."""
        if self.editor.rpc.mode(ANSWER_S)["mode"] == "rm":
            self.editor.keys("G")

    def see(self) -> dict[str, Any]:
        found: dict[str, Any] = self.lua(SEE, str(self.editor.work))
        return found

    def visible_requests(self) -> set[str]:
        """Return the ids of permission requests on the screen: all if their names may be cut."""
        if self.columns < 80:
            return {str(it["id"]) for it in self.traffic.sent("session/request_permission")}
        screen = "\n".join(self.editor.grid.lines())
        return {f"about {name}" for name in re.findall(r"\bq\d+\b", screen)}

    def lua(self, code: str, *args: Any) -> Any:
        """Run a Lua chunk. Leave a list of choices, which a command may have opened late."""
        request = self.editor.rpc.send("nvim_exec_lua", code, args)
        try:
            return self.editor.rpc.answer(request, ANSWER_S)
        except EditorBlocked:
            self.show_rest()
            assert any(CHOICE in row for row in self.editor.grid.lines()), "Neovim waits for a key"
            self.leave_prompts()
            return self.editor.rpc.answer(request, ANSWER_S)

    def check(self, seen: dict[str, Any]) -> None:
        """Check the invariants of every state."""
        assert not seen["faults"], "\n".join(seen["faults"])
        wrong = [it for it in seen["wrong"] if not (self.had_quickfix and "winfixheight" in it)]
        assert not wrong, wrong
        chosen = {
            str(answer["id"])
            for answer in self.traffic.answers("session/request_permission")
            if answer.get("result", {}).get("outcome", {}).get("outcome") == "selected"
        } - self.chosen
        if not self.is_trusting:
            assert not chosen or any(self.may_answer), f"answered by no key: {chosen}"
            unseen = chosen - self.shown
            assert not unseen, f"answered without being on the screen: {unseen}"
        self.chosen |= chosen

    def end(self) -> None:
        """Cancel everything; each request must have one answer."""
        self.editor.keys("<C-\\><C-n>")
        self.leave_prompts()
        until(self.has_answered, ANSWER_S, "each request has one answer")

    def has_answered(self) -> bool:
        """Cancel all, and return whether each request of the agent has one answer."""
        for n in self.lua("return vim.tbl_keys(require('acp').state().sessions)"):
            self.lua("pcall(require('acp').cancel, ...)", n)
        requests = [it for it in self.traffic.sent() if "method" in it and "id" in it]
        responses = [it for it in self.traffic.received() if "method" not in it]
        asked, got = (Counter(str(it["id"]) for it in frames) for frames in (requests, responses))
        notes = self.traffic.notes()
        if len(self.traffic.pids()) > 1 or "eof" in notes or "signal" in notes:
            return not got - asked  # some requests are of a process that has ended
        is_done = f"done {self.orders}" in ["done 0", *notes]
        return is_done and asked == got


def compare_texts(
    before: dict[str, Any], after: dict[str, Any], what: str, *, is_returning: bool = False
) -> None:
    """Check that no line of a composer or a file is lost, and that only the agent's are new.

    If `is_returning`, prompts that were not sent may return to composers, and a draft may move to
    the composer of a new session.
    """
    now = dict(after["texts"])
    composed = Counter(
        line for name, lines in now.items() if name.startswith("acp://") for line in lines
    )
    for name, lines in dict(before["texts"]).items():
        assert name in now, f"{what}: {name} is gone with {lines}"
        old: Counter[str] = Counter(lines)
        is_composer = is_returning and name.startswith("acp://")
        new = composed if is_composer else Counter(now[name])
        lost, added = old - new, Counter[str]() if is_composer else new - old
        if is_composer:
            del lost[""]  # an empty draft
        changed = [line for line in lost + added if not line.startswith("agent ")]
        assert not changed, f"{what}: {name} lost {old - new}, got {new - old}"


def history(editor: Editor, steps: list[Step]) -> None:
    """Take the steps. Raise AssertionError with those so far if one fails."""
    editor.errors_expected = True  # those of the user's keys; `check` finds the others
    monkey = Monkey(editor)
    done: list[Step] = []
    try:
        for step in steps:
            done.append(step)
            monkey.take(step)
        monkey.end()
    except EditorGone:  # a key has quit, or Neovim has crashed
        if editor.rpc.process.wait(ANSWER_S) != 0:
            stderr = (editor.home / "nvim.stderr").read_text()
            raise AssertionError("\n".join([*map(str, done), "crashed", stderr])) from None
    except (AssertionError, EditorError) as error:
        raise AssertionError("\n".join([*map(str, done), editor.report(str(error))])) from error


def run(seed: int, steps: int = STEPS) -> str:
    """Run one history and return the failure, or ""."""
    return run_steps(drawn(seed, steps))


def run_steps(steps: list[Step]) -> str:
    """Run the steps in a directory of their own and return the failure, or ""."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        editor = Editor(Path(os.path.realpath(root)))
        try:
            history(editor, steps)
            editor.close()
        except (AssertionError, EditorError) as error:
            return str(error) or repr(error)
        finally:
            editor.kill()
    return ""


if __name__ == "__main__":
    sys.exit(histories.main(run, STEPS))
