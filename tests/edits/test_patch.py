"""Patches of agents, as models write them: applied exactly, or refused with a reason."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.patch import FilePatch, PatchError, parse_complete, parse_patch
from acp_nvim.edits.patch_apply import PatchConflict, apply
from acp_nvim.edits.text import EMPTY, Text, from_lines, parse
from acp_nvim.edits.unified import format_patch as diff_of

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " x", "-y", "+z", "@@ q", "é\u2028", "\ta "]))
TEXTS = st.builds(
    lambda lines, eol: parse("\n".join(lines) + ("\n" if eol and lines else "")),
    LINES,
    st.booleans(),
)


def one(text: str, path: str | None = None) -> FilePatch:
    [found] = parse_patch(text, path)
    return found


@given(TEXTS, TEXTS)
def test_a_diff_of_two_texts_changes_the_one_into_the_other(old: Text, new: Text) -> None:
    written = diff_of("f.txt", old, new)
    if not written:
        assert old == new
        return
    found = one(written)
    assert found.path == "f.txt"
    assert apply(found, old) == new


@given(TEXTS, TEXTS)
def test_wrong_counts_are_counted_again(old: Text, new: Text) -> None:
    written = diff_of("f.txt", old, new)
    if not written or "\n\n" in written or "@@ q" in written:
        return  # a blank line without its blank looks like one between files
    rows = ["@@ -1,99 +1,7 @@" if row.startswith("@@ ") else row for row in written.split("\n")]
    assert apply(one("\n".join(rows)), old) == new


@given(TEXTS, TEXTS, LINES)
def test_new_lines_above_move_a_hunk(old: Text, new: Text, above: list[str]) -> None:
    """This requires that the context of each hunk is unique."""
    numbered = Text(tuple(f"{n}: {line}" for n, line in enumerate(old.lines)))
    changed = Text((*numbered.lines[:1], *new.lines, *numbered.lines[1:]))
    written = diff_of("f", numbered, changed)
    if written:
        there = Text((*above, *numbered.lines))
        assert apply(one(written), there) == Text((*above, *changed.lines))


def test_a_diff_without_a_head_belongs_to_the_given_file() -> None:
    found = one("@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n", "/w/notes.txt")
    assert (found.kind, found.path) == ("modified", "/w/notes.txt")
    assert apply(found, parse("alpha\nbeta\ngamma\n")) == parse("alpha\nBETA\ngamma\n")


def test_a_head_without_numbers_is_found_by_its_lines() -> None:
    found = one("--- a/f\n+++ b/f\n@@ @@\n two\n-three\n+THREE\n")
    assert apply(found, parse("one\ntwo\nthree\nfour\n")) == parse("one\ntwo\nTHREE\nfour\n")


def test_all_file_headers_of_git_are_read(tmp_path: Path) -> None:
    """Compared with git: created, deleted, moved, copied, binary, quoted names."""

    def git(*args: str) -> str:
        name = ("-c", "user.name=x", "-c", "user.email=x@y")
        done = subprocess.run(
            ["git", *name, *args], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "-q")
    long = "".join(f"line {n}\n" for n in range(30))
    for path, text in {"gone": "x\n", "old name": long, "é.txt": "a\n", "bin": "a\0b"}.items():
        (tmp_path / path).write_text(text)
    git("add", ".")
    git("commit", "-qm", "m")
    (tmp_path / "gone").unlink()
    (tmp_path / "old name").rename(tmp_path / "new name")
    (tmp_path / "é.txt").write_text("b\n")
    (tmp_path / "bin").write_text("a\0c")
    (tmp_path / "made").write_text("y\n")
    (tmp_path / "empty").write_text("")
    git("add", "-A")
    found = {it.path: it for it in parse_patch(git("diff", "--cached", "-M"))}
    assert {path: it.kind for path, it in found.items()} == {
        "gone": "deleted",
        "new name": "moved",
        "é.txt": "modified",
        "bin": "modified",
        "made": "created",
        "empty": "created",
    }
    assert found["new name"].origin == "old name"
    assert apply(found["new name"], parse(long)) == parse(long)
    assert apply(found["gone"], parse("x\n")) is None
    assert apply(found["made"], None) == parse("y\n")
    assert apply(found["empty"], None) == EMPTY
    assert apply(found["é.txt"], parse("a\n")) == parse("b\n")
    with pytest.raises(PatchConflict, match="binary"):
        apply(found["bin"], EMPTY)


ENVELOPE = """*** Begin Patch
*** Add File: new.txt
+one
+two
*** Update File: app.py
@@ class A
@@ def f(self):
-        return 1
+        return 2
@@
 tail
+more
*** End of File
*** Update File: a.txt
*** Move to: b.txt
@@
-x
+y
*** Delete File: old.txt
*** End Patch
"""


def test_an_envelope_of_apply_patch_is_read() -> None:
    new, app, moved, old = parse_patch(ENVELOPE)
    assert (new.kind, new.path, apply(new, None)) == ("created", "new.txt", parse("one\ntwo\n"))
    text = "def f(self):\n        return 1\nclass A\n    def f(self):\n        return 1\ntail\n"
    after = text.replace(
        "A\n    def f(self):\n        return 1", "A\n    def f(self):\n        return 2"
    )
    assert apply(app, parse(text)) == parse(after + "more\n")
    assert (moved.kind, moved.origin, moved.path) == ("moved", "a.txt", "b.txt")
    assert apply(moved, parse("x\n")) == parse("y\n")
    assert (old.kind, apply(old, parse("anything\n"))) == ("deleted", None)


def test_blanks_that_a_model_lost_come_from_the_file() -> None:
    text = "*** Begin Patch\n*** Update File: f\n@@\n if x:\n-    a\n+    b\n*** End Patch"
    [found] = parse_patch(text)
    assert apply(found, parse("if x:  \n    a \n")) == parse("if x:  \n    b\n")


@pytest.mark.parametrize(
    ("diff", "text", "why"),
    [
        (
            "@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
            "one\ndue\n",
            "hunk 1 of 1 does not apply: line 2 is 'due', but the patch has 'two'",
        ),
        (
            "@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@\n-c\n+d\n",
            "a\nb\n",
            "hunk 2 of 2 does not apply: the file has 2 lines, but the patch is for line 9",
        ),
        (
            "*** Begin Patch\n*** Update File: f\n@@ def g\n-a\n+b\n*** End Patch",
            "a\n",
            "hunk 1 of 1 does not apply: there is no line 'def g'",
        ),
        (
            "*** Begin Patch\n*** Update File: f\n@@\n-b\n+c\n*** End Patch",
            "a\n",
            "hunk 1 of 1 does not apply: its lines are not in the file, from 'b' on",
        ),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", "a\n", "already exists"),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "x\ny\n", "contains more"),
    ],
)
def test_a_patch_that_does_not_fit_says_which_hunk_and_why(diff: str, text: str, why: str) -> None:
    with pytest.raises(PatchConflict) as caught:
        apply(one(diff, "f"), parse(text))
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_not_an_empty_one() -> None:
    with pytest.raises(PatchConflict, match="no such file"):
        apply(one("@@ -1 +1 @@\n-a\n+b\n", "f"), None)


@pytest.mark.parametrize(
    "text",
    ["", "just words", "*** Begin Patch\n*** End Patch", "*** Begin Patch\nwhat\n*** End Patch",
     "@@ -1,2 +1,2 @@\n+a\n", "*** Begin Patch\n*** Update File: f\n@@\n!x\n*** End Patch"],
)  # fmt: skip
def test_a_text_that_is_not_a_patch_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(PatchError) as caught:
        parse_patch(text)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet=" +-@*\\\nab0,1", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for wrapped in (text, f"*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch"):
        try:
            found = parse_patch(wrapped, "f")
        except PatchError:
            continue
        for patch in found:
            with suppress(PatchConflict):
                apply(patch, parse("a\nb\n"))


HEAD = "diff --git a/x b/x\n"


@pytest.mark.parametrize(
    "text",
    [
        "@@ -1 +1 @@\n-a\n+b\n",
        f"{HEAD}index 12..34 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@ def f\n-a\n+b\n",
        f"{HEAD}old mode 100644\nnew mode 100755\n",
        "Index: x\n=====\n--- x\t(rev 1)\n+++ x\t(now)\n@@ -1 +1 @@\n-a\n\\ No newline\n+b\n",
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        ENVELOPE,
    ],
)
def test_a_complete_patch_is_shown_as_files(text: str) -> None:
    assert parse_complete(text, "x") == tuple(parse_patch(text, "x"))


@pytest.mark.parametrize(
    "text",
    [
        "no patch",
        "first run this:\n" + ENVELOPE,
        ENVELOPE + "and then that\n",
        ENVELOPE.replace("*** Delete File: old.txt\n", "*** Delete File: old.txt\n+kept?\n"),
        f"{HEAD}--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        "Index: y\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
        "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\nelse\n",
        "--- x\n+++ x\n@@ -0,0 +1,70000 @@\n" + "+x\n" * 70_000,
    ],
    ids=["none", "before", "after", "between", "two names", "index", "left over", "large"],
)
def test_a_patch_with_more_than_its_files_is_shown_as_text(text: str) -> None:
    """The files would hide something."""
    assert parse_complete(text, "x") is None


def test_changes_of_mode_are_notes() -> None:
    head = f"{HEAD}new file mode 120000\n--- /dev/null\n+++ b/x\n"
    [link] = parse_complete(head + "@@ -0,0 +1 @@\n+/etc\n") or ()
    assert (link.kind, link.notes) == ("created", ("new file mode 120000",))
    assert (link.count("+"), link.count("-")) == (1, 0)


def test_the_work_of_placing_hunks_is_bounded() -> None:
    text = "*** Begin Patch\n*** Update File: x\n" + "@@\n-a \n+b\n" * 9000 + "*** End Patch"
    with pytest.raises(PatchConflict, match="too many possible places"):
        apply(one(text), from_lines(["a"] * 100_000))
