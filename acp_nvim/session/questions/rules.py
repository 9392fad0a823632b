"""The user's permission rules, which answer permission requests without asking.

A rule is `{action, kind, path, command, agent}`. All its conditions must hold, and the first rule
that matches wins. `path` and `command` are globs (`*` any text, `?`, `[ab]`; `{a,b}` in paths
only).

The rules never allow more than they name. `allow` for commands accepts only plain lines
(`command_line`), and each command of a line must be allowed. `allow` for paths must match every
path, as spelled and at its target. Without `path` it allows no path outside of the session's
directories. For `deny` and `ask`, a suspicion is enough (`suspicion`): the name of a program
anywhere in the command, or any path. If one of these precedes an `allow` without a command (or
path), and the request does not show its commands (or files), the user is asked.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal

import msgspec

from acp_nvim.patterns import late
from acp_nvim.protocol.uris import unquote_path
from acp_nvim.session.calls.named_files import expand_home
from acp_nvim.session.questions import command_line, programs, suspicion
from acp_nvim.session.questions.command_line import Line, Simple
from acp_nvim.session.questions.globs import alternatives
from acp_nvim.session.questions.requests import Command, command

Action = Literal["allow", "deny", "ask"]

RUNS_NOTHING: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "think", "fetch", "switch_mode"}
)
"""Kinds of tool calls that run no command (v1/tool-calls#kinds)."""
TOUCHES_NOTHING: Final = frozenset({"think", "fetch", "switch_mode"})
"""Kinds that touch no file."""

MAX_CHANGES: Final = 20
"""Maximum number of `cd` in a line, and of options `-C`, that are followed.

No rule allows a line with more `cd`.
"""

MAX_SHORT_OPTIONS: Final = 10
"""Maximum number of characters before the path in a word such as `-xzfpath`."""

_STRICTEST: Final = {"deny": 0, "ask": 1, None: 2, "allow": 3}
_WILD: Final = late(r"[*?\[]")
_JOIN: Final = late(r"\s*(&&|\|\||[;|])\s*")
_PARTS: Final = late(r"[=:,@]")
_ADDRESS: Final = late(r"[A-Za-z][\w+.-]*://")
_TEXT: Final = late(r"[\s'\"()]")
_FILE: Final = late(r"(?i:file)://")
_QUOTED: Final = late(r"('[^']*'|\"[^\"]*\")")


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Entry of the option `permission.rules`."""

    action: Action
    kind: str | list[str] | None = None
    path: str | list[str] | None = None
    command: str | list[str] | None = None
    agent: str | list[str] | None = None


class Case(msgspec.Struct, frozen=True):
    """Case for the rules. `paths` are absolute and without `..`.

    `dotted` are the absolute paths as spelled that have a `..`, which may follow a link. `real`
    maps each path to all spellings of its target (none: the path itself). `linked` are all
    spellings of the files to which words of commands lead through links. `roots` are the session's
    directories. `written` are the files that the request itself changes. `texts` is the text of the
    request. `is_outside`: a command's directory is outside of the session's. `guarded` are files
    written by its commands that no rule may allow. `outside` are the paths outside of the session's
    directories, which a rule allows only by its `path`. `shows_edit`: the request shows an edit,
    although its kind changes no files.
    """

    kind: str = "other"
    paths: Sequence[str] = ()
    dotted: Sequence[str] = ()
    commands: Sequence[Command] = ()
    agent: str = ""
    cwd: str = "/"
    roots: Sequence[str] = ("/",)
    real: Mapping[str, Sequence[str]] = {}
    linked: Sequence[str] = ()
    written: Sequence[str] = ()
    texts: Sequence[str] = ()
    is_outside: bool = False
    guarded: Collection[str] = ()
    outside: Collection[str] = ()
    shows_edit: bool = False


def decide(rules: Sequence[Rule], case: Case) -> Action | None:
    """Return the action of the first rule that matches, or None.

    If there are several commands, the strictest action counts.
    """
    if not rules:
        return None
    return strictest(
        _Judgement(case, command).verdict(rules) for command in case.commands or (None,)
    )


def strictest(verdicts: Iterable[Action | None]) -> Action | None:
    """Return the strictest of several verdicts."""
    return min(verdicts, key=_STRICTEST.__getitem__)


def redirect_targets(command: Command, cwd: str) -> list[str]:
    """Return the absolute paths, with their `..`, that a plain line writes by `>`.

    `cwd` is the directory of the command.
    """
    line = plain_line(command)
    paths = (path for command in line.commands for path in command.writes) if line else ()
    return [posixpath.join(cwd, path) for path in paths]


def possible_paths(command: Command, cwd: str) -> Iterator[str]:
    """Yield the absolute paths, with their `..`, that the words of a command could refer to.

    `cwd` is the command's directory. After a `cd` of a plain line, and with an option `-C`, words
    may be relative to either directory.
    """
    line = plain_line(command)
    if line is None:
        yield from (_path_of_word(word, cwd) for word in suspicion.words(command.line))
        return
    entered, changes = cwd, 0
    for part in line.commands:
        options = islice(directories_of_options(part.words), MAX_CHANGES)
        named = (posixpath.join(entered, path) for path in options)
        words = dict.fromkeys((*part.words, *part.writes))
        distinct = dict.fromkeys(text for word in words for text in parts_of_word(word))
        for directory in dict.fromkeys((cwd, entered, *named)):
            yield from (_path_of_word(text, directory) for text in distinct)
        if part.words[0] == "cd" and len(part.words) == 2 and changes < MAX_CHANGES:
            entered, changes = posixpath.join(entered, part.words[1]), changes + 1


def _path_of_word(word: str, cwd: str) -> str:
    return posixpath.join(cwd, expand_home(word))


def parts_of_word(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be paths, as in `--option=path`, `-Cpath` and `host:path`.

    An address of the network is one path, since `a://../b` names a file if there is a folder `a:`.
    Programs decode the escapes of a `file:` address: `file:///w/%2eenv` is `/w/.env`.
    """
    yield from _literal_parts(word)
    if "%" in word and "file:" in word.lower():
        yield from _literal_parts(unquote_path(word))


def _literal_parts(word: str) -> Iterator[str]:
    """Yield the word and the parts of it that may be paths, as they are written."""
    yield word
    if not _ADDRESS.match(word):
        yield from filter(None, _PARTS.split(word))
    elif _FILE.match(word):
        yield "/" + word.partition("://")[2].partition("/")[2].lstrip("/")
    if word.startswith("-"):
        if "/" in word:
            yield word[word.index("/") :]  # -I/usr/include
        yield from (word[at:] for at in range(2, min(len(word), MAX_SHORT_OPTIONS)))


def directories_of_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the directories that options `-C` of git, make and tar name."""
    for option, value in zip(words, [*words[1:], ""], strict=True):
        if option in ("-C", "--directory"):
            yield value
        elif option.startswith("-C"):
            yield option.removeprefix("-C")
        elif option.startswith("--directory="):
            yield option.partition("=")[2]


def entered_directories(command: Command) -> list[str | None]:
    """Return the directories that a plain line changes to, in order.

    An entry is None if only the shell knows the directory.
    """
    line = plain_line(command)
    changes = (
        [command.words[1:] for command in line.commands if command.words[0] == "cd"] if line else []
    )
    return [
        words[0] if len(words) == 1 and words[0] and not words[0].startswith("-") else None
        for words in changes
    ]


def plain_line(command: Command) -> Line | None:
    """Return the commands of a plain line, with `sh -c '…'` replaced with its line, else None."""
    if command.is_name:
        return None
    if command.argv is not None:
        is_unreadable = len(command.line) > command_line.MAX_LENGTH or "\0" in command.line
        if is_unreadable or not command.argv or not command_line.is_program(command.argv[0]):
            return None
        return Line((Simple(command.argv, command.line),))
    line = command_line.parse(command.line)
    if line is None or len(line.commands) != 1:
        return line
    return _line_in_shell(line.commands[0]) or line


def _line_in_shell(outer: Simple) -> Line | None:
    """Return the line that a command passes to a shell, as `bash -lc '…'` does, or None."""
    inner = command(outer.words)
    return plain_line(inner) if inner.argv is None and not outer.writes else None


class _Judgement:
    """Judgement of one command of a request, or of a request without commands."""

    def __init__(self, case: Case, command: Command | None) -> None:
        self._case = case
        self._command = command
        self._line = plain_line(command) if command else None
        self._open = list(self._line.commands) if self._line else []
        """Commands of a plain line that no rule has allowed yet."""
        self._hidden: set[str] = set()
        """Conditions (`command`, `path`) that cannot be checked because the request hides them."""
        self._cwd = posixpath.join(case.cwd, (command.cwd if command else None) or "")
        self._rules: Sequence[Rule] = ()

    def verdict(self, rules: Sequence[Rule]) -> Action | None:
        self._rules = rules
        asking: Action | None = None
        for rule in rules:
            if not self._applies(rule):
                continue
            if rule.action == "allow":
                if self._allows(rule):
                    return asking or ("ask" if self._has_hidden(rule) else "allow")
            elif (action := self._stops(rule)) == "deny":
                return "deny"
            elif action:
                asking = action
                if not self._open:
                    return asking
        return asking or (
            "ask" if "command" in self._hidden else self._ask_if_nearly_allowed(rules)
        )

    def _applies(self, rule: Rule) -> bool:
        """Return whether the conditions about kind and agent hold.

        The agent sets the kind, but cannot hide an edit or a command by it. An edit that it shows
        is allowed only by a rule for edits, and refused by one. Commands are in `_allows`.
        """
        if not _matches_any(rule.agent, self._case.agent):
            return False
        if rule.action == "allow":
            kinds = [self._case.kind, *(["edit"] if self._case.shows_edit else [])]
            return all(_matches_any(rule.kind, kind) for kind in kinds)
        has_command = self._command is not None and _matches_any(rule.kind, "execute")
        return has_command or self._is_surely_of_kind(rule)

    def _is_surely_of_kind(self, rule: Rule) -> bool:
        """Return whether a rule is for the kind of the call, or for edits if it shows one."""
        is_edit = self._case.shows_edit and _matches_any(rule.kind, "edit")
        return is_edit or _matches_any(rule.kind, self._case.kind)

    # -- allow ------------------------------------------------------------------------------------

    def _allows(self, rule: Rule) -> bool:
        """Return whether this rule allows the call, or all commands that are still open."""
        if rule.path is not None and not _are_all_paths_allowed(rule.path, self._case):
            return False
        if rule.command is None:
            if rule.path is None and self._case.outside:
                return False
            return self._command is None or self._is_for_commands(rule)
        return self._allows_command(_list(rule.command))

    def _is_for_commands(self, rule: Rule) -> bool:
        """Return whether a rule without a command allows a call that names one.

        The rule's kinds must include one that runs commands, whatever kind the agent gives.
        """
        if rule.kind is None:
            return rule.path is None
        return self._case.kind not in RUNS_NOTHING or _matches_any(rule.kind, "execute")

    def _allows_command(self, globs: Sequence[str]) -> bool:
        """Return whether globs allow all open commands. The allowed ones are no longer open."""
        whole = self._command
        if whole is None:
            return False
        if whole.is_name:
            return any(fnmatch.fnmatchcase(whole.line, glob) for glob in globs)
        if self._case.written or not self._is_context_harmless():
            return False
        if whole.argv is None and whole.line in (glob for glob in globs if not _WILD.search(glob)):
            return True  # the rule has the exact line, whatever a shell makes of it
        if self._line is None:
            return False
        line = self._line
        is_line_allowed = any(_glob_allows_line(glob, line) for glob in globs)

        def is_allowed(simple: Simple) -> bool:
            is_named = is_line_allowed or any(_glob_allows(glob, simple) for glob in globs)
            return is_named and self._may_write(simple)

        self._open = [simple for simple in self._open if not is_allowed(simple)]
        return not self._open

    def _is_context_harmless(self) -> bool:
        """Return whether variables and directory leave the command's meaning unchanged."""
        assert self._command is not None
        return not self._case.is_outside and self._command.has_harmless_context

    def _may_write(self, simple: Simple) -> bool:
        """Return whether a rule allows the files that a command writes.

        After a `cd` a relative path is unknown.
        """
        assert self._line is not None
        has_cd = any(other.words[0] == "cd" for other in self._line.commands)
        for path in simple.writes:
            spelled = posixpath.join(self._cwd, path)
            paths = [posixpath.normpath(spelled)]
            edit = msgspec.structs.replace(
                self._case, kind="edit", paths=paths, commands=(), written=(), texts=()
            )
            if (has_cd and not path.startswith("/")) or spelled in self._case.guarded:
                return False
            if decide(self._rules, edit) != "allow":
                return False
        return True

    def _has_hidden(self, rule: Rule) -> bool:
        """Return whether an earlier rule has a hidden condition that this rule lacks."""
        hidden = self._hidden - ({"path"} if rule.path is not None else set())
        return rule.command is None and bool(hidden)

    def _ask_if_nearly_allowed(self, rules: Sequence[Rule]) -> Action | None:
        """Return "ask" for a line that runs an allowed program, but may do more than that.

        This applies even if commands run by default.
        """
        if self._command is None:
            return None
        shows_all_effects = (
            self._line is not None
            and self._is_context_harmless()
            and not any(simple.writes for simple in self._open)
        )
        if shows_all_effects:
            return None
        allowing = (rule for rule in rules if rule.action == "allow" and self._applies(rule))
        globs = [glob for rule in allowing for glob in _list(rule.command or [])]
        return "ask" if globs and self._suspicion(globs) else None

    # -- deny and ask -----------------------------------------------------------------------------

    def _stops(self, rule: Rule) -> Action | None:
        """Apply a rule that denies or asks. Return the action if the rule matches.

        Commands that the rule asks about are no longer open.
        """
        is_sure = self._is_surely_of_kind(rule)
        if rule.path is not None and not self._touches(rule.path):
            return None
        if rule.command is not None:
            suspected = self._suspicion(_list(rule.command))
            if suspected is None:
                return None
            is_sure = is_sure and suspected == "sure"
        if rule.action == "ask" or not is_sure:
            self._remove_decided(rule)
            return "ask"
        return "deny"

    def _remove_decided(self, rule: Rule) -> None:
        globs = _list(rule.command or "*")
        rest = [
            command for command in self._open if not suspicion.judge_words(globs, command.words)
        ]
        self._open = rest if len(rest) < len(self._open) else []

    def _touches(self, patterns: str | list[str]) -> bool:
        """Return whether a path matches: a named one, or a word of a command."""
        case, named = self._case, list(self._case.paths)
        if self._command is not None:
            named += [*self._paths_of_words, *case.linked]
        spellings = (spelling for path in named for spelling in (path, *case.real.get(path, ())))
        if any(_matches_path(patterns, path, fold=True) for path in spellings):
            return True
        if not self._shows_all_paths() and case.kind not in TOUCHES_NOTHING:
            self._hidden.add("path")
        return False

    @cached_property
    def _paths_of_words(self) -> Sequence[str]:
        """Return the normalized paths that words of the command could refer to or contain."""
        assert self._command is not None
        paths = map(posixpath.normpath, possible_paths(self._command, self._cwd))
        return list(dict.fromkeys((*paths, *self._paths_in_texts())))

    def _paths_in_texts(self) -> Iterator[str]:
        """Yield the paths in words with blanks or quotes, such as code."""
        words = [
            word for part in (self._line.commands if self._line else ()) for word in part.words
        ]
        for word in words:
            if _TEXT.search(word):
                texts = suspicion.words(word)
                yield from (posixpath.normpath(_path_of_word(text, self._cwd)) for text in texts)

    def _shows_all_paths(self) -> bool:
        if self._command is None:
            return bool(self._case.paths)
        if self._line is None or self._is_unclear():
            return False
        named = (list(directories_of_options(part.words)) for part in self._line.commands)
        return all(len(directories) <= MAX_CHANGES for directories in named)

    def _suspicion(self, globs: Sequence[str]) -> suspicion.Suspicion | None:
        """Return how likely it is that the open commands run a program of these globs."""
        if self._command is None:
            return self._judge_text(globs)
        suspected = self._judge_open_commands(globs, self._command.line)
        if suspected is None and self._is_unclear():
            self._hidden.add("command")
        return suspected

    def _judge_open_commands(
        self, globs: Sequence[str], whole_line: str
    ) -> suspicion.Suspicion | None:
        """Judge the commands that no rule has allowed yet, or the whole line if it is not plain."""
        if self._line is None or not self._open:
            return suspicion.judge_line(globs, whole_line)
        words = [word for command in self._open for word in command.words]
        text = " | ".join(command.text for command in self._open)
        judged = suspicion.judge_words(globs, words) or suspicion.judge_line(globs, text)
        if judged is None and len(self._open) == len(self._line.commands):
            judged = suspicion.judge_line(globs, whole_line)
        return judged

    def _judge_text(self, globs: Sequence[str]) -> suspicion.Suspicion | None:
        """Return the suspicion about the text of a request that names no command."""
        if self._case.kind in RUNS_NOTHING:
            return None
        self._hidden.add("command")
        judgements = [suspicion.judge_line(globs, text) for text in self._case.texts if text]
        return "sure" if judgements[:1] == ["sure"] else "maybe" if any(judgements) else None

    def _is_unclear(self) -> bool:
        command = self._command
        assert command is not None
        if not command.has_harmless_context:
            return True
        if command.argv is not None:
            return suspicion.is_unclear(command.argv)
        return suspicion.is_line_unclear(command.line)


def _glob_allows(glob: str, simple: Simple) -> bool:
    """Return whether a glob allows a command: as written, or without unnecessary quotes.

    The command must run the program that the glob names, and that program must not start another.
    """
    masked = " ".join(word.replace(" ", "\0") for word in simple.words)
    if not _WILD.search(glob):
        return bool({glob, " ".join(glob.split())} & {simple.text, masked})
    if not glob.strip("*"):
        return True
    return (
        _matches_program(glob.split(maxsplit=1)[0], simple.words[0])
        and programs.runs_only_itself(simple.words)
        and any(fnmatch.fnmatchcase(text, glob) for text in (simple.text, masked))
    )


def _matches_program(pattern: str, program: str) -> bool:
    """Return whether a pattern matches this program. A path is matched folder by folder."""
    wanted, given = pattern.split("/"), program.split("/")
    return len(wanted) == len(given) and all(
        fnmatch.fnmatchcase(part, glob) and (part != ".." or glob == "..")
        for glob, part in zip(wanted, given, strict=True)
    )


def _glob_allows_line(glob: str, line: Line) -> bool:
    """Return whether a glob of several commands (`cd * && make`) allows a line, in order."""
    parts = _split_glob(glob)
    return (
        len(parts) > 1
        and tuple(parts[1::2]) == line.joins
        and all(
            _glob_allows(part, command)
            for part, command in zip(parts[::2], line.commands, strict=True)
        )
    )


@lru_cache(maxsize=256)
def _split_glob(glob: str) -> tuple[str, ...]:
    """Return the globs of a glob's commands, with the operators between them."""
    parts = [""]
    for at, piece in enumerate(_QUOTED.split(glob)):
        first, *more = [piece] if at % 2 else _JOIN.split(piece)
        parts[-1] += first
        parts += more
    return tuple(part.strip() for part in parts)


def _matches_any(patterns: str | list[str] | None, value: str) -> bool:
    return patterns is None or any(fnmatch.fnmatchcase(value, p) for p in _list(patterns))


def _are_all_paths_allowed(patterns: str | list[str], case: Case) -> bool:
    """Return whether all paths match, as spelled and at their targets."""
    return bool(case.paths) and all(
        _is_allowed(patterns, path, case.roots)
        and any(_is_allowed(patterns, real, case.roots) for real in case.real.get(path) or (path,))
        for path in case.paths
    )


def _is_allowed(patterns: str | list[str], path: str, roots: Sequence[str]) -> bool:
    """Return whether a pattern allows a path. Relative ones apply in the session's directories."""
    is_inside = any(path.startswith(root.rstrip("/") + "/") for root in roots)
    return _matches_path(
        [p for p in _list(patterns) if is_inside or p.startswith(("/", "~"))], path
    )


def _matches_path(patterns: str | list[str], path: str, *, fold: bool = False) -> bool:
    """Return whether a path matches. `fold`: ignore case, as some file systems do."""
    written = [alternative for pattern in _list(patterns) for alternative in alternatives(pattern)]
    expanded = [str(Path(expand_home(pattern))) for pattern in written]
    if fold:
        path, expanded = path.casefold(), [pattern.casefold() for pattern in expanded]
    return any(
        fnmatch.fnmatchcase(path, p) or fnmatch.fnmatchcase(path, "*/" + p) for p in expanded
    )


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
