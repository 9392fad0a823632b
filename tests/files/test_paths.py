"""The path guard: the file that a path means, inside or outside, secret or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_nvim.files.bytes.paths import below, matches, pin, place
from acp_nvim.files.bytes.refusals import Refusal

DEFAULTS = ["**/.env", "**/.env.*", "**/*.pem", "**/id_rsa*", "**/.ssh/**", "**/.netrc"]


@pytest.mark.parametrize("path", ["a", "./a", "../a", "", "~/a", "file:///a"])
def test_a_relative_path_is_refused(path: str) -> None:
    with pytest.raises(Refusal) as caught:
        place(path)
    assert (caught.value.path, caught.value.reason) == (path, "relative")


def test_a_path_with_control_characters_is_shown_on_one_line() -> None:
    with pytest.raises(Refusal) as caught:
        place("a\nb\x1b[31m\u202e")
    assert str(caught.value).isprintable()
    assert caught.value.path == "a\nb\x1b[31m\u202e"


def test_links_and_dots_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "real" / "new")
    real = str(tmp_path / "real" / "new")
    for spelling in ("link/new", "real/../link/./new", "dangling"):
        assert place(f"{tmp_path}/{spelling}").real == real


def test_membership_is_by_whole_names(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "work2").mkdir()
    assert below(str(root / "a" / "b"), [str(root)]) == "a/b"
    assert below(str(root), [str(root)]) == ""
    assert below(str(tmp_path / "work2" / "a"), [str(root)]) is None
    assert below(str(tmp_path / "work2" / "a"), [str(root), str(tmp_path / "work2")]) == "a"
    assert below(str(tmp_path), [str(root)]) is None
    assert below("/etc/passwd", ["/"]) == "etc/passwd"
    assert below("/etc/passwd", []) is None


def test_a_link_out_of_the_root_is_outside(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "out").symlink_to("/etc")
    (tmp_path / "alias").symlink_to(root)
    assert below(place(f"{root}/out/passwd").real, [str(root)]) is None
    assert below(place(f"{root}/../elsewhere").real, [str(root)]) is None
    assert below(place(f"{tmp_path}/alias/new").real, [str(root)]) == "new"
    assert below(place(f"{root}/new").real, [str(tmp_path / "alias")]) == "new"


def test_a_link_that_replaces_the_root_leads_outside_until_a_session_opens_there(
    tmp_path: Path,
) -> None:
    root, other = tmp_path / "work", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    pin([str(root)])
    root.rename(tmp_path / "moved")
    root.symlink_to(other)
    assert below(place(f"{root}/a").real, [str(root)]) is None
    assert below(place(f"{root}").real, [str(root)]) is None
    pin([str(root)])
    assert below(place(f"{root}/a").real, [str(root)]) == "a"


def test_another_spelling_of_a_root_is_recognized_by_its_inode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that ignores case: `WORK` and `work` are one directory."""
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    stat = Path.stat

    def folding(path: Path, **options: bool) -> object:
        return stat(Path(str(path).replace("WORK", "work")), **options)

    monkeypatch.setattr(Path, "stat", folding)
    assert below(f"{tmp_path}/WORK/sub/a", [str(root)]) == "sub/a"
    assert below(f"{tmp_path}/WORK/nothing/a", [str(root)]) == "nothing/a"
    assert below(f"{tmp_path}/OTHER/a", [str(root)]) is None


def is_secret(path: str, globs: list[str], root: str | None = "/work") -> bool:
    real = place(path)
    return matches(real, None if root is None else below(real.real, [root]), globs)


@pytest.mark.parametrize(
    "path",
    [
        "/work/.env",
        "/work/a/.env",
        "/work/a/.ENV.local",
        "/work/certs/x.pem",
        "/work/id_rsa",
        "/work/id_rsa.pub",
        "/work/.ssh/config",
        "/work/a/.ssh/deep/er",
        "/elsewhere/.netrc",
    ],
)
def test_secret_paths(path: str) -> None:
    assert is_secret(path, DEFAULTS)


@pytest.mark.parametrize(
    "path",
    ["/work/env", "/work/.envy", "/work/a.env", "/work/pem", "/work/x.pem.txt", "/work/ssh/x"],
)
def test_paths_that_are_not_secret(path: str) -> None:
    assert not is_secret(path, DEFAULTS)
    assert not is_secret(path, [])


@pytest.mark.parametrize(
    ("glob", "path", "found"),
    [
        (".env", "/work/a/.env", True),
        ("secrets", "/work/secrets/a/b", True),
        ("*.key", "/work/a/x.key", True),
        ("a/*.key", "/work/a/x.key", True),
        ("a/*.key", "/work/a/b/x.key", False),
        ("a/**", "/work/b/a/c", True),
        ("[ab].txt", "/work/a.txt", True),
        ("[!ab].txt", "/work/a.txt", False),
        ("[!ab].txt", "/work/c.txt", True),
        ("?.txt", "/work/cc.txt", False),
        ("a+(b).txt", "/work/a+(b).txt", True),
        ("/work/private/**", "/work/private/x", True),
        ("/work/private/**", "/work/a/work/private/x", False),
        ("/elsewhere/**", "/work/x", False),
        ("a*b*c/**/d", "/work/abxbc/e/f/d", True),
        ("a*b*c/**/d", "/work/abxb/c/d", False),
        ("**/b/**/c/*.x", "/work/a/b/b/c/a/c/y.x", True),
        ("**/b/**/c/*.x", "/work/a/b/b/c/a/y.x", False),
        ("*ab*ab", "/work/aababab", True),
        ("*ab*ab", "/work/xab", False),
        ("a[!b]c", "/work/a/c", False),
    ],
)
def test_globs(glob: str, path: str, found: bool) -> None:
    assert is_secret(path, [glob]) is found


@pytest.mark.parametrize("glob", ["**/" * 40, "*a" * 40, "**a" * 40, "**/*a*/" * 40, "**/a/" * 40])
def test_every_glob_is_matched_quickly(glob: str) -> None:
    for path in ("/work/" + "a/" * 60 + "c", "/work/" + "a" * 200 + "c", "/work/" + "aa/" * 60):
        assert not is_secret(path, [f"{glob}b"])


def test_the_working_directory_makes_nothing_secret() -> None:
    assert not is_secret("/home/.ssh/project/a", DEFAULTS, "/home/.ssh/project")
    assert is_secret("/home/.ssh/project/a", DEFAULTS, None)


def test_both_the_name_and_the_resolved_path_count(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x")
    (tmp_path / "plain").symlink_to(tmp_path / ".env")
    (tmp_path / "config").write_text("x")
    (tmp_path / "id_rsa").symlink_to(tmp_path / "config")
    for name in ("plain", "id_rsa"):
        assert is_secret(f"{tmp_path}/{name}", DEFAULTS, str(tmp_path))
    assert not is_secret(f"{tmp_path}/config", DEFAULTS, str(tmp_path))
