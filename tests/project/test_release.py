"""`make release`: refusals, notes and the rockspec. The changelog that it reads."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from acp_nvim import __version__
from tests.support.editor import nvim_binary
from tests.support.git import git
from tests.support.lua import lua_chunk

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST_LIST = 60
"""Lines of a release in the changelog. It is a list for users, not a log of the work."""


@pytest.fixture
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci/release.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of version 1.2.3 from which `release` makes releases."""
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "acp_nvim").mkdir()
    (tmp_path / "acp_nvim/__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    git(tmp_path, "init", "-q")
    for setting in ("name", "email"):
        git(tmp_path, "config", f"user.{setting}", "a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def refusal(release: ModuleType, version: str) -> str:
    with pytest.raises(release.Refused) as raised:
        release.refuse(version)
    return str(raised.value)


def test_a_release_is_refused_unless_tree_tag_and_version_are_right(
    release: ModuleType, repository: Path
) -> None:
    release.refuse("1.2.3")
    assert "should be like" in refusal(release, "v1.2.3")
    assert "should be like" in refusal(release, "")
    assert "should both say 1.2.4" in refusal(release, "1.2.4")
    git(repository, "tag", "v1.2.3")
    assert refusal(release, "1.2.3") == "the tag v1.2.3 exists already"
    git(repository, "tag", "-d", "v1.2.3")
    (repository / "new.txt").write_text("")
    assert refusal(release, "1.2.3") == "the work tree has changes that are not committed"


def test_the_notes_are_the_list_of_the_version(release: ModuleType) -> None:
    text = "# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- one\n- two\n\n## 1.2.2\n\n- old\n"
    assert release.notes("1.2.3", text) == "- one\n- two\n"
    for version, changed in (
        ("1.2.4", text),
        ("1.2.3", text.replace("## Unreleased\n", "## Unreleased\n\n- forgotten\n")),
    ):
        with pytest.raises(release.Refused):
            release.notes(version, changed)


def test_the_changelog_has_a_short_list_of_this_version(release: ModuleType) -> None:
    found = release.sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert found[__version__]
    assert not [name for name, text in found.items() if len(text.split("\n")) > LONGEST_LIST]


def test_version_and_parts_of_a_release_exist(release: ModuleType) -> None:
    assert release.project()["version"] == __version__
    assert [name for name in release.IN_ROCK if not (ROOT / name).exists()] == []


def test_the_build_hook_loads_an_existing_file() -> None:
    """Plugin managers run `build.lua`, which loads the installation by its path."""
    named = re.findall(r"here \.\. '/([^']+)'", (ROOT / "build.lua").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_build_hook_shows_its_steps_in_a_coroutine_and_elsewhere(tmp_path: Path) -> None:
    """lazy.nvim resumes a coroutine. vim.pack calls an autocommand, where no function can yield."""
    shutil.copy(ROOT / "build.lua", tmp_path)
    module = tmp_path / "lua/acp/features/install/environment.lua"
    module.parent.mkdir(parents=True)
    module.write_text("return { build = function(report) report('first') report('second') end }")
    script = tmp_path / "script.lua"
    script.write_text(lua_chunk(__file__, "build_hook"))
    argv = [nvim_binary(), "--clean", "--headless", "-S", str(script), "-c", "quitall!"]
    ran = subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True)
    shown = ran.stderr.replace("\r", "").replace("\n", "")
    assert shown == "acp.nvim: firstacp.nvim: secondyields first second"
