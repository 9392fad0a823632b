"""Commands whose words do not show their programs, code and files.

`xargs cat` reads the names of its files from its input, `tar -T list` from a file, and
`python -c …` computes them. `:Acp trust` allows none of these without a question. A script in a
file counts as a program of its own: `sh run.sh` is like `make`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise, takewhile
from typing import Final, TypeAlias

from acp_nvim.patterns import late
from acp_nvim.session.questions import programs

_Words: TypeAlias = tuple[str, ...]

_HARMLESS: Final = frozenset({"false", "type", "wait", "which"})
"""Builtins that set and evaluate nothing if they have no options."""
_STARTERS: Final = frozenset(
    {"nice", "gnice", "nohup", "gnohup", "timeout", "gtimeout", "stdbuf", "ionice"}
)
"""Wrappers that change neither the words nor the variables of the program that they start."""
_BEFORE_PROGRAM: Final = late(
    r"-[nkcv]|-n?[0-9]+|-[ioe][L0]|--foreground|--preserve-status"
    r"|--(?:signal|kill-after|adjustment)=\w+|[0-9.]+[smhd]?"
)
"""Options of starters, and their numbers."""
_UNSEEN: Final = late(
    r"--(?:file.*-f|pathspec-f|ev|exec|to-c|use-c|checkpoint-a|rs|upload-p|receive-p"
    r"|config-e|open-f|call|extcmd|preprocess|pre=)|-files0-from"
)
"""Options that name a command, code, or a file with further names, even if abbreviated."""
_UNSEEN_OF: Final[Mapping[str, re.Pattern[str]]] = {
    "rsync": late(r"-[a-zA-Z]*e"),
    "zip": late(r"-[a-zA-Z]*@"),
    "curl": late(r"-[a-zA-Z]*K|--config"),
    "wget": late(r"-[a-zA-Z]*i|--input-f|-e"),
    "make": late(r".*[$`]|.*SHELL=|-[a-zA-Z]*E|-$|-[a-zA-Z]*f-$|--\w+file=-$"),
    "ssh": late(r"-[a-zA-Z0-9]*[oF]"),
    "sort": late(r"--c"),
}
_NPM_CODE: Final = late(r"-[a-zA-Z]*c")
_DIRECTORY: Final = late(r"-C|--directory\b")
_NAMES_FROM_INPUT: Final = frozenset({"cpio", "pax", "ed", "ex", "vi", "vim", "nvim", "emacs"})
"""Programs that read names or commands from their input."""
_GIT_OPTIONS: Final = frozenset({"-P", "--no-pager", "--no-optional-locks", "--version", "--help"})
_GIT_STARTS: Final = frozenset(
    {"bisect", "difftool", "filter-branch", "hook", "mergetool", "submodule"}
)
"""Subcommands of git that start programs or set which ones it starts."""
_GIT_UNSEEN: Final[Mapping[str, re.Pattern[str]]] = {
    "clone": late(r"-[a-zA-Z]*c|--co"),
    "grep": late(r"-[a-zA-Z]*O"),
    "rebase": late(r"-[a-zA-Z]*x"),
}
_GIT_READS: Final = late(r"--get(?:-\w+)?|--list|-l")
"""First options of `git config` with which it sets nothing."""
_TAR: Final = late(r"-?[a-zA-Z]*[TIF]|--(?:files|info-s|new-v|rmt)")
_CODE_WORDS: Final = (("eval",), ("repl",))
_SHELL_OPTION: Final = late(r"-[enuvx]+|--(?:version|help)")
_PYTHON_OPTION: Final = late(r"-[uBOISvVhEsqb]+|--(?:version|help)")
_RUNTIME_OPTION: Final = late(
    r"-[lwVh]|--(?:version|help|test|watch|no-[\w-]+|max-[\w-]+=\d+|enable-source-maps)"
    r"|--(?:trace-(?:warnings|uncaught|deprecation)|experimental-(?:\w+-types|vm-modules))"
)
_OTHER_OPTION: Final = late(r"-[Vh]|--(?:version|help)")
_WITHOUT_CODE: Final = frozenset({"--version", "--help", "-V", "--test"})
"""Options with which a shell or an interpreter reads no code from its input."""
_RUNTIMES: Final = frozenset({"bun", "deno", "node", "nodejs", "perl", "php", "ruby", "tsx"})
_OTHERS: Final = frozenset(
    {"elixir", "groovy", "ipython", "julia", "pypy", "raku", "R", "Rscript", "ts-node"}
)
"""Interpreters in addition to those of `programs`."""
_RUNNERS: Final = frozenset(
    {
        *("bundle", "bunx", "conda", "docker", "hatch", "kubectl", "mise", "npm", "npx", "pdm"),
        *("pipenv", "pipx", "pnpm", "podman", "poetry", "rye", "uv", "uvx", "yarn"),
    }
)
"""Programs that start others in an environment (`uv run python x.py`)."""
_STARTED: Final = programs.SHELLS | programs.INTERPRETERS | _RUNTIMES | _OTHERS | {"xargs"}
"""Programs that are searched for in the words of runners."""
_MAX_STARTED: Final = 3
"""Maximum number of such words that are examined."""
_AWK: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_UNSEEN: Final = late(
    r"system|getline|(?<!\|)\|(?!\|)|@|ARGV|>>|>\s*[^\s\d=]|>\s*$|>\s*[\d.]+\s*[\w\"$(]|-f-"
)
_SED_OPTION: Final = late(r"-[nErsz]+|-i[\w.]*|-[nErsz]*e")


def _until(mark: str) -> str:
    """Return a pattern for the text up to a delimiter in a script of sed.

    Some versions of sed skip a delimiter in brackets (`s/[/]/x/`), so none may be there.
    """
    bracketed = rf"[^\]\[\\{mark}]|\[:[a-z]+:\]|\\[\w.]"
    return rf"(?:[^\[\\{mark}]|\\.|\[\^?\]?(?:{bracketed})*+\])*+{mark}"


_SED_ADDRESS: Final = rf"(?:\d+|\$|/{_until('/')})"
_REPLACED: Final = "|".join(mark + 2 * _until(mark) for mark in ("/", r"\|", "#"))
_SED: Final = late(
    rf"(?:\s*+(?:{_SED_ADDRESS}(?:,\+?{_SED_ADDRESS})?!?)?\s*+"
    rf"(?:[dpq=]|[aic].*+|s(?:{_REPLACED})[gpI0-9]*)\s*+(?:;|$))+"
)
"""Script of sed that only prints, deletes, adds and replaces text."""


def hides_action(words: tuple[str, ...]) -> bool:
    """Return whether a command may use programs, code or files that its words do not show."""
    words = _started(words)
    if not words or any(_UNSEEN.match(word) for word in words[1:]):
        return True
    if sum(_DIRECTORY.match(word) is not None for word in words) > 1:
        return True  # the second one is relative to the first
    program, args = _program(words[0]), words[1:]
    unseen = _UNSEEN_OF.get(program.removeprefix("g"), _UNSEEN_OF.get(program))
    if unseen is not None and any(unseen.match(arg) for arg in args):
        return True
    if program in _RUNNERS and _is_started_hidden(args):
        return True
    if program in _CHECKS:
        return _CHECKS[program](args)
    if program in _HARMLESS:
        return any(arg.startswith("-") for arg in args)
    return program in _NAMES_FROM_INPUT or not programs.runs_only_itself(words)


def _program(word: str) -> str:
    """Return the name of a program, without its version if it has checks (`python3.12`)."""
    name = programs.program_name(word)
    bare = name.rstrip("0123456789.").removesuffix("-")
    return bare if bare in _CHECKS else name


def _is_started_hidden(args: _Words) -> bool:
    """Return whether a runner starts a shell, an interpreter or `xargs` that hides its action."""
    started = [at for at, arg in enumerate(args) if _program(arg) in _STARTED]
    return len(started) > _MAX_STARTED or any(hides_action(args[at:]) for at in started)


def _started(words: _Words) -> _Words:
    """Return a command without the starters before its program (`timeout 60 make`).

    Return no words if the program is uncertain.
    """
    at = 0
    while at < len(words) and programs.program_name(words[at]) in _STARTERS:
        at += 1
        while at < len(words) and _BEFORE_PROGRAM.fullmatch(words[at]):
            at += 1
    return words[at:] if words[at : at + 1] and not words[at].startswith("-") else ()


def _shell_hides(args: _Words, known: re.Pattern[str] = _SHELL_OPTION) -> bool:
    """Return whether the code comes from an option or from the input, not from a file."""
    at = next((at for at, arg in enumerate(args) if arg[:1] not in ("-", "+")), len(args))
    options = args[:at]
    has_code = bool(args[at:]) or not _WITHOUT_CODE.isdisjoint(options)
    return not has_code or not all(known.fullmatch(option) for option in options)


def _interpreter_hides(args: _Words, known: re.Pattern[str] = _OTHER_OPTION) -> bool:
    return args[:1] in _CODE_WORDS or "-" in args or _shell_hides(args, known)


def _python_hides(args: _Words) -> bool:
    """Return whether the code is hidden. A module (`-m pytest`) is like a script in a file."""
    at = args.index("-m") if "-m" in args else len(args)
    if args[at + 1 : at + 2] and all(_PYTHON_OPTION.fullmatch(option) for option in args[:at]):
        return False
    return _interpreter_hides(args, _PYTHON_OPTION)


def _runtime_hides(args: _Words) -> bool:
    """Return whether the code is hidden. With `-v`, these interpreters only print their version."""
    return args != ("-v",) and _interpreter_hides(args, _RUNTIME_OPTION)


def _command_hides(args: _Words) -> bool:
    return args[:1] not in (("-v",), ("-V",))


def _tar_hides(args: _Words) -> bool:
    """Return whether options, or the first word, which may have no `-`, hide the files."""
    options = [*args[:1], *(arg for arg in args if arg.startswith("-"))]
    return any(_TAR.match(option) for option in options)


def _npm_hides(args: _Words) -> bool:
    return any(_NPM_CODE.fullmatch(arg) for arg in takewhile(lambda arg: arg != "--", args))


def _npx_hides(args: _Words) -> bool:
    """Return whether an option of npx itself, before the program and its arguments, is code."""
    words = (
        at
        for at, (before, arg) in enumerate(pairwise(("", *args)))
        if not before.startswith("-") and not arg.startswith("-")
    )
    return _npm_hides(args[: next(words, len(args))])


def _awk_hides(args: _Words) -> bool:
    return "-" in args or any(_AWK_UNSEEN.search(arg) for arg in args)


def _sed_hides(args: _Words) -> bool:
    options = [arg for arg in args if arg.startswith("-")]
    scripts = [
        script
        for option, script in pairwise(args)
        if option.startswith("-") and option.endswith("e")
    ]
    scripts = scripts or [arg for arg in args if arg and not arg.startswith("-")][:1]
    return not (
        all(_SED_OPTION.fullmatch(option) for option in options)
        and all(_SED.fullmatch(script) for script in scripts)
    )


def _git_hides(args: _Words) -> bool:
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if args[at] != "-C" and args[at] not in _GIT_OPTIONS:
            return True
        at += 2 if args[at] == "-C" else 1
    verb, rest = args[at] if at < len(args) else "", args[at + 1 :]
    if verb == "config":
        return not any(_GIT_READS.fullmatch(arg) for arg in rest[:1])
    unseen = _GIT_UNSEEN.get(verb)
    return verb in _GIT_STARTS or (unseen is not None and any(map(unseen.match, rest)))


_CHECKS: Final[Mapping[str, Callable[[_Words], bool]]] = {
    **dict.fromkeys((programs.INTERPRETERS | _OTHERS) - _NAMES_FROM_INPUT, _interpreter_hides),
    **dict.fromkeys(("python", "python2", "python3", "pypy"), _python_hides),
    **dict.fromkeys(_RUNTIMES, _runtime_hides),
    **dict.fromkeys(programs.SHELLS, _shell_hides),
    **dict.fromkeys(_AWK, _awk_hides),
    **dict.fromkeys(("sed", "gsed"), _sed_hides),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar_hides),
    **dict.fromkeys(("npm", "pnpm"), _npm_hides),
    "npx": _npx_hides,
    "git": _git_hides,
    "command": _command_hides,
    "pwsh": _interpreter_hides,
}
