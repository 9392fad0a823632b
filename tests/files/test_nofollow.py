"""Files by their resolved paths: a path that has become a link is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from acp_nvim.files.bytes import atomic_write, nofollow
from acp_nvim.files.bytes.nofollow import LinkError, NotRegularError, Rights, SizeError


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a directory `d/e` with a file `x`, and one of the same shape elsewhere."""
    root = Path(os.path.realpath(tmp_path))
    for top in ("work", "outside"):
        (root / top / "d/e").mkdir(parents=True)
        (root / top / "d/e/x").write_text(top)
    return root / "work"


ACTS: dict[str, Callable[[str], object]] = {
    "read": nofollow.read,
    "info": nofollow.info,
    "write": lambda path: atomic_write.write(path, b"new"),
    "replace": lambda path: atomic_write.replace(path, b"new"),
    "remove": nofollow.remove,
    "symlink": lambda path: nofollow.symlink(path, b"target"),
    "set_rights": lambda path: nofollow.set_rights(path, Rights(0o777, os.getuid(), os.getgid())),
}


def outside_is_whole(work: Path) -> bool:
    outside = work.parent / "outside/d/e"
    names = [path.name for path in outside.iterdir()]
    return names == ["x"] and (outside / "x").read_text() == "outside"


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("swapped", ["d", "d/e"])
@pytest.mark.parametrize("name", ["x", "new"])
def test_a_directory_that_has_become_a_link_is_not_followed(
    work: Path, act: str, swapped: str, name: str
) -> None:
    (work / swapped).rename(work / "away")
    (work / swapped).symlink_to(work.parent / "outside" / swapped)
    with pytest.raises(LinkError, match=f"the directory {swapped[-1]} has become a symbolic link"):
        ACTS[act](str(work / "d/e" / name))
    assert outside_is_whole(work)


@pytest.mark.parametrize("act", ["read", "write", "remove", "set_rights"])
def test_a_file_that_has_become_a_link_is_not_followed(work: Path, act: str) -> None:
    path = work / "d/e/x"
    path.unlink()
    path.symlink_to(work.parent / "outside/d/e/x")
    with pytest.raises(LinkError, match="it has become a symbolic link"):
        ACTS[act](str(path))
    assert path.is_symlink()
    assert outside_is_whole(work)


@pytest.mark.parametrize("act", ["read", "write", "remove", "set_rights", "symlink"])
def test_a_pipe_or_a_directory_in_place_of_a_file_is_refused_at_once(work: Path, act: str) -> None:
    path = work / "d/e/x"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotRegularError, match="not a regular file"):
        ACTS[act](str(path))
    assert path.is_fifo()
    with pytest.raises(IsADirectoryError):
        ACTS[act](str(work / "d/e"))
    assert (work / "d/e").is_dir()


def test_a_missing_file_is_none(work: Path) -> None:
    for name in ("no", "no/no", "d/e/x/no"):
        assert nofollow.read(str(work / name)) is None
        assert nofollow.info(str(work / name)) is None
        assert nofollow.remove(str(work / name)) is None


def test_a_directory_that_cannot_be_listed_is_traversed(work: Path) -> None:
    (work / "d").chmod(0o311)
    assert nofollow.read(str(work / "d/e/x")) == b"work"


def test_a_read_has_a_limit(work: Path) -> None:
    path = str(work / "d/e/x")
    assert nofollow.read(path, 4) == b"work"
    with pytest.raises(SizeError, match="4 bytes; the limit is 3"):
        nofollow.read(path, 3)
    growing = Path(f"/proc/{os.getpid()}/stat")  # has the size 0
    assert not growing.exists() or nofollow.read(str(growing), 1 << 20)


def test_a_link_replaces_a_file_or_a_link(work: Path) -> None:
    path = work / "d/e/x"
    for target in (b"../one", b"\xff two"):
        nofollow.symlink(str(path), target)
        assert os.fsencode(path.readlink()) == target
    nofollow.symlink(str(work / "new/deep"), b"three")
    assert (work / "new/deep").is_symlink()


def open_below(directory: Path) -> list[str]:
    """Return the paths below a directory that this process has open."""
    paths = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing itself
            paths.append(str(descriptor.readlink()))
    return [path for path in paths if path.startswith(str(directory))]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists open files here")
def test_no_descriptor_is_left_open(work: Path) -> None:
    for act in ACTS.values():
        for name in ("d/e/x", "d/e/new", "d/" + "n" * 300, "no/no"):
            with suppress(OSError):
                act(str(work / name))
    with (work / "open").open("w"):
        assert open_below(work) == [str(work / "open")]
    assert open_below(work) == []
