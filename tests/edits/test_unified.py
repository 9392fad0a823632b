"""Unified diffs, as git reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.edits.unified import unified_rows

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "+", "-", "@@ -1 +1 @@", " x"]), max_size=24)
TEXTS = st.builds(
    lambda lines, end: parse("\n".join(lines) + end), LINES, st.sampled_from(["", "\n"])
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(old=TEXTS, new=TEXTS)
def test_git_applies_the_diff(tmp_path: Path, old: Text, new: Text) -> None:
    path = tmp_path / "f"
    path.write_text(str(old))
    rows = unified_rows(old, new)
    assert (rows == []) == (old == new)
    patch = "\n".join(["--- a/f", "+++ b/f", *rows, ""])
    ran = subprocess.run(
        ["git", "apply", "--allow-empty", "--whitespace=nowarn", "-"],
        input=patch,
        text=True,
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, (ran.stderr, patch)
    assert path.read_text() == str(new)


def test_a_change_has_three_lines_of_context() -> None:
    lines = [f"line {n}" for n in range(1, 41)]
    new = [*lines[:9], "TEN", *lines[10:15], "SIXTEEN", *lines[16:30], *lines[31:]]
    rows = unified_rows(Text(tuple(lines)), Text(tuple(new)))
    assert [row for row in rows if row.startswith("@@")] == [
        "@@ -7,13 +7,13 @@",
        "@@ -28,7 +28,6 @@",
    ]
    patch = PatchSet("\n".join(["--- a/f", "+++ b/f", *rows, ""]))
    assert (patch[0].added, patch[0].removed) == (2, 3)


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        (EMPTY, Text(("a",)), ["@@ -0,0 +1 @@", "+a"]),
        (Text(("a",)), EMPTY, ["@@ -1 +0,0 @@", "-a"]),
        (
            Text(("a",), False),
            Text(("a",)),
            ["@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a"],
        ),
    ],
)
def test_a_diff_marks_a_missing_final_newline(old: Text, new: Text, rows: list[str]) -> None:
    assert unified_rows(old, new) == rows
