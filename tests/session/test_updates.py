"""Updates of both versions: one type for the session, one dispatch."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_nvim.protocol import schema, updates
from acp_nvim.protocol.v2 import incoming
from acp_nvim.protocol.v2 import schema as v2
from acp_nvim.session.updates import _HANDLERS

ACCEPTED = set(get_args(updates.SessionUpdate))


def test_every_update_has_one_handler() -> None:
    assert {*_HANDLERS, schema.UnknownUpdate} == ACCEPTED


@pytest.mark.parametrize("kind", get_args(v2.SessionUpdate), ids=lambda kind: kind.__name__)
def test_every_update_of_version_2_is_translated_into_one_of_them(kind: Any) -> None:
    assert kind in incoming._UPDATES or kind in ACCEPTED
