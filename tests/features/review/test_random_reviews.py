"""Random reviews in a real Neovim, compared with a model; drawing of large files."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from acp_nvim.edits.hunks import Hunk, apply, diff, invert
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.pending_edits import wait_hunks
from tests.support.review_frames import count_marks, marks_set
from tests.support.waiting import until

DRAWN = """
local ns = vim.api.nvim_create_namespace('acp.hunks')
return #vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {}) == ...
"""


class Model:
    """File under review, as lists of lines."""

    def __init__(self, lines: list[str]) -> None:
        self.base = lines
        self.live = lines

    @property
    def hunks(self) -> list[Hunk]:
        return diff(self.base, self.live)

    def hunk_at(self, row: int) -> Hunk:
        """Return the hunk at a row; present lines take precedence over removed ones beside them."""
        at = [h for h in self.hunks if h.new_start <= row < h.new_end]
        removals = [h for h in self.hunks if not h.lines and row in (h.new_start - 1, h.new_start)]
        return [*at, *removals][0]

    def decide(self, verdict: str, hunk: Hunk) -> None:
        if verdict == "accept":
            self.base = apply(self.base, [hunk])
            return
        back = dict(zip(self.hunks, invert(self.base, self.hunks), strict=True))
        self.live = apply(self.live, [back[hunk]])

    def user(self, row: int, line: str) -> None:
        """Change a line outside all hunks, as the user."""
        shift = sum(hunk.growth for hunk in self.hunks if hunk.new_end <= row)
        self.base = [*self.base[: row - shift], line, *self.base[row - shift + 1 :]]
        self.live = [*self.live[:row], line, *self.live[row + 1 :]]


def agents_version(rng: random.Random, lines: list[str], turn: int) -> list[str]:
    """Return a text with some lines changed, added and removed."""
    found: list[str] = []
    for n, line in enumerate(lines):
        roll = rng.random()
        if roll < 0.08:
            found.append(f"{line} changed {turn}")
        elif roll < 0.14:
            found += [line, f"added {turn}.{n}"]
        elif roll >= 0.2:
            found.append(line)
    return found or ["empty"]


SETTLED = lua_chunk(__file__, "has_hunks")


def wait_saved(path: Path, model: Model) -> None:
    """Wait until the decisions are saved; a hunk counts as decided while its file is still being
    written.
    """
    wanted = "\n".join(model.live) + "\n"
    until(lambda: path.read_text() == wanted)


def review(editor: Editor, path: Path, model: Model, rng: random.Random) -> None:
    """Decide and edit at random until nothing is pending."""
    while model.hunks:
        rows = set(range(len(model.live)))
        for hunk in model.hunks:
            rows -= set(range(hunk.new_start - 1, hunk.new_end + 1))
        if rows and rng.random() < 0.2:
            row = rng.choice(sorted(rows))
            model.user(row, f"user {rng.random()}")
            editor.lua(
                "local path, row, line = ... local b = vim.fn.bufadd(path) "
                "vim.api.nvim_buf_set_lines(b, row, row + 1, true, { line }) "
                "vim.api.nvim_buf_call(b, function() vim.cmd('silent write') end)",
                str(path),
                row,
                model.live[row],
            )
            continue
        hunk = rng.choice(model.hunks)
        verdict = rng.choice(["accept", "reject"])
        row = min(hunk.new_start, len(model.live) - 1)
        hunk = model.hunk_at(row)
        model.decide(verdict, hunk)
        editor.lua(
            "local verb, path, line = ... require('acp.base.host').notify(verb, "
            "{ scope = 'hunk', path = path, line = line })",
            verdict,
            str(path),
            row + 1,
        )
        editor.wait(SETTLED, str(path), len(model.hunks))
        wait_saved(path, model)


@pytest.mark.timeout(240)
def test_60_random_reviews_match_the_model(editor: Editor) -> None:
    rng = random.Random(7)
    files = 10
    paths = [editor.write(f"r{n}.txt", "") for n in range(files)]
    models = [Model([f"{n} {row}" for row in range(30)]) for n in range(files)]
    for path, model in zip(paths, models, strict=True):
        path.write_text("\n".join(model.live) + "\n")
    editor.agent("script")
    for turn in range(60 // files):
        script = []
        for path, model in zip(paths, models, strict=True):
            model.live = agents_version(rng, model.live, turn)
            text = json.dumps("\n".join(model.live) + "\n")
            script += [f"read {path}", f"write {path} {text}"]
        editor.turn("\n".join(script))
        for path, model in zip(paths, models, strict=True):
            editor.wait(SETTLED, str(path), len(model.hunks))
            review(editor, path, model, rng)
            wait_saved(path, model)
            assert editor.lines(str(path)) == model.live


# ---- large files


def large(editor: Editor, lines: int, hunks: int) -> None:
    """Return a file with this number of pending hunks."""
    text = [f"line {n}" for n in range(lines)]
    editor.write("big.txt", "\n".join(text) + "\n")
    editor.agent("script")
    editor.open("big.txt")
    step = lines // hunks
    editor.turn(
        "runs "
        + json.dumps(
            f"awk '{{ if (NR % {step} == 1) print \"changed \" NR; else print }}' "
            "big.txt > x && cat x > big.txt && rm x"
        )
    )
    wait_hunks(editor, hunks)


@pytest.mark.parametrize("hunks", [50, 2_000])
def test_a_decision_draws_only_its_changes(editor: Editor, hunks: int) -> None:
    lines = 10_000
    large(editor, lines, hunks)
    editor.wait(DRAWN, hunks)
    count_marks(editor)
    for n in range(1, 6):
        editor.cmd(str(1 + n * (lines // hunks)))
        editor.cmd("Acp accept" if n % 2 else "Acp reject")
        wait_hunks(editor, hunks - n)
        editor.wait(DRAWN, hunks - n)
        assert marks_set(editor) <= 4
