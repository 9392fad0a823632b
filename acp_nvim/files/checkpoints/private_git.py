"""Git that runs no program named by a repository.

Whoever can write `.git/config`, `.git/hooks` or `.gitattributes` (an agent, the author of a clone)
can name programs for git to run: filters, hooks, fsmonitor, textconv, external diffs, the transport
of a promisor remote. Git therefore works in a private git directory. The user's objects are its
alternates, its index is a copy, and only a few harmless values of the config are copied.

In the user's repository, only `rev-parse` and `config` run, which read refs and config. If the user
asks for notes (`git_notes.py`), `update-ref` runs too, without hooks.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import weakref
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim import wording
from acp_nvim.files.bytes import private_files
from acp_nvim.files.changes.git_tree import find_top
from acp_nvim.files.checkpoints.store import OLDER, SKIPPED, StoreError

TIMEOUT_S: Final = 30.0
PRIVATE_UMASK: Final = 0o077
"""The umask of git: only the user may read its files."""
USER_UMASK: Final = -1
"""The user's umask, for files in a work tree."""
ANY_EXIT_CODE: Final = range(256)
_FLAGS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})
_STAT_OPTIONS: Final = {
    **dict.fromkeys(
        (
            *("core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks"),
            *("core.trustctime", "core.sparsecheckout", "core.sparsecheckoutcone"),
        ),
        _FLAGS,
    ),
    "core.checkstat": frozenset({"default", "minimal"}),
}
"""Accepted values of options in the user's repository.

These options affect how files compare with its index.
"""
_CONVERSION_OPTIONS: Final = {
    "core.autocrlf": _FLAGS | {"input"},
    "core.eol": frozenset({"lf", "crlf", "native"}),
}
"""Options that determine the line endings that git writes."""
_SHARING_OPTION: Final = {
    "core.sharedrepository": frozenset(
        (*("umask", "group", "true", "1", "all", "world", "everybody", "2"), "0640", "0644")
    )
    | {"0660", "0664", "0666"},
}
"""Option that determines who may read and write new objects."""
_PATH_OPTIONS: Final = {"core.excludesfile": "ignore", "core.attributesfile": "attributes"}
"""Options that name a file, with its default name below the user's `git` folder."""
_FIXED_OPTIONS: Final = {
    "core.bare": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.safecrlf": "false",
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.loosecompression": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
LITERAL: Final = {"GIT_LITERAL_PATHSPECS": "1"}
"""Environment in which paths in arguments are not patterns."""
NO_PROGRAMS: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
AS_STORED: Final = "* -text -crlf !eol -ident !filter !working-tree-encoding\n"
"""Attributes that make git store the bytes of a file as they are on disk."""


class GitError(StoreError):
    """Git ran and failed."""


class Repository(msgspec.Struct, frozen=True):
    """Absolute paths of a user's repository, and its harmless options."""

    top: str
    index: str
    objects: str
    head_log: str
    """The log of HEAD."""
    exclude: str
    attributes: str
    object_format: str
    options: dict[str, str]
    is_alone: bool = False
    """Whether `top` is in no repository. The other paths are unused then."""

    def sharing_arguments(self) -> tuple[str, str]:
        """Return arguments of git that give new objects the repository's permissions.

        Git then also needs the umask `USER_UMASK`.
        """
        shared = self.options.get("core.sharedrepository", "umask")
        return "-c", f"core.sharedRepository={shared}"

    def can_convert(self) -> bool:
        """Return whether files without attributes may have other line endings than their blobs."""
        return self.options.get("core.autocrlf", "false") not in ("false", "no", "off", "0")


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git.

    It has none of the user's git variables and no relative directory in PATH. It forbids fetching,
    whatever the config says.
    """
    inherited = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    folders = inherited.get("PATH", os.defpath).split(os.pathsep)
    inherited["PATH"] = os.pathsep.join(path for path in folders if os.path.isabs(path))  # noqa: PTH117
    return inherited | {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


def find(directory: str, env: Mapping[str, str], timeout: float = TIMEOUT_S) -> Repository:
    """Return the repository whose work tree contains a directory.

    Raise StoreError if there is no repository, or no git.
    """
    env = environment(env)
    where = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--show-object-format"]
    for name in ("index", "objects", "logs/HEAD", "info/exclude", "info/attributes"):
        where += ["--git-path", name]
    output = call([*NO_PROGRAMS, *where], directory, env, timeout=timeout)
    lines = os.fsdecode(output).removesuffix("\n").split("\n")
    if len(lines) != len(Repository.__struct_fields__) - 2:
        raise StoreError(f"git does not say where the repository of {directory} is")
    top, object_format, index, objects, moves, exclude, attributes = lines
    return Repository(
        top,
        index,
        objects,
        moves,
        exclude,
        attributes,
        object_format if object_format == "sha256" else "sha1",
        _options(top, env, timeout),
    )


def find_or_placeholder(
    directory: str, env: Mapping[str, str], timeout: float = TIMEOUT_S
) -> Repository:
    """Return the repository of a directory, or a placeholder if it is in none."""
    if find_top(directory):  # saves a process if there is no `.git`
        with suppress(GitError):
            return find(directory, env, timeout)
    nowhere = environment(env) | {"GIT_DIR": os.devnull}
    options = _options(directory, nowhere, timeout)
    return Repository(
        top=directory,
        index=os.devnull,
        objects=os.devnull,
        head_log=os.devnull,
        exclude=os.devnull,
        attributes=os.devnull,
        object_format="sha1",
        options=options,
        is_alone=True,
    )


def count_entries(index: Path) -> int:
    """Return the number of entries in an index, from its header (`gitformat-index`)."""
    with index.open("rb") as file:
        header = file.read(12)
    return struct.unpack(">4sII", header)[2] if len(header) == 12 else 0


def head(repository: Repository, env: Mapping[str, str], timeout: float = TIMEOUT_S) -> str:
    """Return the commit of HEAD, or an empty string before the first one."""
    args = [*NO_PROGRAMS, "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        return call(args, repository.top, environment(env), timeout=timeout).decode().strip()
    except StoreError:
        return ""


def list_files(directory: str, env: Mapping[str, str]) -> list[str]:
    """Return the files below a directory that are tracked or not ignored, as absolute paths.

    Raise StoreError if there is no repository or git cannot read it.
    """
    repository = find(directory, env)
    with scratch(repository, env) as own:
        exclude = Path(own["GIT_DIR"]) / "exclude"
        _link_or_copy(repository.options["core.excludesfile"], exclude)
        ask = [*NO_PROGRAMS, "ls-files", "-z", "--cached", "--others", "--deduplicate"]
        ask.append("--exclude-per-directory=.gitignore")
        ask += [
            f"--exclude-from={path}"
            for path in (exclude, repository.exclude)
            if Path(path).exists()
        ]
        output = call(ask, directory, own)
    names = map(os.fsdecode, filter(None, output.split(b"\0")))
    return [os.path.join(directory, name) for name in names]  # noqa: PTH118


@contextmanager
def scratch(repository: Repository, env: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the environment for git in a temporary private directory.

    It has the user's objects and index, and no ref or config. New objects are created in the user's
    object directory.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="acp-git-") as folder:
        private_files.directory(Path(folder) / "refs")
        _put(Path(folder) / "HEAD", b"ref: refs/heads/none\n")
        version = _line("core.repositoryformatversion", "1")
        lines = version + _line("extensions.objectformat", repository.object_format)
        _put(Path(folder) / "config", lines.encode())
        yield environment(env) | {
            "GIT_DIR": folder,
            "GIT_WORK_TREE": repository.top,
            "GIT_INDEX_FILE": repository.index,
            "GIT_OBJECT_DIRECTORY": repository.objects,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": folder,
        }


def _options(top: str, env: Mapping[str, str], timeout: float) -> dict[str, str]:
    """Return the user's git options that have safe values. Paths are absolute."""
    good_values = {**_STAT_OPTIONS, **_CONVERSION_OPTIONS, **_SHARING_OPTION}
    names = [name.partition(".")[2] for name in (*good_values, *_PATH_OPTIONS)]
    ask = [*NO_PROGRAMS, "config", "-z", "--get-regexp", rf"^core\.({'|'.join(names)})$"]
    options: dict[str, str] = {}
    for item in call(ask, top, env, exit_codes=(0, 1), timeout=timeout).split(b"\0"):
        key, has_value, value = os.fsdecode(item).partition("\n")
        value = value if has_value else "true"
        good = good_values.get(key)
        if key in _PATH_OPTIONS or (good is not None and value.lower() in good):
            options[key] = value
    folder = env.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    for key, name in _PATH_OPTIONS.items():
        path = os.path.expanduser(options.get(key, f"{folder}/git/{name}"))  # noqa: PTH111
        options[key] = os.path.join(top, path) if path else os.devnull  # noqa: PTH118
    return options


def _alternates(repository: Repository, home: Path) -> str:
    """Return read-only object directories: the user's and an earlier store's."""
    older = home / OLDER / "objects"
    users = [] if repository.is_alone else [repository.objects]
    return os.pathsep.join([*users, *([str(older)] if older.is_dir() else [])])


class PrivateGit:
    """Two private git directories for a work tree.

    In one, blobs are the bytes of files. In the other, git converts line endings, `$Id$` and
    encodings as in the user's repository. Neither has filters.
    """

    def __init__(
        self,
        repository: Repository,
        home: Path,
        env: Mapping[str, str],
        index: Path,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """`home` is the directory for git's files. `index` is the path of the private index."""
        self.repository = repository
        self.index = index
        self._timeout = timeout
        objects = home / "objects"
        private_files.directory(objects)
        # An unpredictable name, since an agent may be able to write to this directory: if the user
        # works in their home directory, it is below the root.
        self._folder = home / f"git-{os.urandom(16).hex()}"
        self._folder.mkdir(private_files.DIRECTORY)
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._env = environment(env) | {
            "GIT_WORK_TREE": repository.top,
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _alternates(repository, home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": str(self._folder),
            "XDG_CONFIG_HOME": str(self._folder),
        }
        self._plain = self._make("plain")
        _put(self._plain / "info" / "attributes", AS_STORED.encode())
        self._converting = self._make("converting", _CONVERSION_OPTIONS)
        _link_or_copy(repository.attributes, self._converting / "info" / "attributes")

    def _make(self, name: str, further: Container[str] = ()) -> Path:
        """Create a git directory whose config has only safe options. Return the path."""
        repository = self.repository
        folder = self._folder / name
        for inner in ("refs", "info"):
            private_files.directory(folder / inner)
        _put(folder / "HEAD", b"ref: refs/heads/none\n")
        options = {
            key: value
            for key, value in repository.options.items()
            if key in _STAT_OPTIONS or key in _PATH_OPTIONS or key in further
        }
        config = {**options, **_FIXED_OPTIONS, "core.repositoryformatversion": "1"}
        config["extensions.objectformat"] = repository.object_format
        lines = [_line(key, value) for key, value in config.items()]
        _put(folder / "config", b"".join(map(os.fsencode, lines)))
        exclude = folder / "info" / "exclude"
        if repository.is_alone:
            _put(exclude, "".join(f"{name}/\n" for name in sorted(SKIPPED)).encode())
        else:
            _link_or_copy(repository.exclude, exclude)
        return folder

    def copy_index(self, place: Path | None = None) -> None:
        """Copy the user's index, if any, to `place` (default: the private index).

        Its stat cache saves reading unchanged files.
        """
        user = Path(self.repository.index)
        if not user.is_file():
            return
        for shared in user.parent.glob("sharedindex.*"):  # used by a split index
            for folder in (self._plain, self._converting):
                _copy(shared, folder / shared.name)
        # This keeps the mtime: entries younger than the index are compared by content ("racy git").
        _copy(user, place or self.index)

    def run(
        self,
        args: Sequence[str],
        stdin: bytes = b"",
        *,
        exit_codes: Container[int] = (0,),
        env: Mapping[str, str] | None = None,
        converting: bool = False,
        umask: int = PRIVATE_UMASK,
    ) -> bytes:
        """Run git at the top of the work tree and return its output. Raise StoreError."""
        return self.run_with_warnings(
            args, stdin, exit_codes=exit_codes, env=env, converting=converting, umask=umask
        )[0]

    def run_with_warnings(
        self,
        args: Sequence[str],
        stdin: bytes = b"",
        *,
        exit_codes: Container[int] = (0,),
        env: Mapping[str, str] | None = None,
        converting: bool = False,
        umask: int = PRIVATE_UMASK,
    ) -> tuple[bytes, bytes]:
        """Run git like `run`. Return its output and its warnings."""
        folder = self._converting if converting else self._plain
        env = {**self._env, "GIT_DIR": str(folder), **(env or {})}
        try:
            done = _run_process(
                args, self.repository.top, env, stdin, exit_codes, self._timeout, umask
            )
        except GitError as error:
            if "not a git repository" not in str(error):
                raise
            raise StoreError(wording.WHY_STORE_DELETED.format(folder=folder.parents[1])) from error
        except StoreError:  # killed: its lock would block the next one
            Path(f"{env['GIT_INDEX_FILE']}.lock").unlink(missing_ok=True)
            raise
        return done.stdout, done.stderr

    def filtered(self, names: Sequence[str]) -> set[str]:
        """Return the names (relative to the top) of files that have a filter."""
        if not names:
            return set()
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        output = self.run(["check-attr", "-z", "--stdin", "filter"], given, converting=True)
        parts = iter(output.split(b"\0"))
        return {
            os.fsdecode(name)
            for name, _, value in zip(parts, parts, parts, strict=False)
            if value not in (b"unspecified", b"unset")
        }


def call(
    args: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes = b"",
    exit_codes: Container[int] = (0,),
    timeout: float = TIMEOUT_S,
    umask: int = PRIVATE_UMASK,
) -> bytes:
    """Return the output of git. Raise StoreError if git cannot be run, GitError if it fails."""
    return _run_process(args, cwd, env, stdin, exit_codes, timeout, umask).stdout


def _run_process(
    args: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    exit_codes: Container[int],
    timeout: float,
    umask: int,
) -> subprocess.CompletedProcess[bytes]:
    name = next(arg for arg in args if not arg.startswith("-") and "=" not in arg)
    try:
        done = subprocess.run(
            ["git", *args],
            cwd=cwd,
            env=env,
            input=stdin,
            capture_output=True,
            timeout=timeout,
            check=False,
            umask=umask,
        )
    except FileNotFoundError as error:
        if error.filename == cwd:
            raise StoreError(f"git {name}: {error}") from error
        raise StoreError(wording.WHY_NO_GIT) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"git {name}: {error}") from error
    if done.returncode not in exit_codes:
        lines = done.stderr.decode(errors="replace").strip().split("\n")
        words = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0])
        raise GitError(f"git {name}: {words or done.returncode}")
    return done


def _put(path: Path, data: bytes) -> None:
    """Write a new file that only the user may read."""
    with open(path, "wb", opener=private_files.opener) as file:
        file.write(data)


def _copy(file: Path, place: Path) -> None:
    """Copy a file with its mtime, readable only by the user."""
    _put(place, file.read_bytes())
    shutil.copystat(file, place)
    place.chmod(private_files.FILE)


def _line(key: str, value: str) -> str:
    """Return a line of a config file (`git-config`, "Syntax")."""
    section, _, name = key.partition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{name} = "{quoted}"\n'


def _link_or_copy(path: str, place: Path) -> None:
    """Link `place` to the user's file, so that git sees its later changes, or copy it."""
    try:
        place.symlink_to(path)
    except OSError:  # no symlinks, as on Windows
        if Path(path).is_file():
            shutil.copyfile(path, place)
