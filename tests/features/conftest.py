"""Fixtures of several features."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker


@pytest.fixture
def picker(editor: Editor) -> Editor:
    """Return an editor whose dialogs answer from a list."""
    install_picker(editor)
    return editor
