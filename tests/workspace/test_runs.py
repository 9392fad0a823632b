"""What Neovims that are gone have left on disk."""

from __future__ import annotations

import os
import time
from pathlib import Path

from acp_nvim.workspace import runs

GONE = 999_999_999
OWN = f"20260101-000000-my-machine-{os.getpid()}"


def test_what_is_left_of_processes_that_are_gone(tmp_path: Path) -> None:
    left = [
        f"20260101-000000-{GONE}",
        f"20260101-000000-my-machine-{GONE}",
        f"20260101-000000-my-machine-{GONE}.new",
        "nobody",
    ]
    living = [OWN, f"{OWN}.new", f"20260101-000000-{os.getpid()}"]
    for name in (*left, *living):
        (tmp_path / name).write_text("")
    assert [path.name for path in runs.remains(tmp_path, OWN)] == left
    assert runs.remains(tmp_path / "absent", OWN) == []


def test_of_another_machine_only_what_is_old(tmp_path: Path) -> None:
    """Its processes have numbers of their own, in a container as well."""
    for age, name in ((0, "young"), (runs.MAX_AGE_S + 60, "old")):
        path = tmp_path / f"20260101-000000-{name}-{GONE}"
        path.write_text("")
        os.utime(path, (time.time() - age, time.time() - age))
    found = runs.remains(tmp_path, OWN)
    assert [path.name for path in found] == [f"20260101-000000-old-{GONE}"]


def test_the_machine_of_a_name() -> None:
    assert runs.machine(OWN) == "my-machine"
    assert runs.machine(f"20260101-000000-{GONE}") == ""
    assert runs.machine("nobody") == ""
