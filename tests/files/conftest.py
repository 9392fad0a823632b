"""Fixtures of tests with several Neovims in one workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.neovims import Neovims


@pytest.fixture
async def started(tmp_path: Path) -> AsyncIterator[Neovims]:
    found = Neovims(tmp_path)
    yield found
    found.kill_all()
