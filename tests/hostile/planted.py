"""A repository with a planted program for every key of its config and attributes that can name one.

A `Plant` is an entry of `PLANTS`: its lines for `.git/config` (`{run}` is its program, `{dir}` the
work tree), for `.gitattributes` and for other files, and an ordinary command that runs the program.
A program that runs leaves a file in `Garden.witnesses`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tests.support.git import git, repository

FILES: Final = {"a.txt": "a\n", "b.txt": "b\n", "sub/c.txt": "c\n", "lost.txt": "lost\n"}
TOOLS: Final = ("git", "rg", "fd", "find", "python3", "sh")


class Plant(msgspec.Struct, frozen=True):
    """One planted program. ``proof`` is an ordinary command that runs it."""

    proof: str
    config: str = ""
    attributes: str = ""
    files: Mapping[str, str] = {}
    prepare: str = ""
    """Shell commands that run in the work tree before the planting."""


def _filter(key: str) -> Plant:
    proof = "rm a.txt; git checkout a.txt" if key != "clean" else "git add a.txt"
    return Plant(proof, f'[filter "evil"]\n{key} = {{run}}', "*.txt filter=evil")


def _hook(name: str, proof: str) -> Plant:
    return Plant(proof, files={f".git/hooks/{name}": "{script}"})


def _lazy(remote: str, proof: str = "git diff HEAD") -> Plant:
    """Plant a promisor remote, and an object to fetch from it."""
    config = (
        "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = evil\n"
        f'[remote "evil"]\npromisor = true\n{remote}\n'
    )
    lose = "rm -f .git/objects/$(git rev-parse HEAD:lost.txt | sed 's,^..,&/,'); echo 2 >lost.txt"
    return Plant(proof, config, prepare=lose)


PLANTS: Final[dict[str, Plant]] = {
    "clean": _filter("clean"),
    "smudge": _filter("smudge"),
    "process": _filter("process"),
    "fsmonitor": Plant("git status", "[core]\nfsmonitor = {run}"),
    "hook": _hook("post-index-change", "touch b.txt; git status"),
    "hooks": Plant(
        "touch b.txt; git status",
        "[core]\nhooksPath = {dir}/hooks",
        files={"hooks/post-index-change": "{script}"},
    ),
    "reference-transaction": _hook("reference-transaction", "git branch other"),
    "post-checkout": _hook("post-checkout", "git checkout -q -b other"),
    "external": Plant("git diff", "[diff]\nexternal = {run}"),
    "diff-driver": Plant("git diff", '[diff "evil"]\ncommand = {run}', "*.txt diff=evil"),
    "textconv": Plant("git diff", '[diff "evil"]\ntextconv = {run}', "*.txt diff=evil"),
    "pager": Plant("script -qec 'git diff' /dev/null", "[core]\npager = {run}"),
    "alias": Plant("git evil", "[alias]\nevil = !{run}\nls-files = !{run}\ndiff = !{run}"),
    "editor": Plant("git commit -qa", "[core]\neditor = {run}"),
    "gpg": Plant("git commit -qam x", "[commit]\ngpgsign = true\n[gpg]\nprogram = {run}"),
    "include": Plant(
        "git status",
        "[include]\npath = {dir}/more",
        files={"more": "[core]\nfsmonitor = {run}\n"},
    ),
    "include-if": Plant(
        "git status",
        '[includeIf "gitdir:{dir}/"]\npath = {dir}/more',
        files={"more": "[core]\nfsmonitor = {run}\n"},
    ),
    "worktree-config": Plant(
        "git status",
        "[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true",
        files={".git/config.worktree": "[core]\nfsmonitor = {run}\n"},
    ),
    "submodule": Plant(
        "git status",
        prepare="git init -q inner; cp a.txt inner; cd inner; git add .; git commit -qm x; cd ..; "
        "git add inner; git commit -qm inner; echo >>inner/a.txt",
        files={"inner/.git/config": "[core]\nbare = false\nfsmonitor = {run}\n"},
    ),
    "uploadpack": _lazy("url = {dir}/../origin\nuploadpack = {run}"),
    "ssh": _lazy("url = ssh://nobody@127.0.0.1/x\n[core]\nsshCommand = {run}"),
    "ext": _lazy("url = ext::{run} %S\n[protocol]\nallow = always"),
    "git-proxy": _lazy("url = git://127.0.0.1:1/x\n[core]\ngitProxy = {run}"),
    "remote-helper": _lazy("url = x\nvcs = evil"),
    "credential": _lazy("url = http://127.0.0.1:1/x\n[credential]\nhelper = !{run}", ""),
    "sparse-lazy": Plant(
        "git diff HEAD",
        '[extensions]\npartialClone = evil\n[remote "evil"]\npromisor = true\n'
        "url = {dir}/../origin\nuploadpack = {run}\n[core]\nrepositoryformatversion = 1",
        prepare="git sparse-checkout set --cone --sparse-index other; "
        "rm -f .git/objects/$(git rev-parse HEAD:sub | sed 's,^..,&/,')",
    ),
}
"""Plants by name.

An empty ``proof`` means that no command here runs the program; it is tested nevertheless.
"""


class Garden:
    """A work tree with planted programs."""

    def __init__(self, work: Path, names: Iterable[str] = PLANTS) -> None:
        self.work = work
        self.witnesses = work.parent / "witnesses"
        self.tools = work.parent / "tools"
        for folder in (work / "sub", self.witnesses, self.tools):
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in FILES.items():
            (work / name).write_text(content)
        repository(work)
        subprocess.run(["git", "clone", "-q", "--bare", work, work.parent / "origin"], check=True)
        for name in names:
            self._plant(name, PLANTS[name])

    def _plant(self, name: str, plant: Plant) -> None:
        if plant.prepare:
            self.shell(plant.prepare)
        run = self.program(self.tools / name, name)
        for tool in ("git-remote-evil",):
            shutil.copy(run, self.tools / tool)
        words = {"run": str(run), "dir": str(self.work), "script": run.read_text()}
        with (self.work / ".git" / "config").open("a") as config:
            config.write("\n" + plant.config.format_map(words) + "\n")
        if plant.attributes:
            with (self.work / ".gitattributes").open("a") as attributes:
                attributes.write(plant.attributes + "\n")
        for path, content in plant.files.items():
            place = self.work / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content.format_map(words))
            place.chmod(0o755)

    def program(self, path: Path, name: str) -> Path:
        """Make a program that records its run and then does no harm."""
        path.write_text(f"#!/bin/sh\n: >'{self.witnesses}/{name}'\n[ $# = 0 ] && exec cat\n")
        path.chmod(0o755)
        return path

    def plant_in_work_tree(self) -> None:
        """Plant programs and modules in the work tree for searches of the current directory."""
        for name in TOOLS:
            self.program(self.work / name, f"./{name}".replace("/", "_"))
        for module in ("json", "acp_nvim", "msgspec", "pynvim", "sitecustomize", "usercustomize"):
            code = f"open({str(self.witnesses / module)!r}, 'w')\n"
            (self.work / f"{module}.py").write_text(code)

    def environment(self) -> dict[str, str]:
        """Return an environment in which an ordinary program finds everything that is planted."""
        found = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        path = f"{self.tools}:{found['PATH']}"
        return found | {"PATH": path, "GIT_CONFIG_GLOBAL": os.devnull, "TERM": "xterm"}

    def shell(self, script: str) -> None:
        """Run an ordinary command in the work tree and ignore its result."""
        who = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in WHAT}
        subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=self.work,
            env={**self.environment(), **who},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )

    def ran(self) -> list[str]:
        """Return the planted programs that have run."""
        return sorted(path.name for path in self.witnesses.iterdir())

    def has_run(self, name: str) -> bool:
        """Return whether a program has run, and forget that."""
        witness = self.witnesses / name
        found = witness.exists()
        witness.unlink(missing_ok=True)
        return found


WHAT: Final = ("NAME", "EMAIL")
__all__ = ["PLANTS", "Garden", "Plant", "git"]
