"""Guard: a shell program that runs a remote command and ends it with all its descendants.

If the client of a connection (`ssh`, `docker exec`) is killed, the remote processes keep running.
Therefore a small POSIX shell program starts the command there. It reads the environment from stdin,
one variable per line up to an empty line, because arguments are public. The first variable is the
mark. The rest of stdin is the input of the command. At the end of stdin, for example after a broken
connection, the guard ends all processes of the command.

A login shell may print text before the line of the guard, which begins with the mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from acp_nvim.agent.child.guard import CHILD

READY: Final = "ready"
NO_DIRECTORY: Final = "no directory"
NO_PROGRAM: Final = "no program"
"""Beginnings of the guard's line after the mark."""
MAX_BANNER: Final = 64 << 10
"""Maximum length of unread output that is searched for the guard's line, in bytes."""

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# PATH is set by the profile of a login shell. The profile must not read stdin.
_LOGIN: Final = r"""
case ${SHELL##*/} in bash|zsh|ksh|dash|ash) ;; *) SHELL=/bin/sh ;; esac
[ -x "$SHELL" ] || SHELL=/bin/sh
exec "$SHELL" -lc 'exec /bin/sh -c "$0" "$@" <&3 3<&-' "$@" 3<&0 </dev/null
"""

# The prefix keeps these variables apart from those of the command's environment.
_RUN: Final = r"""
# Without its mark, the guard would end the remote processes of all agents.
IFS= read -r acp_line
case $acp_line in
  ACP_NVIM_CHILD=?*) export "$acp_line" ;;
  *)
    echo 'stdin was read or closed before the command started' >&2
    exit 125
    ;;
esac
while IFS= read -r acp_line && [ -n "$acp_line" ]; do
  acp_value=$(printf '%b.' "${acp_line#*=}")
  export "${acp_line%%=*}=${acp_value%.}"
done
report() { printf '\n%s %s\n' "$ACP_NVIM_CHILD" "$1"; }
acp_directory=$1 acp_grace=$2 acp_relays=$3
shift 3
if [ -n "$acp_directory" ] && ! cd "$acp_directory" 2>/dev/null; then
  report "no directory $acp_directory"
  exit 126
fi
if ! command -v "$1" >/dev/null 2>&1; then
  report "no program $1"
  exit 127
fi
# This shell keeps both pipes open: names in `new` are kept until they are read, and the end of
# `end` is that of a shell that is killed.
if [ -n "$acp_relays" ]; then
  acp_relays=$(mktemp -d "${TMPDIR:-/tmp}/acp-nvim.XXXXXX") &&
    mkfifo "$acp_relays/new" "$acp_relays/end" || {
    rm -rf "$acp_relays"
    acp_relays=
  }
  if [ -n "$acp_relays" ]; then
    exec 5<>"$acp_relays/new"
    {
      trap '' HUP INT TERM
      read -r _ <"$acp_relays/end"
      rm -rf "$acp_relays"
    } </dev/null >&2 5>&- &
    exec 6>"$acp_relays/end"
  fi
fi 2>/dev/null
report "ready $HOME	$PWD	$acp_relays"

# Processes with the mark. Needs /proc.
marked() {
  grep -ls "ACP_NVIM_CHILD=$ACP_NVIM_CHILD" /proc/[0-9]*/environ 2>/dev/null |
    while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}
# Descendants of the two shells below, which wait for them, without the helpers of the caller.
# Needs ps.
descendants() {
  ps -A -o pid= -o ppid= 2>/dev/null | awk -v root=$$ -v own="$own" '
    { parent[$1] = $2 }
    END {
      mine[root] = 1
      do {
        more = 0
        for (p in parent)
          if (!(p in mine) && (parent[p] in mine) && p != own) { mine[p] = 1; more = 1 }
      } while (more)
      for (p in mine) if (p != root && parent[p] != root) print p
    }'
}
send() { for target in $targets; do kill -s "$1" "$target" 2>/dev/null; done; }
alive() {
  for target in $targets; do kill -s 0 "$target" 2>/dev/null && return 0; done
  return 1
}
end_all() {
  targets="$(marked) $(own=$(exec sh -c 'echo "$PPID"'); descendants)"
  send TERM
  tries=0
  while [ $tries -lt 10 ] && alive; do
    sleep 0.1 2>/dev/null || sleep 1
    tries=$((tries + 1))
  done
  targets="$targets $(marked)"
  send KILL
}

exec 4>&1
{
  cat
  case $? in
    0) exec >/dev/null ;;
    141) exec >/dev/null; cat || exit ;; # the command has closed its input
    *) exit ;;
  esac
  sleep "$acp_grace" && end_all
} 2>/dev/null 4>&- | {
  "$@" >&4 4>&- 5>&- 6>&-
  code=$?
  end_all
  exit $code
}
code=$?
[ -z "$acp_relays" ] || rm -rf "$acp_relays"
exit $code
"""


def command(
    words: Sequence[str], directory: str, grace_s: float, *, takes_relays: bool = False
) -> list[str]:
    """Return the remote command that runs `words` in a directory (empty: the initial one).

    After the end of its input, the command has `grace_s` seconds to end on its own. With
    `takes_relays`, the guard creates and reports a directory for relays (`via_tools.py`), and
    removes it at the end.
    """
    boot = ["/bin/sh", "-c", _LOGIN, "acp-nvim"]
    relays = "relays" if takes_relays else ""
    return [*boot, _RUN, "acp-nvim", directory, f"{grace_s:g}", relays, *words]


def mark_of(mark: str) -> str:
    """Return the mark of the remote processes. `mark` is the mark of the local process.

    The marks differ, so that the end of a command does not also end the client of the connection.
    """
    return f"{mark}-there"


def environment(variables: Mapping[str, str], mark: str) -> bytes:
    """Return the first lines for stdin, without variables that a shell cannot set."""
    lines = [f"{CHILD}={mark}"]
    for name, value in variables.items():
        if _NAME.fullmatch(name) and "\0" not in value:
            lines.append(f"{name}={_escaped(value)}")
    return "".join(f"{line}\n" for line in [*lines, ""]).encode("utf-8", "surrogateescape")


def _escaped(value: str) -> str:
    """Return a value on one line for `printf %b`."""
    return value.replace("\\", "\\0134").replace("\n", "\\0012")
