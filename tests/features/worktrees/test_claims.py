"""Locks of worktrees between the hosts of several Neovims."""

from __future__ import annotations

from pathlib import Path

from acp_nvim.features.worktrees.claims import Claims


def test_a_worktree_with_sessions_of_two_hosts_is_claimed_by_none(tmp_path: Path) -> None:
    one, two = Claims(lambda: tmp_path), Claims(lambda: tmp_path)
    one.share("x-1")
    two.share("x-1")
    assert not one.try_alone("x-1")
    assert not two.try_alone("x-1")
    two.release("x-1")
    assert one.try_alone("x-1")
    assert not two.try_alone("x-1")
    one.end_alone("x-1")
    assert not two.try_alone("x-1")
    one.release("x-1")
    assert two.try_alone("x-1")
