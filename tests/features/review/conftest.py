"""Fixtures of the review."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host whose screen has room for a review."""
    return edit(init=HOST + RECORD_NOTIFY, screen=(120, 30))
