"""Commands whose words do not show their programs, code and files.

`xargs cat` reads the names of its files from its input, `tar -T list` from a file, and
`python -c …` computes them. `:Acp trust` allows none of these without a question. A script in a
file counts as a program of its own: `sh run.sh` is like `make`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from acp_nvim.patterns import late
from acp_nvim.session.questions import programs

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
    "tar": late(r"-?[a-zA-Z]*[TIF]|--(?:files|info-s|new-v|rmt)"),
    "rsync": late(r"-[a-zA-Z]*e"),
    "zip": late(r"-[a-zA-Z]*@"),
    "curl": late(r"-[a-zA-Z]*K|--config"),
    "wget": late(r"-[a-zA-Z]*i|--input-f|-e"),
    "make": late(r".*[$`]|.*SHELL=|-[a-zA-Z]*E"),
    "npx": late(r"-c"),
    "npm": late(r"-c"),
    "ssh": late(r"-[a-zA-Z0-9]*[oF]"),
    "sort": late(r"--c"),
}
_DIRECTORY: Final = late(r"-C|--directory\b")
_NAMES_FROM_INPUT: Final = frozenset({"cpio", "pax", "ed", "ex", "vi", "vim", "nvim", "emacs"})
"""Programs that read names or commands from their input."""
_GIT_OPTIONS: Final = frozenset({"-P", "--no-pager", "--no-optional-locks", "--version", "--help"})
_GIT_STARTS: Final = frozenset(
    {"bisect", "config", "difftool", "filter-branch", "hook", "mergetool", "submodule"}
)
"""Subcommands of git that start programs or set which ones it starts."""
_GIT_UNSEEN: Final = late(r"-[a-zA-Z]*x|-O")
_SHELL_OPTION: Final = late(r"-[exuv]+|--(?:version|help)")
_CODE_OPTION: Final = late(r"-[uBOISvVh]+|--(?:version|help|test)")
_WITHOUT_CODE: Final = frozenset({"--version", "--help", "-V", "--test"})
"""Options with which a shell or an interpreter reads no code from its input."""
_AWK: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_UNSEEN: Final = late(r"system|getline|\||@|ARGV|>>|>\s*[^\s\d=]|>\s*$")
_SED_OPTION: Final = late(r"-[nErsz]+|-i[\w.]*|-[nErsz]*e")
_SED_ADDRESS: Final = r"(?:\d+|\$|/(?:[^/\\]|\\.)*+/)"
_SED: Final = late(
    rf"(?:\s*+(?:{_SED_ADDRESS}(?:,\+?{_SED_ADDRESS})?!?)?\s*+(?:[dpq=]"
    r"|s(?:(?:/(?:[^/\\]|\\.)*+){2}/|(?:\|(?:[^|\\]|\\.)*+){2}\||(?:#(?:[^#\\]|\\.)*+){2}#)"
    r"[gpI0-9]*)\s*+(?:;|$))+"
)
"""Script of sed that only prints, deletes and replaces."""


def hides_action(words: Sequence[str]) -> bool:
    """Return whether a command may use programs, code or files that its words do not show."""
    words = _started(words)
    if not words or any(_UNSEEN.match(word) for word in words[1:]):
        return True
    if sum(_DIRECTORY.match(word) is not None for word in words) > 1:
        return True  # the second one is relative to the first
    program, args = programs.program_name(words[0]), words[1:]
    unseen = _UNSEEN_OF.get(program.removeprefix("g"), _UNSEEN_OF.get(program))
    if unseen is not None and any(unseen.match(arg) for arg in args):
        return True
    if program in _CHECKS:
        return _CHECKS[program](args)
    if program in _HARMLESS:
        return any(arg.startswith("-") for arg in args)
    return program in _NAMES_FROM_INPUT or not programs.runs_only_itself(words)


def _started(words: Sequence[str]) -> Sequence[str]:
    """Return a command without the starters before its program (`timeout 60 make`).

    Return no words if the program is uncertain.
    """
    at = 0
    while at < len(words) and programs.program_name(words[at]) in _STARTERS:
        at += 1
        while at < len(words) and _BEFORE_PROGRAM.fullmatch(words[at]):
            at += 1
    return words[at:] if words[at : at + 1] and not words[at].startswith("-") else ()


def _leading_options(args: Sequence[str]) -> Sequence[str]:
    """Return the options before the first other argument, or before the module of Python."""
    ends = (at for at, arg in enumerate(args) if arg[:1] not in ("-", "+") or arg == "-m")
    return args[: next(ends, len(args))]


def _shell_hides(args: Sequence[str], known: re.Pattern[str] = _SHELL_OPTION) -> bool:
    """Return whether the code is in an option or comes from the input, not from a file."""
    options = _leading_options(args)
    has_code = len(options) < len(args) or not _WITHOUT_CODE.isdisjoint(options)
    return not has_code or not all(known.fullmatch(option) for option in options)


def _interpreter_hides(args: Sequence[str]) -> bool:
    return "eval" in args[:1] or _shell_hides(args, _CODE_OPTION)


def _awk_hides(args: Sequence[str]) -> bool:
    return any(_AWK_UNSEEN.search(arg) for arg in args)


def _sed_hides(args: Sequence[str]) -> bool:
    options = [arg for arg in args if arg.startswith("-")]
    scripts = [
        script
        for option, script in pairwise(args)
        if option.startswith("-") and option.endswith("e")
    ]
    scripts = scripts or [arg for arg in args if arg not in options][:1]
    return not (
        all(_SED_OPTION.fullmatch(option) for option in options)
        and all(_SED.fullmatch(script) for script in scripts)
    )


def _git_hides(args: Sequence[str]) -> bool:
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if args[at] != "-C" and args[at] not in _GIT_OPTIONS:
            return True
        at += 2 if args[at] == "-C" else 1
    verb = args[at] if at < len(args) else ""
    return verb in _GIT_STARTS or (
        verb in ("rebase", "grep") and any(_GIT_UNSEEN.match(arg) for arg in args[at + 1 :])
    )


_CHECKS: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    **dict.fromkeys(programs.INTERPRETERS - _NAMES_FROM_INPUT, _interpreter_hides),
    **dict.fromkeys(programs.SHELLS, _shell_hides),
    **dict.fromkeys(_AWK, _awk_hides),
    "sed": _sed_hides,
    "gsed": _sed_hides,
    "git": _git_hides,
}
