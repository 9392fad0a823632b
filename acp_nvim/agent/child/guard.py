"""The guard that ends our process groups when the host cannot: after `kill -9`, or a crash.

One tiny shell per host reads a pipe that only we hold open. We tell it which process groups are
ours; when the pipe ends, for whatever reason, it terminates the groups that are still listed,
processes that their members have started outside of the group, and daemons that carry our mark in
their environment (`CHILD`). The first agent is started before the host imports anything, and its
guard before it (`early.py`), so this module imports next to nothing.
"""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CHILD: Final = "ACP_NVIM_CHILD"
"""The environment variable whose value tells whose child a process is."""

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
"""POSIX sh. About one second passes between TERM and KILL. It ignores the signals a terminal or a
session manager sends.
"""


def new_mark() -> str:
    """A value that no other host has: the beginning of the marks of its children."""
    return os.urandom(16).hex()


def child_mark(host: str, number: int) -> str:
    """The value of `CHILD` for the child of that number; 0 is an early agent."""
    return f"{host}.{number}"


def start(mark: str) -> subprocess.Popen[bytes]:
    """Start a guard for the children of this mark; it is told of groups by its stdin."""
    # Descriptors that Python opens are not inheritable: no agent holds the pipe's write end,
    # EOF comes when we go.
    return subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "acp-nvim-guard", f"{CHILD}={mark}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )
