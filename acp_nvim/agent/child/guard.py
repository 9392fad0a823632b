"""Guard that ends the host's process groups if the host cannot, for example after `kill -9`.

One small shell per host reads a pipe whose only writer is the host, which sends it the process
groups. When the pipe ends, the guard terminates the groups still listed, processes that their
members started outside the group, and daemons with the host's mark in their environment (`CHILD`).

The first agent and its guard start before the host imports anything (`early.py`), so this module
imports almost nothing.
"""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CHILD: Final = "ACP_NVIM_CHILD"
"""Environment variable with the mark of the host that started a process."""

GUARD = r"""
trap '' HUP INT TERM
mark=$1
groups=' '
while read -r op group; do
  case $op in
    +) groups="$groups$group " ;;
    -) case $groups in
         *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
       esac ;;
  esac
done
set -- $groups

# Processes that carry our mark, whoever is their parent now. Needs /proc.
marked() {
  grep -ls "$mark" /proc/[0-9]*/environ 2>/dev/null |
    while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}
# Processes outside the listed groups that descend from a member of one.
# Needs ps; without it the groups alone are ended.
strays() {
  ps -A -o pid= -o ppid= -o pgid= 2>/dev/null | awk -v listed="$groups" -v own=$$ '
    BEGIN { n = split(listed, g, " "); for (i = 1; i <= n; i++) ours[g[i]] = 1 }
    { parent[$1] = $2; group[$1] = $3 }
    END {
      for (p in group) if (group[p] in ours) mine[p] = 1
      do {
        more = 0
        for (p in parent)
          if (!(p in mine) && (parent[p] in mine) && p != own) { mine[p] = 1; more = 1 }
      } while (more)
      for (p in mine) if (!(group[p] in ours)) print p
    }'
}
send() { for target in $targets; do kill -s "$1" -- "$target" 2>/dev/null; done; }
alive() {
  for target in $targets; do kill -s 0 -- "$target" 2>/dev/null && return 0; done
  return 1
}

targets=''
for group in "$@"; do targets="$targets -$group"; done
[ $# -gt 0 ] && targets="$targets $(strays)"
targets="$targets $(marked)"
set -- $targets
[ $# -eq 0 ] && exit 0
send TERM
tries=0
while [ $tries -lt 10 ] && alive; do
  sleep 0.1 2>/dev/null || sleep 1
  tries=$((tries + 1))
done
targets="$targets $(marked)"
send KILL
"""
"""Guard in POSIX sh.

It ignores signals from a terminal or a session manager. About one second passes between TERM and
KILL.
"""


def new_mark() -> str:
    """Return a value unique to this host, the prefix of its children's marks."""
    return os.urandom(16).hex()


def child_mark(host: str, number: int) -> str:
    """Return the value of `CHILD` for the child with this number. An early agent has number 0."""
    return f"{host}.{number}"


def start(mark: str) -> subprocess.Popen[bytes]:
    """Start a guard for children with this mark. It reads process groups from stdin."""
    # Agents do not inherit the write end of the pipe, so it ends with the host.
    return subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "acp-nvim-guard", f"{CHILD}={mark}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )
