"""An agent and a user edit the same files: writes, renames, commits, typing, saves, decisions.

After each step the editor, the disk and the pending edits must equal a model: a ledger that gets
the same steps. `python -m tests.torture.basic SEED STEPS COUNT` runs COUNT histories of STEPS
steps, starting with SEED, and prints the steps of those that fail.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.text import EMPTY, Text
from tests.support.editor import Editor
from tests.support.git import git
from tests.support.lua import lua_call
from tests.support.rpc import EditorError
from tests.support.waiting import until
from tests.torture.decisions import Decisions
from tests.torture.world import AS_USER, SHOW, in_lua

NO_CALLS = lua_call(__file__, "has_no_open_calls")
"""True if no tool call is running, so that a commit is the user's."""


class History(Decisions):
    """Random steps of an agent and a user."""

    autosave = ""
    """How the user's buffers save themselves; empty if they do not."""

    def wrote(self, path: str, new: Text) -> None:
        """Enter a text that the agent has left on disk in the model."""
        old = self.ledger_disk.get(path)
        live = self.live_before[path]
        if new == old:  # a write without a change makes no pending edit
            self.settle({path: live}, {path: new})
            return
        until(lambda: self.edit_events(path) > self.edit_events_before, what=f"AcpEdit of {path}")
        if self.clean(path):
            self.ledger.record_agent_write(path, old, new, self.n)
            self.settle({path: new}, {path: new})
        else:
            self.wrote_over_unsaved(path, old, new)

    def wrote_over_unsaved(self, path: str, old: Text | None, new: Text) -> None:
        """Enter a text that the agent wrote while the buffer had unsaved edits."""
        live = self.live_before[path]
        assert live is not None
        merged = merge(old or EMPTY, live, new)
        if isinstance(merged, Conflict):
            self.ledger.record_conflict(path, live, [(False, old, new)], self.n)
            self.settle({path: live}, {path: new})
            self.resolve(path)
        else:
            on_disk = None if merged.text == new or old is None else (old, new)
            self.ledger.record_agent_write(path, live, merged.text, self.n, on_disk=on_disk)
            self.settle({path: merged.text}, {path: new})

    def remember(self, path: str) -> None:
        """Record the texts of a file before a step."""
        self.look()
        self.ledger_disk = {path: self.disk(path)}
        self.live_before = {path: self.live(path)}
        self.edit_events_before = self.edit_events(path)

    def edit_events(self, path: str) -> int:
        """Return the number of `AcpEdit` events of a file.

        An edit is pending once its event was sent.
        """
        return sum(event["data"]["path"] == path for event in self.editor.events("AcpEdit"))

    def agent_on_disk(self) -> None:
        """Change a file on disk, outside of the editor."""
        path = self.random_path(lambda p: self.disk(p) not in (None, EMPTY))
        if path is None:
            return
        self.remember(path)
        disk = self.disk(path)
        assert disk is not None
        new = self.changed(disk, "agent")
        self.note("agent on disk", path, diff(disk.lines, new.lines))
        target = self.editor.home / "new"
        self.put(path, new, target)
        named = [path] if self.rng.random() < 0.5 else self.named(path)
        how = self.rng.choice(["cat {0} > {1}", "cp {0} {1}.tmp; mv {1}.tmp {1}"])
        self.agent.ask("runs", *named, how.format(target, path))
        self.wrote(path, new)

    def agent_writes(self) -> None:
        """Read and write a file through the editor."""
        path = self.random_path(lambda p: self.live(p) not in (None, EMPTY))
        if path is None:
            return
        self.look()
        before, disk, clean = self.live(path), self.disk(path), self.clean(path)
        assert before is not None
        new = self.written(before, clean)
        self.note("agent writes", path, diff(before.lines, new.lines))
        self.agent.ask("read", path)
        self.agent.ask("write", path, json.dumps(str(new)))
        if new != before:
            self.ledger.record_agent_write(path, before, new, self.n, saved=clean)
        found = self.saved(path, new) if clean else new
        self.settle({path: found}, {path: found if clean else disk})

    def written(self, before: Text, clean: bool) -> Text:
        """Return a changed text. ``clean``: the editor will also save it."""
        return self.changed(before, "agent")

    def saved(self, path: str, text: Text) -> Text:
        """Return the text after the editor has saved it."""
        return text

    def agent_creates(self) -> None:
        """Create a file, through the editor or on disk."""
        path = str(self.editor.work / f"n{self.words}.txt")
        text = Text((self.word("agent"), self.word("agent"), self.word("agent")))
        self.note("agent creates", path)
        if self.rng.random() < 0.5:
            self.agent.ask("write", path, json.dumps(str(text)))
        else:
            (self.editor.home / "new").write_text(str(text))
            self.agent.ask("runs", *self.named(path), f"cp {self.editor.home}/new {path}")
        self.paths.append(path)
        self.ledger.record_agent_write(path, None, text, self.n)
        self.settle({path: text}, {path: text})

    def agent_deletes(self) -> None:
        """Delete a file."""
        path = self.random_path(lambda p: self.disk(p) is not None and self.clean(p))
        if path is None:
            return
        before = self.disk(path)
        assert before is not None
        self.note("agent deletes", path)
        self.agent.ask("runs", *self.named(path), f"rm {path}")
        self.ledger.record_agent_deletion(path, before, self.n)
        self.settle({path: None}, {path: None})

    def agent_renames(self) -> None:
        """Move a file."""
        path = self.random_path(
            lambda p: self.disk(p) not in (None, EMPTY) and p not in self.buffers
        )
        if path is None:
            return
        text = self.disk(path)
        assert text is not None
        new = str(self.editor.work / f"m{self.words}.txt")
        self.words += 1
        self.note("agent renames", path, new)
        self.paths.append(new)
        self.layouts[new] = self.layout(path)
        self.agent.ask("runs", *self.named(path, new), f"mv {path} {new}")
        self.moved(path, new)
        self.ledger.record_agent_move(path, new, text, self.n)
        self.settle({path: None, new: text}, {path: None, new: text})

    def moved(self, old: str, new: str) -> None:
        """Move the model's facts about a file to its new path."""

    def both_at_once(self) -> None:
        """Edit one line as the user while the agent changes another line of the file on disk."""
        path = self.random_path(lambda p: self.clean(p) and self.disk(p) is not None)
        if path is None:
            return
        self.remember(path)
        disk = self.disk(path)
        assert disk is not None
        # the keys `0C` and `s/.*/` would change the BOM
        free = self.free_rows(path, len(disk.lines))[self.layout(path).bomb :]
        pairs = [(a, b) for a in free for b in free if abs(a - b) > 3]
        if not pairs:
            return
        mine, theirs = self.rng.choice(pairs)
        user, agent = self.word("user"), self.word("agent")
        save = self.rng.random() < 0.5 or bool(self.autosave)
        self.note("both at once", path, mine + 1, theirs + 1, "saved" if save else "")
        self.editor.lua(SHOW, path)
        keys = f"{mine + 1}G0C{user}<Esc>" + (":w<CR>" if save and not self.autosave else "")
        first = self.rng.random() < 0.5
        if save and first:
            self.editor.keys(keys)
            until(lambda: user in str(self.disk(path)))
        ended = disk.eol or (save and first and self.ends(path))
        dos = self.layout(path).dos and (theirs + 1 < len(disk.lines) or ended)
        sed = f"LC_ALL=C sed -i '{theirs + 1}s/.*/{agent}" + "\\r" * dos + f"/' {path}"
        done = self.agent.order("runs", *self.named(path), sed)
        if save and not first:
            until(lambda: agent in str(self.disk(path)))
        if not (save and first):
            self.editor.keys(keys)
        until(lambda: done in self.agent.traffic.notes(), what=done)
        lines = list(disk.lines)
        lines[mine] = user
        eol = disk.eol or (save and self.ends(path))
        edited = Text(tuple(lines), eol if first else disk.eol)
        lines[theirs] = agent
        both = Text(tuple(lines), eol)
        merged = Text(both.lines, edited.eol)
        lines = list(disk.lines)
        lines[theirs] = agent
        only = Text(tuple(lines), disk.eol)
        if not save:
            self.ledger.split_from_disk(path)
        self.ledger.record_user_edit(path, edited)
        on_disk = None if save else (disk, only)
        self.ledger.record_agent_write(path, edited, merged, self.n, on_disk=on_disk)
        self.ledger.record_user_edit(path, both)  # a later save has ended the last line
        self.settle({path: both}, {path: both if save else only})

    def ends(self, path: str) -> bool:
        """Return whether a save ends the last line.

        It does not if an agent or a reject removed its end.
        """
        return bool(self.editor.lua("return vim.bo[vim.fn.bufnr(...)].fixendofline", path))

    def free_rows(self, path: str, count: int) -> list[int]:
        """Return the rows that no pending hunk touches."""
        entry = self.ledger.get(path)
        if entry is not None and (entry.base is None or entry.is_conflict):
            return []
        rows = set(range(count))
        for hunk in entry.hunks if entry else ():
            rows -= set(range(hunk.new_start - 2, hunk.new_end + 2))
        return sorted(rows)

    # ---- the user

    def random_path(self, fit: Callable[[str], bool]) -> str | None:
        """Return a random path that fits, if there is one."""
        fitting = [path for path in self.paths if fit(path)]
        return self.rng.choice(fitting) if fitting else None

    def as_user(self, what: str, path: str, code: str) -> None:
        self.note("user", what, path)
        self.editor.lua(AS_USER, path, code)
        self.follow_editor()

    def user_types(self) -> None:
        """Change, add and remove lines."""
        path = self.random_path(lambda p: self.disk(p) is not None)
        if path is None:
            return
        old = self.live(path)
        assert old is not None
        new = self.changed(old, "user")
        code = "".join(
            f"vim.api.nvim_buf_set_lines(0, {h.start}, {h.end}, true, {in_lua(h.lines)}) "
            for h in reversed(diff(old.lines, new.lines))
        )
        self.as_user("types", path, code)

    def user_command(self) -> None:
        """Save, undo, redo, reload, or go elsewhere in the undo tree."""
        path = self.random_path(lambda p: self.disk(p) is not None)
        if path is None:
            return
        jumps = [
            "undo 0",
            "earlier 3",
            "later 9",
            "norm! 3u",
            "redo | silent redo",
            "norm! g-",
            "norm! g+",
        ]
        undos = ["undo", "undo", "redo", self.rng.choice(jumps)]
        command = self.rng.choice(["write", "write", "edit!", "update", *undos])
        self.undoes = command in undos
        # a second message right after one of the plugin would need a key
        self.as_user(f"silent {command}", path, f"pcall(vim.cmd, 'silent {command}')")
        self.undoes = False

    def user_looks(self) -> None:
        """Open, split and close windows, and unload buffers."""
        path = self.random_path(lambda p: self.disk(p) is not None)
        if path is None:
            return
        command = self.rng.choice(
            ["hide edit", "split", "vsplit", "only", "bwipeout!", "bdelete!", "bunload!", "close"]
        )
        if command.endswith("!") and not self.clean(path):
            return  # `tests/torture/reborn.py` covers discarded unsaved text
        argument = "" if command in ("only", "close") else f" {path}"
        self.note("user", command, path)
        self.editor.lua("pcall(vim.cmd, ...)", f"silent {command}{argument}")
        self.follow_editor()

    def commit(self) -> None:
        """Commit everything if all is saved, so that the host may notice at any time."""
        if not all(map(self.clean, self.paths)):
            return
        self.note("commit")
        self.editor.wait(NO_CALLS)
        git(self.editor.work, "add", "-A")
        git(self.editor.work, "commit", "-q", "--allow-empty", "-m", "x")
        self.editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
        for entry in self.ledger.files():
            if self.disk(entry.path) != self.head.get(entry.path):
                self.ledger.accept_committed(entry.path, self.disk(entry.path))
        self.head = {path: self.disk(path) for path in self.paths}
        self.settle({}, {})

    # ---- all together

    def agents_steps(self) -> list[Callable[[], None]]:
        """Return the agent's possible steps. Repeated ones are more likely."""
        return [
            *[self.agent_on_disk] * 4,
            *[self.agent_writes] * 3,
            self.agent_creates,
            self.agent_deletes,
            self.agent_renames,
            *[self.both_at_once] * 3,
        ]

    def users_steps(self) -> list[Callable[[], None]]:
        """Return the user's possible steps. Repeated ones are more likely."""
        return [
            *[self.user_types] * 5,
            *[self.user_command] * 5,
            *[self.user_looks] * 3,
            *[self.decide] * 5,
            self.commit,
        ]

    def step(self) -> None:
        """Take a random step."""
        if self.rng.random() < 0.12:
            if self.agent.working:
                self.end()
            else:
                self.begin()
        elif self.agent.working and self.rng.random() < 0.5:
            self.rng.choice(self.agents_steps())()
        else:
            self.rng.choice(self.users_steps())()

    def finish(self) -> None:
        """Decide everything: accepted text must be the live text, rejected text the base."""
        if self.agent.working:
            self.end()
        self.note("user saves all")
        self.editor.lua("vim.cmd('silent! wall')")
        self.follow_editor()
        verb = self.rng.choice(["accept", "reject"])
        for n in self.numbers():
            self.n = n
            self.decide_all(verb)
        assert self.ledger.files() == []
        self.settle({}, {})


def history(editor: Editor, seed: int, steps: int, kind: type[History] = History) -> History:
    """Run one random history. Raise AssertionError with its steps if editor and model differ."""
    world = kind(editor, seed)
    try:
        for _ in range(steps):
            world.step()
        world.finish()
    except (AssertionError, EditorError) as error:
        raise AssertionError("\n".join([*world.log, str(error)])) from error
    return world


def main(words: Sequence[str], kind: type[History] = History) -> int:
    """Run histories from a seed on (default: one of 60 steps) and return the number of failures."""
    first, steps, count = (int(word) for word in [*words, "60", "1"][:3])
    failed = 0
    for seed in range(first, first + count):
        editor = Editor(Path(tempfile.mkdtemp()))
        editor.errors_expected = True
        try:
            history(editor, seed, steps, kind)
            editor.close()
            print(seed, "fine", flush=True)
        except BaseException as error:
            failed += 1
            print(
                seed, "FAILED", str(error)[-6000:], editor.messages()[-1500:], sep="\n", flush=True
            )
            editor.kill()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
