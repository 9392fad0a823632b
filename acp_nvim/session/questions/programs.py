"""Effect of the words after the name of a shell or program.

A rule that allows `make *` leaves the arguments to the agent. This is right for a program that only
reads them. `env`, `xargs`, `eval` or `export` start other programs with them, or change the program
that the next word means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_nvim.patterns import late


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED: Final = _set(
    """
    ! [[ ]] { } case coproc declare do done elif else end esac export fi float for foreach
    function if in integer local namespace nocorrect readonly repeat select then time
    typeset until while
    """
)
"""Words of a shell's grammar. A line with one of them in place of a program is not plain."""

SHELLS: Final = _set(
    """
    sh bash zsh dash ash ksh ksh93 mksh oksh pdksh yash rbash rzsh csh tcsh fish pwsh
    """
)
"""Programs that run shell code from text, files or input."""

CODE: Final = frozenset({"eval", "source", ".", "alias", "trap", "emulate", "fc", *SHELLS})
"""Builtins that read shell code."""

INTERPRETERS: Final = _set(
    """
    awk gawk mawk nawk perl python python2 python3 ruby node nodejs deno bun php lua luajit
    tclsh expect osascript guile vim nvim vi ex ed emacs
    """
)
"""Interpreters, whose code can start programs."""

WRAPPERS: Final = _set(
    """
    env xargs sudo doas su nohup time nice ionice timeout gtimeout stdbuf setsid chroot
    busybox toybox parallel sem watch strace ltrace flock script unshare nsenter runuser
    pkexec setpriv setarch linux32 linux64 i386 x86_64 arch chrt taskset numactl systemd-run
    start-stop-daemon daemonize entr unbuffer rlwrap catchsegv valgrind gdb lldb perf
    dbus-run-session firejail bwrap proot fakeroot fakechroot eatmydata xvfb-run ssh-agent
    at batch tmux screen dtach hyperfine caffeinate xcrun open xdg-open run-parts chpst
    setuidgid softlimit prlimit logsave sg newgrp genv gnice gnohup command builtin exec
    noglob nocorrect sched
    """
)
"""Programs that start the program named in their arguments."""

BUILTINS: Final = _set(
    """
    - r autoload bg bind bindkey break bye caller chdir compadd comparguments compcall compctl
    compdescribe compfiles compgen compgroups complete compopt compquote compset comptags
    comptry compvalues continue declare dirs disable disown echotc echoti enable exit export
    false fg float functions getln getopts hash help history integer jobs kill let limit
    local log logout mapfile newgrp nameref popd print private pushd pushln read readarray
    readonly rehash return set setopt shift shopt suspend test times ttyctl type typeset
    ulimit umask unalias unfunction unhash unlimit unset unsetopt vared wait whence where
    which zcompile zformat zle zmodload zparseopts zregexparse zstyle [ printf zsocket ztcp
    zpty zselect strftime
    """
)
"""Builtins that set variables or options, or evaluate a number. Some shells run code there."""

_NUMBERS: Final = _set(
    """
    exit return break continue shift kill umask bye logout
    """
)
_NUMBER: Final = late(r"-?[0-9]+|-[A-Z]+[0-9]*")
_TESTS: Final = late(r"-[efdsrwxLhnzp]")
_FORMAT: Final = late(r"(?:[^%]|%[%s])*")
_EXECUTES: Final = late(r"-(?:exec|ok)")
_FD: Final = late(r"-[a-zA-Z]*[xX]|--exec")


def program_name(program: str) -> str:
    """Return the name of a program without its folder."""
    return program.rpartition("/")[2]


def runs_only_itself(words: Sequence[str]) -> bool:
    """Return whether a command starts only its own program, whatever its arguments.

    It must not change the meaning of the next command either.
    """
    program, args = program_name(words[0]), words[1:]
    if program in _NUMBERS:
        return all(_NUMBER.fullmatch(arg) for arg in args)
    if program == "test":
        return len(args) == 2 and _TESTS.fullmatch(args[0]) is not None
    if program == "printf":
        return bool(args) and args[0][:1] != "-" and _FORMAT.fullmatch(args[0]) is not None
    if program in ("find", "gfind"):
        return not any(_EXECUTES.match(arg) for arg in args)
    if program in ("fd", "fdfind"):
        return not any(_FD.match(arg) for arg in args)
    return program not in RESERVED | CODE | WRAPPERS | BUILTINS


def may_start_other_programs(words: Sequence[str]) -> bool:
    """Return whether one of these words may run other words as a program or as code."""
    known = CODE | WRAPPERS | INTERPRETERS
    return any(program_name(word) in known or _EXECUTES.match(word) for word in words)
