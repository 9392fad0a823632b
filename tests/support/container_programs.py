"""`docker`, `kubectl` and `devcontainer`, as far as the product uses them.

They read their arguments as the real programs do, and refuse everything else. The container is one
of `other_place.container`. A killed client ends only the input of its command, which has no
variables of the client.

Example:

    env = install(tmp_path / "bin", editor.work)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final, NoReturn

from tests.support.other_place import THERE, container

NAME: Final = "dev"
"""Name of the container and of the pod."""
CONFIG: Final = "CONTAINER_WORDS"


def install(directory: Path, work: Path) -> dict[str, str] | None:
    """Install the programs, and return the environment that finds them and the container.

    Return None if there are no containers here.
    """
    words = container(work)
    if words is None:
        return None
    words.remove("--die-with-parent")
    directory.mkdir()
    root = Path(__file__).parents[2]
    for name in ("docker", "kubectl", "devcontainer"):
        program = directory / name
        program.write_text(
            f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} -m {__name__} {name} "$@"\n'
        )
        program.chmod(0o755)
    path = f"{directory}:{os.environ['PATH']}"
    return {CONFIG: json.dumps(words), "PATH": path, "CONTAINER_WORK": str(work)}


class _Parser(argparse.ArgumentParser):
    """Parser of a subcommand `exec` without abbreviations."""

    def __init__(self, program: str) -> None:
        super().__init__(prog=program, add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        _fail(125, f"{self.prog} exec: {message}")


def _fail(code: int, text: str) -> NoReturn:
    sys.stderr.write(text + "\n")
    raise SystemExit(code)


def _docker(words: list[str]) -> None:
    """Run `docker exec [OPTIONS] CONTAINER COMMAND [ARG...]`: options end at the first word."""
    parser = _Parser("docker")
    parser.add_argument("-i", "--interactive", action="store_true")
    parser.add_argument("-t", "--tty", action="store_true")
    parser.add_argument("-w", "--workdir", default="/")
    parser.add_argument("-e", "--env", action="append", default=[])
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    if len(given.rest) < 2:
        _fail(1, '"docker exec" requires at least 2 arguments.')
    name, *command = given.rest
    if name != NAME:
        _fail(1, f"Error response from daemon: No such container: {name}")
    pairs = [it if "=" in it else f"{it}={os.environ[it]}" for it in given.env]
    _run(command, given.workdir, pairs, keeps_input=given.interactive, is_tty=given.tty)


def _kubectl(words: list[str]) -> None:
    """Run `kubectl exec POD [-c CONTAINER] [flags] -- COMMAND [args...]`."""
    if "--" not in words:
        _fail(1, "error: exec [POD] [COMMAND] is not supported anymore.")
    at = words.index("--")
    parser = _Parser("kubectl")
    parser.add_argument("-i", "--stdin", action="store_true")
    parser.add_argument("-t", "--tty", action="store_true")
    parser.add_argument("-c", "--container")
    parser.add_argument("pod")
    given = parser.parse_args(words[:at])
    if given.pod != NAME:
        _fail(1, f'Error from server (NotFound): pods "{given.pod}" not found')
    _run(words[at + 1 :], "/", [], keeps_input=given.stdin, is_tty=given.tty)


def _devcontainer(words: list[str]) -> None:
    """Run `devcontainer exec [OPTIONS] COMMAND [ARG...]`. A terminal is used if there is one."""
    parser = _Parser("devcontainer")
    parser.add_argument("--workspace-folder", default=".")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    if given.workspace_folder != os.environ["CONTAINER_WORK"]:
        _fail(1, "Error: Dev container not found.")
    is_tty = sys.stdin.isatty() and sys.stdout.isatty()
    _run(given.rest, THERE, [], keeps_input=True, is_tty=is_tty)


def _run(
    command: list[str], directory: str, pairs: list[str], *, keeps_input: bool, is_tty: bool
) -> NoReturn:
    if is_tty and not sys.stdin.isatty():
        _fail(1, "the input device is not a TTY")
    words = [*json.loads(os.environ[CONFIG]), "--chdir", directory, *command]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/", **dict(it.split("=", 1) for it in pairs)}
    if is_tty:
        os.execvpe(words[0], words, env)
    pipe = subprocess.PIPE if keeps_input else subprocess.DEVNULL
    process = subprocess.Popen(words, stdin=pipe, env=env, start_new_session=True)
    if process.stdin is not None:
        threading.Thread(target=_pump, args=(process.stdin.fileno(),), daemon=True).start()
    raise SystemExit(process.wait())


def _pump(to: int) -> None:
    """Pass on the input, and its end."""
    while data := os.read(0, 1 << 16):
        while data:
            data = data[os.write(to, data) :]
    os.close(to)


if __name__ == "__main__":
    name, subcommand, *rest = sys.argv[1:]
    if subcommand != "exec":
        _fail(125, f"{name}: unknown command {subcommand}")
    {"docker": _docker, "kubectl": _kubectl, "devcontainer": _devcontainer}[name](rest)
