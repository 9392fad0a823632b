"""Commands whose words do not show their programs, code and files.

`xargs cat` reads the names of its files from its input, `tar -T list` from a file, and `python -c
…` computes them. `:Acp trust` allows none of these without asking. A script in a file counts as
a separate program: `sh run.sh` is like `make`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise, takewhile
from typing import Final, TypeAlias

from acp_nvim.patterns import late
from acp_nvim.session.questions import programs

_Words: TypeAlias = tuple[str, ...]

# -- options of any program -----------------------------------------------------------------------

_HIDING_OPTION: Final = late(
    r"--(?:file.*-f|pathspec-f|ev|exec|to-c|use-c|use-a|checkpoint-a|rs|upload-p|receive-p"
    r"|config-e|open-f|call|extcmd|preprocess|pre=|\w+-cmd|hostname-b|init-h|pager|post-r"
    r"|run_under|script-s)|-files0-from"
)
"""Options that name a command, code, or a file with further names, even if abbreviated."""
_CONFIG: Final = late(r"--config")
_COMPILER: Final = late(r"-wrapper|-fplugin|-specs|-B|@")
_EVALUATION: Final = late(r"--?e(?:val|xec|xecute)?$")
_HIDING_OPTIONS_OF: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(("cargo", "hg", "jj", "svn"), _CONFIG),
    **dict.fromkeys(("cc", "c++", "g++", "clang", "clang++"), _COMPILER),
    **dict.fromkeys(
        ("babel-node", "erl", "ghc", "mix", "ocaml", "rake", "scala", "stack", "swift"),
        _EVALUATION,
    ),
    **dict.fromkeys(("nc", "ncat", "netcat"), late(r"-[a-zA-Z]*[ec]|--(?:sh-e|lua-e)")),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), late(r"[-/]spf|@|-[ixa][r0-9-]*@")),
    **dict.fromkeys(("mysql", "mariadb"), late(r".*(?:\\!|system|source)|-[a-zA-Z]*\\.")),
    "ansible": late(r"-[a-zA-Z]*[am]|--args|--module-n"),
    "cmake": late(r"-[PE]"),
    "exiftool": late(r"-if"),
    "go": late(r"--?(?:exec|toolexec|vettool)"),
    "man": late(r"-[a-zA-Z0-9]*[PH]|--html"),
    "nix": late(r"-c$|--command"),
    "nix-shell": late(r"--run|--command"),
    "nodemon": late(r"-x|--exec"),
    "psql": late(
        r".*\\[!|\w]|.*(?i:program|prompt[123]=)|\||-$|-[a-zA-Z]*(?:f-|o\|)|--(?:fi\w*=-|ou\w*=\|)"
    ),
    "rg": late(r"--pre$"),
    "scp": late(r"-[a-zA-Z0-9]*[oFSD]"),
    "rsync": late(r"-[a-zA-Z]*e"),
    "socat": late(r".*(?i:exec|system|shell):"),
    "split": late(r"--f"),
    "sqlite3": late(
        r"\.(?!(?:databases|dump|headers?|indexes|mode|schema|show|tables?)\b)[a-z]|--?(?:cmd|init)"
    ),
    "zip": late(r"-[a-zA-Z]*@|-TT|--unzip-c"),
    "curl": late(r"-[a-zA-Z]*K|--config"),
    "wget": late(r"-[a-zA-Z]*i|--input-f|-e"),
    "make": late(
        r".*[$`]|.*SHELL=|[\w.-]+\s*[:+?!]*=.*[;&|<>()]|-[a-zA-Z]*E|-$|-[a-zA-Z]*f-$|--\w+file=-$"
    ),
    "unzip": late(r"-[a-zA-Z]*:"),
    "sort": late(r"--c"),
}
"""Arguments of some programs that name commands, code, or files with further names."""
_PASSING_ON: Final = frozenset({"cargo"})
"""Programs in `_HIDING_OPTIONS_OF` that pass the arguments after `--` to a program they built."""
_DIRECTORY_OPTION: Final = late(r"-C|--directory\b")
_HARMLESS: Final = frozenset({"false", "type", "wait", "which"})
"""Builtins that set and evaluate nothing if they have no options."""
_READING_INPUT: Final = frozenset(
    {
        *("cpio", "pax", "ed", "ex", "vi", "vim", "nvim", "emacs", "patch", "ghci", "jshell"),
        *("concurrently", "launchctl", "watchexec"),
        *("ssh", "rsh", "mosh", "sftp", "ftp", "lftp", "telnet"),
    }
)
"""Programs that read names or commands from their input, from files or from any argument.

Arguments of `ssh` are a line for a shell of another machine, where every file is outside.
"""


def hides_action(words: _Words) -> bool:
    """Return whether a command may use programs, code or files that its words do not show."""
    words = _without_starters(words)
    if not words or any(_HIDING_OPTION.match(word) for word in words[1:]):
        return True
    if sum(_DIRECTORY_OPTION.match(word) is not None for word in words) > 1:
        return True  # the second one is relative to the first
    program, args = _program(words[0]), words[1:]
    hiding = _HIDING_OPTIONS_OF.get(program.removeprefix("g"), _HIDING_OPTIONS_OF.get(program))
    own = takewhile(lambda arg: arg != "--" or program not in _PASSING_ON, args)
    if hiding is not None and any(map(hiding.match, own)):
        return True
    if (_runner_hides if program in _RUNNERS else _starts_code)(args):
        return True
    if program in _CHECKS:
        return _CHECKS[program](args)
    if program in _HARMLESS:
        return any(arg.startswith("-") for arg in args)
    return program in _READING_INPUT or not programs.runs_only_itself(words)


def _program(word: str) -> str:
    """Return the name of a program, without its version if it has checks (`python3.12`)."""
    name = programs.program_name(word)
    bare = name.rstrip("0123456789.").removesuffix("-")
    return bare if bare in _CHECKS else name


# -- programs that start another program ----------------------------------------------------------

_STARTERS: Final = frozenset(
    {"nice", "gnice", "nohup", "gnohup", "timeout", "gtimeout", "stdbuf", "ionice"}
)
"""Wrappers that change neither the words nor the variables of the program that they start."""
_STARTER_ARGUMENT: Final = late(
    r"-[nkcv]|-n?[0-9]+|-[ioe][L0]|--foreground|--preserve-status"
    r"|--(?:signal|kill-after|adjustment)=\w+|[0-9.]+[smhd]?"
)
"""Option or number of a starter, before the program."""
_RUNNERS: Final = frozenset(
    {
        *("bundle", "bunx", "conda", "docker", "hatch", "kubectl", "mise", "npm", "npx", "pdm"),
        *("pipenv", "pipx", "pnpm", "podman", "poetry", "rye", "uv", "uvx", "yarn"),
    }
)
"""Programs that start others in an environment (`uv run python x.py`)."""
_RUNTIMES: Final = frozenset({"bun", "deno", "node", "nodejs", "perl", "php", "ruby", "tsx"})
_OTHER_INTERPRETERS: Final = frozenset(
    {"elixir", "groovy", "ipython", "julia", "pypy", "raku", "R", "Rscript", "ts-node"}
)
"""Interpreters that `programs` does not list."""
_RUN: Final = programs.SHELLS | programs.INTERPRETERS | _RUNTIMES | _OTHER_INTERPRETERS | {"xargs"}
"""Programs that are searched for in the words of runners."""
_MAX_RUN: Final = 3
"""Maximum number of words in `_RUN` that are examined in a command."""


def _without_starters(words: _Words) -> _Words:
    """Return a command without the starters before its program (`timeout 60 make`).

    Return no words if the program is uncertain.
    """
    at = 0
    while at < len(words) and programs.program_name(words[at]) in _STARTERS:
        at += 1
        while at < len(words) and _STARTER_ARGUMENT.fullmatch(words[at]):
            at += 1
    is_certain = at < len(words) and not words[at].startswith("-")
    return words[at:] if is_certain else ()


def _runner_hides(args: _Words) -> bool:
    """Return whether a runner starts a shell, an interpreter or `xargs` that hides its action."""
    places = [at for at, arg in enumerate(args) if _program(arg) in _RUN]
    return len(places) > _MAX_RUN or any(hides_action(args[at:]) for at in places)


def _starts_code(args: _Words) -> bool:
    """Return whether an unknown program may start a shell or an interpreter with code.

    The name of that shell or interpreter is followed by an option (`ccache sh -c …`).
    """
    places = [
        at
        for at, (arg, after) in enumerate(pairwise(args))
        if after.startswith("-") and _program(arg) in _RUN
    ]
    return len(places) > _MAX_RUN or any(hides_action(args[at:]) for at in places)


# -- shells and interpreters ----------------------------------------------------------------------

_CODE_WORDS: Final = (("eval",), ("repl",))
"""First arguments after which code follows or is read."""
_SHELL_OPTION: Final = late(r"-[enuvx]+|--(?:version|help)")
_PYTHON_OPTION: Final = late(r"-[uBOISvVhEsqb]+|--(?:version|help)")
_RUNTIME_OPTION: Final = late(
    r"-[lwVh]|--(?:version|help|test|watch|no-[\w-]+|max-[\w-]+=\d+|enable-source-maps)"
    r"|--(?:trace-(?:warnings|uncaught|deprecation)|experimental-(?:\w+-types|vm-modules))"
)
_INTERPRETER_OPTION: Final = late(r"-[Vh]|--(?:version|help)")
_WITHOUT_CODE: Final = frozenset({"--version", "--help", "-V", "--test"})
"""Options with which a shell or an interpreter reads no code from its input."""


def _shell_hides(args: _Words, harmless: re.Pattern[str] = _SHELL_OPTION) -> bool:
    """Return whether the code comes from an option or from the input, not from a file.

    The options before the file must be `harmless`.
    """
    at = next((at for at, arg in enumerate(args) if arg[:1] not in ("-", "+")), len(args))
    options, has_file = args[:at], at < len(args)
    reads_input = not has_file and _WITHOUT_CODE.isdisjoint(options)
    return reads_input or not all(harmless.fullmatch(option) for option in options)


def _interpreter_hides(args: _Words, harmless: re.Pattern[str] = _INTERPRETER_OPTION) -> bool:
    return args[:1] in _CODE_WORDS or "-" in args or _shell_hides(args, harmless)


def _python_hides(args: _Words) -> bool:
    """Return whether the code is hidden. A module (`-m pytest`) is like a script in a file."""
    at = args.index("-m") if "-m" in args else len(args)
    has_module = at + 1 < len(args)
    if has_module and all(_PYTHON_OPTION.fullmatch(option) for option in args[:at]):
        return False
    return _interpreter_hides(args, _PYTHON_OPTION)


def _runtime_hides(args: _Words) -> bool:
    """Return whether the code is hidden. With `-v`, these interpreters only print their version."""
    return args != ("-v",) and _interpreter_hides(args, _RUNTIME_OPTION)


def _command_hides(args: _Words) -> bool:
    """Return whether the builtin `command` does more than describe a program."""
    return args[:1] not in (("-v",), ("-V",))


_NPM_CODE: Final = late(r"-[a-zA-Z]*c")


def _npm_hides(args: _Words) -> bool:
    if args[:1] == ("set",) or (args[:1] in (("config",), ("c",)) and args[1:2] == ("set",)):
        return True
    return any(_NPM_CODE.fullmatch(arg) for arg in takewhile(lambda arg: arg != "--", args))


def _npx_hides(args: _Words) -> bool:
    """Return whether an option of npx itself, before the program and its arguments, is code.

    The program is the first word that is neither an option nor the word after one.
    """
    at = next(
        (
            at
            for at, (before, arg) in enumerate(pairwise(("", *args)))
            if not before.startswith("-") and not arg.startswith("-")
        ),
        len(args),
    )
    return _npm_hides(args[:at])


# -- tar, awk, git --------------------------------------------------------------------------------

_TAR_HIDING: Final = late(r"-?[a-zA-Z]*[TIFP]|--(?:ab|files|info-s|new-v|rmt)")
_AWK: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_HIDING: Final = late(
    r"system|getline|(?<!\|)\|(?!\|)|@|ARGV|>>|>\s*[^\s\d=]|>\s*$|>\s*[\d.]+\s*[\w\"$(]|-f-"
)
_GIT_OPTIONS: Final = frozenset({"-P", "--no-pager", "--no-optional-locks", "--version", "--help"})
"""Options before the subcommand that hide nothing."""
_GIT_STARTERS: Final = frozenset(
    {
        *("bisect", "difftool", "filter-branch", "hook", "mergetool", "submodule"),
        *("am", "apply", "fast-import", "for-each-repo", "send-email"),
    }
)
"""Subcommands of git that start programs, set which ones it starts, or read names from files."""
_GIT_HIDING: Final[Mapping[str, re.Pattern[str]]] = {
    "clone": late(r"-[a-zA-Z]*[cu]|--(?:co|te)|ext::"),
    "grep": late(r"-[a-zA-Z]*O"),
    "rebase": late(r"-[a-zA-Z]*x"),
}
_GIT_INPUT: Final = late(r"--stdin|--batch|ext::")
_GIT_CONFIG_READS: Final = late(r"--get(?:-\w+)?|--list|-l")
"""First options with which `git config` sets nothing."""


def _tar_hides(args: _Words) -> bool:
    """Return whether options hide the files. The first word may be options without a `-`."""
    options = [*args[:1], *(arg for arg in args if arg.startswith("-"))]
    return any(_TAR_HIDING.match(option) for option in options)


def _awk_hides(args: _Words) -> bool:
    return "-" in args or any(_AWK_HIDING.search(arg) for arg in args)


def _git_hides(args: _Words) -> bool:
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if args[at] != "-C" and args[at] not in _GIT_OPTIONS:
            return True
        at += 2 if args[at] == "-C" else 1
    subcommand, rest = args[at] if at < len(args) else "", args[at + 1 :]
    if subcommand == "config":
        return not (rest and _GIT_CONFIG_READS.fullmatch(rest[0]))
    if any(_GIT_INPUT.match(arg) for arg in rest):
        return True
    hiding = _GIT_HIDING.get(subcommand)
    return subcommand in _GIT_STARTERS or (hiding is not None and any(map(hiding.match, rest)))


# -- crontab, systemctl ---------------------------------------------------------------------------

_SYSTEMCTL_READS: Final = frozenset(
    {"cat", "is-active", "is-enabled", "is-failed", "list-timers", "list-units", "show", "status"}
)
_SYSTEMCTL_OPTION: Final = late(
    r"--(?:all|full|no-pager|plain|system|user|(?:state|type)=\w+)|-[al]+"
)


def _crontab_hides(args: _Words) -> bool:
    return args != ("-l",)


def _systemctl_hides(args: _Words) -> bool:
    """Return whether the command does more than show units."""
    options = [arg for arg in args if arg.startswith("-")]
    names = [arg for arg in args if not arg.startswith("-")]
    shows = names[:1] and names[0] in _SYSTEMCTL_READS
    return not (shows and all(map(_SYSTEMCTL_OPTION.fullmatch, options)))


# -- sed ------------------------------------------------------------------------------------------


def _sed_text(delimiter: str) -> str:
    """Return a pattern for the text up to a delimiter in a script of sed.

    Some versions of sed skip a delimiter in brackets (`s/[/]/x/`), so brackets must not contain it.
    """
    in_brackets = rf"[^\]\[\\{delimiter}]|\[:[a-z]+:\]|\\[\w.]"
    brackets = rf"\[\^?\]?(?:{in_brackets})*+\]"
    return rf"(?:[^\[\\{delimiter}]|\\.|{brackets})*+{delimiter}"


_SED_ADDRESS: Final = rf"(?:\d+|\$|/{_sed_text('/')})"
_SED_ADDRESSES: Final = rf"{_SED_ADDRESS}(?:,\+?{_SED_ADDRESS})?!?"
_SED_REPLACE: Final = "|".join(
    delimiter + 2 * _sed_text(delimiter) for delimiter in ("/", r"\|", "#")
)
_SED_COMMAND: Final = rf"(?:[dpq=]|[aic].*+|s(?:{_SED_REPLACE})[gpI0-9]*)"
_SED_SCRIPT: Final = late(rf"(?:\s*+(?:{_SED_ADDRESSES})?\s*+{_SED_COMMAND}\s*+(?:;|$))+")
"""Script of sed that only prints, deletes, adds and replaces text."""
_SED_OPTION: Final = late(r"-[nErsz]+|-i[\w.]*|-[nErsz]*e")


def _sed_hides(args: _Words) -> bool:
    """Return whether an option or a script may do more than edit text.

    Scripts follow options that end in `e`. Without these, the first other argument is the script.
    """
    options = [arg for arg in args if arg.startswith("-")]
    scripts = [
        script
        for option, script in pairwise(args)
        if option.startswith("-") and option.endswith("e")
    ]
    scripts = scripts or [arg for arg in args if arg and not arg.startswith("-")][:1]
    return not (
        all(_SED_OPTION.fullmatch(option) for option in options)
        and all(_SED_SCRIPT.fullmatch(script) for script in scripts)
    )


_CHECKS: Final[Mapping[str, Callable[[_Words], bool]]] = {
    **dict.fromkeys(
        (programs.INTERPRETERS | _OTHER_INTERPRETERS) - _READING_INPUT, _interpreter_hides
    ),
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
    "crontab": _crontab_hides,
    "systemctl": _systemctl_hides,
    "pwsh": _interpreter_hides,
}
"""Functions that return whether the arguments of a program hide its action."""
