"""The guard that ends our process groups when the host cannot: after `kill -9`, or a crash.

One tiny shell per host reads a pipe that only we hold open. We tell it which process groups are
ours; when the pipe ends, for whatever reason, it terminates the groups that are still listed,
processes that their members have started outside of the group, and daemons that carry our mark in
their environment (`tree.CHILD`).
"""

import itertools
import logging
import os
import subprocess
import sys
import uuid

import anyio

from acp_nvim.agent.child.tree import CHILD
from acp_nvim.tasks import true_within

log = logging.getLogger(__name__)

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

CLOSE_S = 3.0
"""How long `aclose` waits for the guard, in seconds: its own second of grace and something for a
busy machine.
"""


class Reaper:
    """The process groups of this host that must not outlive it.

    The guard starts with the first `start` or `add`. One that has died is replaced with the next
    `add`, and is told all groups again. Windows has neither process groups nor a POSIX shell: there
    every method does nothing, and an agent ends because its stdin does.
    """

    def __init__(self) -> None:
        self.groups: set[int] = set()
        """Process group ids that are listed now."""
        self._guard: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._mark = uuid.uuid4().hex
        self._children = itertools.count(1)

    def mark(self) -> str:
        """A new value of the variable `tree.CHILD`, for the environment of a child."""
        return f"{self._mark}.{next(self._children)}"

    def start(self) -> None:
        """Start the guard if it doesn't run. Called before a child is, so that the child's gap
        without a guard is short.
        """
        if sys.platform == "win32" or self._closed or self._running():
            return
        self._discard()
        # Descriptors that Python opens are not inheritable: no agent holds the pipe's write end,
        # EOF comes when we go.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "acp-nvim-guard", f"{CHILD}={self._mark}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        self._tell("".join(f"+ {group}\n" for group in sorted(self.groups)))

    def add(self, pgid: int) -> None:
        """List the process group `pgid`. Our own group, 0 and 1 are refused with ValueError."""
        if pgid <= 1 or (sys.platform != "win32" and pgid == os.getpgrp()):
            raise ValueError(f"process group {pgid} is not a child's own")
        fresh = pgid not in self.groups
        self.groups.add(pgid)
        if not self._running():
            self.start()
        elif fresh:
            self._tell(f"+ {pgid}\n")

    def remove(self, pgid: int) -> None:
        """Take `pgid` off the list: the group is gone, its number may soon be somebody else's."""
        if pgid in self.groups:
            self.groups.discard(pgid)
            self._tell(f"- {pgid}\n")

    async def aclose(self) -> None:
        """End the guard; groups that are still listed are ended by it first. Bounded by `CLOSE_S`
        seconds, idempotent.
        """
        self._closed = True
        guard, self._guard = self._guard, None
        if guard is None:
            return
        assert guard.stdin is not None
        guard.stdin.close()
        try:
            with anyio.CancelScope(shield=True):
                await true_within(lambda: guard.poll() is not None, CLOSE_S)
        finally:
            if guard.poll() is None:
                guard.kill()
                guard.wait()

    def _running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def _discard(self) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            log.warning(
                "the guard process ended with %s and is started again", self._guard.returncode
            )
        self._guard = None

    def _tell(self, lines: str) -> None:
        if self._guard is None or not lines:
            return
        assert self._guard.stdin is not None
        try:
            self._guard.stdin.write(lines.encode())
        except BrokenPipeError:
            log.warning("the guard process is gone; the next start brings a new one")

    def __repr__(self) -> str:
        state = "running" if self._running() else "not running"
        return f"<Reaper [{state}, {len(self.groups)} groups]>"
