"""Descendants of a child process, and signals to all of them.

A child is the leader of its own session, so its group is signalled first. Processes that have left
the group (`setsid`, a shell with job control) are found by descent while their parents live, and by
session after that. With `/proc`, daemons that left both are found by the mark that they inherit in
their environment. Without `/proc`, the table of processes comes from `ps`.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from acp_nvim.agent.child.guard import CHILD
from acp_nvim.tasks import true_within

PROC = Path("/proc")
STAT_BYTES = 4096
"""Maximum number of bytes read from `/proc/PID/stat`, which is always shorter."""
EXEC_S = 0.1
"""Maximum duration of an exec, in seconds, during which the environment is empty."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Signal that no process can ignore. Windows only has SIGTERM, which has this effect there."""
END_SIGNALS = (signal.SIGTERM, KILL, KILL)
"""Signals that end a tree. The last one is for processes started just before the second."""

PS_S = 2.0
"""Maximum time to wait for `ps`, in seconds."""


class ProcessStat(Struct, frozen=True):
    """Line of the process table.

    `birth` and `pid` together identify a process; `birth` is in clock ticks, or in seconds with
    `ps`.
    """

    pid: int
    parent: int
    group: int
    session: int
    birth: int
    is_zombie: bool


def process_stat(pid: int) -> ProcessStat | None:
    """Return the process with this id, or None."""
    try:
        line = _read_stat(pid)
    except OSError:
        return None if PROC.exists() else next(_from_ps("-p", str(pid)), None)
    # The command in parentheses may contain spaces and parentheses.
    fields = line[line.rfind(b")") + 2 :].split()
    state, (parent, group, session) = fields[0], map(int, fields[1:4])
    return ProcessStat(pid, parent, group, session, int(fields[19]), state in (b"Z", b"X"))


def _read_stat(pid: int) -> bytes:
    """Read a line of the process table. `pathlib` would take three times as long."""
    file = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, STAT_BYTES)
    finally:
        os.close(file)


def process_table() -> list[ProcessStat]:
    """Return all processes visible to this user. Without `/proc` and `ps`, return an empty list."""
    try:
        pids = _pids()
    except OSError:
        return list(_from_ps("-A"))
    return [stat for stat in map(process_stat, pids) if stat is not None]


def _pids() -> list[int]:
    """Return the ids of all processes. Raise OSError without `/proc`.

    `pathlib` would take three times as long.
    """
    return [int(name) for name in os.listdir(PROC) if name.isdecimal()]  # noqa: PTH208


def _has_started_any(table: Sequence[ProcessStat]) -> bool:
    """Return whether a process has started since `table` was read. Without `/proc`, return False.

    It may have a parent that ended before it was read, so its parent would not be in the table.
    """
    try:
        return not {stat.pid for stat in table}.issuperset(_pids())
    except OSError:
        return False


def _from_ps(*which: str) -> Iterator[ProcessStat]:
    """Yield the processes in the output of `ps`, whose format depends on the system."""
    columns = ("pid=", "ppid=", "pgid=", "stat=", "lstart=")
    argv = ["ps", *which, *(word for name in columns for word in ("-o", name))]
    try:
        done = subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=PS_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in done.stdout.splitlines():
        pid, parent, group, state, *start = line.split()
        birth = int(time.mktime(time.strptime(" ".join(start))))
        yield ProcessStat(
            int(pid), int(parent), int(group), _session(int(pid)), birth, state[0] in "ZX"
        )


def _session(pid: int) -> int:
    """Return the session of a process, or 0 if it is unknown."""
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def environment(pid: int) -> list[bytes] | None:
    """Return the initial environment of a process.

    Return None during an exec, when the environment is empty for a moment.
    """
    directory = PROC / str(pid)
    try:
        data = (directory / "environ").read_bytes()
        if not data:
            (directory / "exe").readlink()  # fails for a process that is ending
            return None
    except OSError:  # has just ended, or is another user's
        return []
    return data.split(b"\0")


def _has_mark(variables: Sequence[bytes], mark: str) -> bool:
    """Return whether an environment has the mark, or a mark that begins with it (`mark/turn`)."""
    marked = f"{CHILD}={mark}".encode()
    return any(variable == marked or variable.startswith(marked + b"/") for variable in variables)


async def end_marked(mark: str, kill_s: float) -> list[str]:
    """End all processes with a mark: SIGTERM, then SIGKILL after `kill_s`.

    Return their command lines. Without `/proc` there are none.
    """
    commands: list[str] = []
    for number in END_SIGNALS:
        found = await _find_marked(mark)
        if not found:
            break
        commands = commands or [_command_line(pid) for pid in found]
        for pid in found:
            _send(os.kill, pid, number)
        await true_within(lambda: not any(_running(found)), kill_s)  # noqa: B023
    return commands


def _command_line(pid: int) -> str:
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:  # has just ended
        return str(pid)
    return words.replace(b"\0", b" ").decode(errors="replace").strip()


async def _find_marked(mark: str) -> dict[int, int]:
    """Return the birth times of all marked processes, by id."""
    found: dict[int, int] = {}

    def look() -> bool:
        is_sure = True
        table = process_table()
        for stat in table:
            variables = None if stat.is_zombie else environment(stat.pid)
            is_sure = is_sure and (stat.is_zombie or variables is not None)
            if variables and _has_mark(variables, mark):
                found[stat.pid] = stat.birth
        return is_sure and not _has_started_any(table)

    await true_within(look, EXEC_S)
    return found


def _running(processes: Mapping[int, int]) -> Iterator[ProcessStat]:
    """Yield those of these processes that are running. `processes` has their birth times by id.

    Zombies do not count.
    """
    for pid, birth in processes.items():
        stat = process_stat(pid)
        if stat is not None and stat.birth == birth and not stat.is_zombie:
            yield stat


class ProcessTree:
    """Processes of one tree: the leader, its descendants, and all others with its mark.

    Members other than the leader are remembered once they have been seen, even those in the group,
    which may leave it later. A reused process id is recognized by its birth time.
    """

    def __init__(self, leader: int, mark: str | None = None) -> None:
        self.leader = leader
        self._mark = mark
        stat = process_stat(leader)
        self._birth = stat.birth if stat is not None else None
        """Birth time of the leader, or None if it had already ended and been collected."""
        self._members: dict[int, int] = {}
        """Birth times of the members other than the leader, by process id."""

    async def scan(self) -> bool:
        """Find members in the process table, while their parents live.

        Return whether there are any. A member found may have started another since, so only a scan
        that finds none shows that the tree has ended.
        """
        await true_within(self._update_members, EXEC_S)
        return bool(self._members) or self._is_group_alive()

    def _update_members(self) -> bool:
        """Update the members. Return whether it is certain that all were found."""
        processes = process_table()
        table = [stat for stat in processes if not stat.is_zombie]
        members = {stat.pid for stat in _running(self._members)}
        if self._is_leader_ours():
            members |= {s.pid for s in table if self.leader in (s.pid, s.group, s.session)}
        is_sure = True
        if self._mark is not None:
            younger = {s.pid for s in table if self._birth is None or s.birth >= self._birth}
            for pid in younger - members:
                variables = environment(pid)
                is_sure = is_sure and variables is not None
                if variables and _has_mark(variables, self._mark):
                    members.add(pid)
        has_grown = True
        while has_grown:
            more = {s.pid for s in table if s.parent in members} - members
            members |= more
            has_grown = bool(more)
        members.discard(self.leader)
        self._members = {s.pid: s.birth for s in table if s.pid in members}
        return is_sure and not _has_started_any(processes)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the group and to all members outside it that are still running."""
        if sys.platform == "win32":
            return
        if self._is_leader_ours():
            _send(os.killpg, self.leader, number)
        for stat in _running(self._members):
            if stat.group != self.leader:
                _send(os.kill, stat.pid, number)

    def alive(self) -> bool:
        """Return whether any process of the tree is running. Zombies do not count."""
        return any(_running(self._members)) or self._is_group_alive()

    def _is_leader_ours(self) -> bool:
        stat = process_stat(self.leader)
        return stat is None or stat.birth == self._birth

    def _is_group_alive(self) -> bool:
        if sys.platform == "win32" or not self._is_leader_ours():
            return False
        if not _send(os.killpg, self.leader, 0):
            return False
        table = process_table()
        return not table or any(s.group == self.leader and not s.is_zombie for s in table)


def _send(function: Callable[[int, int], None], target: int, number: int) -> bool:
    """Send a signal. Return whether there was a process to receive it.

    A group of zombies, for which macOS reports "not permitted", counts as ended.
    """
    try:
        function(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
