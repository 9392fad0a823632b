"""Make a release from a clean work tree: `python .ci/release.py VERSION [CHECK …]`.

It refuses a dirty tree, a tag that exists, and a version that the sources or the changelog lack.
Then it runs the checks (`.ci/run` by default), and writes the wheel, the rockspec and the notes to
`dist`. The tag comes last, so that a failure leaves none. Nothing is uploaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
REPOSITORY = "https://example.invalid/acp.nvim"
IN_ROCK = (
    *("acp_nvim", "doc", "docs", "lua", "plugin", "rplugin"),
    *("build.lua", "pyproject.toml", "CHANGELOG.md", "LICENSE", "README.md"),
)
"""Parts of the repository that a user's Neovim needs."""
ROCKSPEC = """\
rockspec_format = '3.0'
package = 'acp.nvim'
version = '{version}-1'
source = {{ url = 'git+{repository}', tag = 'v{version}' }}
description = {{
  summary = '{summary}',
  detailed = 'It needs Python 3.11 or newer: run :Acp install once.',
  homepage = '{repository}',
  license = '{license}',
  labels = {{ 'neovim', 'agent-client-protocol' }},
}}
dependencies = {{ 'lua == 5.1' }}
-- luarocks installs the files of `lua` as modules. The folder of the rock has the rest of the
-- plugin, and has to be on 'runtimepath'.
build = {{
  type = 'command',
  install_command = 'cp -R {parts} $(PREFIX)',
}}
"""


class Refused(Exception):
    """The release cannot be made. The message gives the reason in one line."""


def git(*arguments: str) -> str:
    """Run git in the repository and return its output."""
    argv = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def project() -> dict[str, Any]:
    """Return the table `project` of `pyproject.toml`."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def sections(changelog: str) -> dict[str, str]:
    """Return the text below each heading of the changelog, by version."""
    parts = re.split(r"^## (\S+).*\n", changelog, flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def notes(version: str, changelog: str) -> str:
    """Return the notes of a version. Raise `Refused` if the changelog is not ready for it."""
    found = sections(changelog)
    if not found.get(version):
        raise Refused(f"CHANGELOG.md has nothing under '## {version}'")
    if found.get("Unreleased"):
        raise Refused(f"CHANGELOG.md has lines under '## Unreleased': move them to '## {version}'")
    return found[version] + "\n"


def refuse(version: str) -> None:
    """Raise `Refused` if the repository is not ready for a release of that version."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Refused(f"VERSION should be like 0.1.0, not '{version}'")
    if git("status", "--porcelain"):
        raise Refused("the work tree has changes that are not committed")
    if git("tag", "--list", f"v{version}"):
        raise Refused(f"the tag v{version} exists already")
    code = (ROOT / "acp_nvim/__init__.py").read_text("utf-8")
    if project()["version"] != version or f'__version__ = "{version}"' not in code:
        raise Refused(f"pyproject.toml and acp_nvim/__init__.py should both say {version}")
    try:
        git("var", "GIT_COMMITTER_IDENT")
    except subprocess.CalledProcessError as error:
        raise Refused("git has no name for the tag: set user.name and user.email") from error


def build_wheel(version: str) -> Path:
    """Build the wheel from the commit, without files that git does not track; return its path."""
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder))
        install = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        uv = shutil.which("uv")
        argv = (
            [uv, "build", "--quiet", "--wheel", "--out-dir"]
            if uv
            else [*install, "--no-deps", "-w"]
        )
        subprocess.run([*argv, str(DIST), folder], check=True)
    return DIST / f"acp_nvim-{version}-py3-none-any.whl"


def export(folder: Path) -> None:
    """Write the files of the commit to a folder."""
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "HEAD"], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], check=True, input=archive)


def try_wheel(wheel: Path) -> str:
    """Install the wheel in an empty environment, and run a turn of the tutor from it in Neovim.

    The plugin's own copy of the Python code is deleted first, so that only the wheel has it.
    """
    with tempfile.TemporaryDirectory() as folder:
        plugin, environment = Path(folder, "plugin"), Path(folder, "environment")
        plugin.mkdir()
        export(plugin)
        shutil.rmtree(plugin / "acp_nvim")
        venv.create(environment, with_pip=True)
        python = environment / "bin/python"
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, str(wheel)], check=True)
        nvim = subprocess.run([ROOT / ".ci/nvim"], check=True, capture_output=True, text=True)
        folders = {f"XDG_{name}_HOME": folder for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        given = {"ACP_ROOT": str(plugin), "ACP_PYTHON": str(python)}
        ran = subprocess.run(
            [nvim.stdout.strip(), "--headless", "-n", "-u", plugin / ".ci/trial.lua"],
            check=False,
            cwd=folder,
            env={**os.environ, **folders, **given},
            capture_output=True,
            text=True,
            timeout=120,
        )
    if ran.returncode != 0:
        raise Refused(f"the plugin does not start from the wheel:\n{ran.stderr}")
    return ran.stdout.strip()


def write_rockspec(version: str) -> Path:
    """Write the rockspec for luarocks; return its path."""
    known = project()
    text = ROCKSPEC.format(
        version=version,
        repository=REPOSITORY,
        summary=known["description"],
        license=known["license"],
        parts=" ".join(IN_ROCK),
    )
    path = DIST / f"acp.nvim-{version}-1.rockspec"
    path.write_text(text, encoding="utf-8")
    return path


def release(version: str, checks: list[str]) -> list[str]:
    """Make the release. Return lines about its files and the remaining steps."""
    refuse(version)
    text = notes(version, (ROOT / "CHANGELOG.md").read_text("utf-8"))
    subprocess.run(checks, check=True, cwd=ROOT)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    wheel = build_wheel(version)
    trial = try_wheel(wheel)
    rockspec = write_rockspec(version)
    written = DIST / f"notes-{version}.md"
    written.write_text(text, encoding="utf-8")
    git("tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--file", str(written))
    return [
        f"release: {trial}",
        *(f"release: {path.relative_to(ROOT)}" for path in (wheel, rockspec, written)),
        f"release: tag v{version} at {git('rev-parse', '--short=8', 'HEAD')}",
        f"release: publish it: git push origin v{version}",
        f"release: publish it: luarocks upload dist/{rockspec.name}",
        f"release: publish it: twine upload dist/{wheel.name}",
    ]


def main() -> int:
    """Make the release that the arguments name; return 1 if it is refused."""
    version = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        lines = release(version, sys.argv[2:] or [".ci/run"])
    except (Refused, subprocess.SubprocessError, OSError) as reason:
        print(f"release: {reason}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
