"""An accept in an unsaved buffer is also one of the same lines in the file."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.edits.text import Text
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path

OLD = "".join(f"line {n}\n" for n in range(1, 13))


async def exchange(*neovims: FakeWorkspace) -> None:
    for neovim in neovims * 2:
        await neovim.exchange()


async def accepted(started: Neovims, text: str, later: str, typed: Sequence[str]) -> FakeWorkspace:
    """Accept an agent's ``text`` in an unsaved buffer, below which another agent wrote ``later``.

    Return another Neovim.
    """
    first = await started.neovim("first")
    other = await started.neovim("other")
    path = first.work / "a.txt"
    await first.write(path, text)
    first.neovim.open(str(path))
    await first.core.live.sync(str(path))
    first.neovim.type(str(path), Text(tuple(typed)))
    await exchange(first, other)
    await other.write(path, later)
    await exchange(other, first)
    said = await first.core.review.files("accept", first.core.files.ledger.files())
    assert said == []
    await exchange(first, other)
    assert path.read_text() == later
    return other


async def test_lines_of_a_new_file(started: Neovims) -> None:
    later = "zero\none\nhalf\ntwo\nthree\n"
    other = await accepted(started, "one\ntwo\n", later, ["one", "two", "mine"])
    added = [((), ("zero",)), ((), ("half",)), ((), ("three",))]
    assert pending_by_path(other) == {"a.txt": ("modified", False, added)}


async def test_lines_of_a_larger_hunk(started: Neovims) -> None:
    (started.root / "work").mkdir()
    (started.root / "work" / "a.txt").write_text(OLD)
    text = OLD.replace("line 2\n", "two\n")
    later = text.replace("line 3\n", "three\n")
    other = await accepted(started, text, later, [*text.splitlines(), "mine"])
    assert pending_by_path(other) == {"a.txt": ("modified", False, [(("line 3",), ("three",))])}


async def test_lines_that_the_file_lacks(started: Neovims) -> None:
    (started.root / "work").mkdir()
    (started.root / "work" / "a.txt").write_text(OLD)
    text = OLD.replace("line 2\n", "two\n")
    typed = text.replace("two\n", "mine\n").splitlines()
    later = text.replace("line 9\n", "nine\n")
    other = await accepted(started, text, later, typed)
    hunks = [(("line 2",), ("two",)), (("line 9",), ("nine",))]
    assert pending_by_path(other) == {"a.txt": ("modified", False, hunks)}


async def test_lines_of_several_hunks(started: Neovims) -> None:
    (started.root / "work").mkdir()
    (started.root / "work" / "a.txt").write_text(OLD)
    text = OLD.replace("line 2\n", "two\n").replace("line 4\n", "four\nmore\n")
    typed = ["mine", *text.replace("line 3\n", "").replace("more\n", "").splitlines()]
    later = text.replace("line 9\n", "nine\n")
    other = await accepted(started, text, later, typed)
    hunks = [((), ("more",)), (("line 9",), ("nine",))]
    assert pending_by_path(other) == {"a.txt": ("modified", False, hunks)}


async def test_an_undo_to_the_saved_text_shows_its_undecided_lines(started: Neovims) -> None:
    neovim = await started.neovim("first")
    path = neovim.work / "a.txt"
    await neovim.write(path, "one\ntwo\nthree\n")
    neovim.neovim.open(str(path))
    await neovim.core.live.sync(str(path))
    neovim.neovim.type(str(path), Text(("one", "mine", "three")))
    await neovim.core.live.sync(str(path))
    assert await neovim.core.review.files("accept", neovim.core.files.ledger.files()) == []
    assert pending_by_path(neovim) == {}
    neovim.neovim.undo(str(path), 1)
    assert pending_by_path(neovim) == {"a.txt": ("modified", False, [((), ("two",))])}
