"""Files that the tool calls, terminals and tools of a turn name, and their uses of git.

A path is named if it is given as a path, or if it is a word of a command or of a title. A glob in a
command names the files that it matches. A folder in a command names the files below it, unless the
command only reads.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from threading import Lock
from typing import Final

from acp_nvim.files.bytes.paths import translate_glob
from acp_nvim.files.ports import ToolCall
from acp_nvim.patterns import late

MAX_TEXT: Final = 16_384
"""Maximum number of characters of a text that are parsed."""
MAX_PATH: Final = 4096
MAX_NESTED: Final = 2
"""Maximum depth of quoted commands that are parsed."""
MAX_FOLDERS: Final = 20
"""Maximum number of folders that a command enters by `cd`."""
_WORD: Final = late(r"(?:\\.|[^\s;|&<>()`\"'=,:{}\\])+")
_QUOTED: Final = late(r"\"([^\"]+)\"|'([^']+)'")
_GLOB: Final = late(r"[*?\[]")
_PIECES: Final = late(r"[;|&\n()]+")
_DIRECTORY: Final = late(r"(?:^|[\s;&|(])(?:cd|pushd|-C)\s+(?:\"([^\"]+)\"|'([^']+)'|([^\s;|&)]+))")
_READERS: Final = frozenset(
    {
        *("ls", "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "rg", "ag", "ack"),
        *("tree", "wc", "du", "df", "file", "stat", "test", "[", "cd", "pushd", "pwd", "diff"),
        *("cmp", "find", "fd", "echo", "printf", "git"),
    }
)
"""Programs that change no file below a folder given as an argument."""
_WRITING: Final = late(
    r"\s(?:-exec|-execdir|-delete|-x|-X|checkout|restore|rm|mv|clean|apply|stash|reset|switch)\b"
)
"""Words with which some of the `_READERS` change files."""
_SEARCHES: Final = late(r"(?:^|[\s;&|(])(?:find|fd|ls-files|rg|grep)\s")
"""Programs whose globs match names in all folders."""
LATE_NS: Final = 2_000_000_000
"""Maximum time by which a tool call that names git may be reported late."""

_GIT: Final = late(r"(?<![\w.-])(?:git|gh|jj|hub|glab)(?![\w.-])")


class Mentions:
    """Files named in one turn. Texts are parsed only when the names are needed."""

    def __init__(self) -> None:
        self._paths = set[str]()
        self._folders = set[str]()
        """Folders that commands write to. All files below them count as named."""
        self.directories = set[str]()
        """Directories (real) in which commands run."""
        self._globs: list[re.Pattern[str]] = []
        self._unread: dict[tuple[str, str, bool], None] = {}
        """Texts to parse, each with its directory and whether it is a command."""
        self._read = set[tuple[str, str, bool]]()
        """Parsed texts, in the same form."""
        self._parsing = Lock()
        self.has_new_names = False
        """Whether names have been added since the last call to `named_among`."""
        self.unnamed = set[str]()
        """Files with pending changes from the turn that are not named."""

    def add_paths(self, paths: Iterable[str]) -> None:
        self._paths.update(paths)
        self.has_new_names = True

    def add_command(self, line: str, directory: str) -> None:
        """Add a command that runs in a directory."""
        self._add(line, directory, is_command=True)

    def add_title(self, title: str, directory: str) -> None:
        """Add the title of a tool call. Its paths are relative to the directory."""
        self._add(title, directory, is_command=False)

    def _add(self, text: str, directory: str, *, is_command: bool) -> None:
        key = text[:MAX_TEXT].replace("\0", " "), directory.replace("\0", " "), is_command
        if key not in self._read:
            self._unread[key] = None
            self.has_new_names = True

    def named_among(self, paths: Iterable[str]) -> set[str]:
        """Return the `paths` (real) that are named. This call blocks."""
        self.has_new_names = False
        self.parse()
        return {path for path in paths if self.contains(path)}

    def parse(self) -> None:
        """Parse the texts added since the last call. This call blocks, in any thread."""
        with self._parsing:
            for key in list(self._unread):
                self._parse(*key)
                self._read.add(key)
                del self._unread[key]

    def contains(self, path: str) -> bool:
        """Return whether a parsed text names this path (real)."""
        if path in self._paths or any(glob.fullmatch(path) for glob in self._globs):
            return True
        return bool(self._folders) and not self._folders.isdisjoint(_parent_folders(path))

    def _parse(self, text: str, directory: str, is_command: bool) -> None:
        bases = [os.path.realpath(directory)]
        if is_command:
            entered = dict.fromkeys(next(filter(None, found)) for found in _DIRECTORY.findall(text))
            for folder in islice(entered, MAX_FOLDERS):
                bases.append(os.path.realpath(os.path.join(bases[0], folder)))  # noqa: PTH118
        for base in bases:
            for word in words(text):
                if _GLOB.search(word) and is_command:
                    self._globs.append(_glob_pattern(base, word, bool(_SEARCHES.search(text))))
                else:
                    self._paths.update(_resolve_word(base, word))
        if is_command:
            self.directories.update(bases)
            for base in bases:
                paths = {
                    path for word in _folders_written_to(text) for path in _resolve_word(base, word)
                }
                self._folders |= paths.difference(
                    *([base, *_parent_folders(base)] for base in bases)
                )


def words(text: str, nested: int = MAX_NESTED) -> set[str]:
    """Return the words of a command, including the words of quoted commands in it."""
    parsed = {_unescape(word) for word in _WORD.findall(text)}
    parsed.update(first or second for first, second in _QUOTED.findall(text))
    try:
        parts = shlex.split(text)
    except ValueError:  # an open quote
        parts = text.split()
    for part in parts:
        parsed.add(part)
        if nested and part != text:
            parsed |= words(part, nested - 1)
    return parsed


def _unescape(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word)


def _folders_written_to(text: str) -> Iterator[str]:
    """Yield the words of a command that may be folders in which it changes files."""
    for piece in _PIECES.split(text.partition("<<")[0]):
        names = [_unescape(word) for word in _WORD.findall(piece)]
        program = os.path.basename(names[0]) if names else ""  # noqa: PTH119
        if program not in _READERS or _WRITING.search(piece) or " xargs " in text:
            yield from names[1:]


def _resolve_word(base: str, word: str) -> Iterator[str]:
    """Yield the path that a word may be, with symlinks followed and not."""
    if not word or len(word) > MAX_PATH:
        return
    path = os.path.normpath(os.path.join(base, os.path.expanduser(word)))  # noqa: PTH111, PTH118
    yield path
    yield os.path.realpath(path)


def _parent_folders(path: str) -> Iterator[str]:
    """Yield the folders that contain a path."""
    while (folder := os.path.dirname(path)) != path:  # noqa: PTH120
        yield folder
        path = folder


def _glob_pattern(base: str, word: str, everywhere: bool) -> re.Pattern[str]:
    """Return the pattern of the paths that a glob matches."""
    above = "**" if everywhere and "/" not in word else ""
    glob = os.path.join(_GLOB.sub(r"[\g<0>]", base), above, word)  # noqa: PTH118
    parts = os.path.normpath(glob).replace("[^", "[!").split("/")
    stars = [part if part == "**" else re.sub(r"\*+", "*", part) for part in parts]
    return re.compile(translate_glob("/".join(stars)), re.DOTALL)


class GitUse:
    """Uses of git by the tool calls and terminals of one turn."""

    def __init__(self) -> None:
        self._without = set[ToolCall]()
        """Tool calls that, by their title and commands, do not run git."""
        self._named = set[ToolCall]()
        """Tool calls whose title or commands name git."""
        self._terminal = 0
        """Start of the first terminal that runs git, in nanoseconds, or 0 if there is none."""

    def examine_call(self, call: ToolCall, lines: Iterable[str], *, is_harmless: bool) -> None:
        """Examine the title and the commands of a call.

        With `is_harmless`, the call does not run git unless these lines name it.
        """
        if any(map(names_git, lines)):
            self._named.add(call)
            self._without.discard(call)
        elif is_harmless:
            self._without.add(call)
        else:
            self._without.discard(call)

    def examine_terminal(self, line: str, at: int) -> None:
        """Examine the command of a terminal that started at a time in nanoseconds."""
        if names_git(line):
            self._terminal = self._terminal or at

    def may_have_run(
        self, calls: Mapping[ToolCall, tuple[int, int]], first: int, last: int, late: int
    ) -> bool:
        """Return whether git may have run between two times, in nanoseconds.

        `calls` has the start and end of tool calls (0: still running). A call may have started up
        to `late` before its recorded start, or up to `LATE_NS` if it names git.
        """
        if self._terminal and self._terminal <= last:
            return True
        return any(
            began - (LATE_NS if call in self._named else late) <= last
            and (not ended or ended >= first)
            for call, (began, ended) in calls.items()
            if call not in self._without
        )


def names_git(line: str) -> bool:
    """Return whether a command line names git."""
    return _GIT.search(line) is not None
