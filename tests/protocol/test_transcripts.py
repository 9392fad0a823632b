"""All recorded messages of real agents are decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.protocol import codec
from acp_nvim.protocol.methods import Side, received_method, request_method
from tests.support.decoding import raw

TRANSCRIPTS = sorted((Path(__file__).parent.parent / "data" / "transcripts").glob("*.ndjson"))


def test_transcripts_exist() -> None:
    assert len(TRANSCRIPTS) >= 10


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_recorded_traffic_is_decoded(path: Path) -> None:
    """Messages in both directions. Notes appear only if an agent broke the schema."""
    open_requests: dict[tuple[str, Any], str] = {}
    read = 0
    notes: list[str] = []
    for record in map(json.loads, path.read_text().splitlines()):
        message = record.get("msg")
        if message is None:
            continue
        sender = record["dir"]
        side: Side = "agent" if sender == "c2a" else "client"
        if "method" in message:
            name = message["method"]
            if "id" in message:
                open_requests[sender, message["id"]] = name
            if received_method(name, side) is not None:
                codec.decode_params(name, raw(message.get("params")), side, notes)
                read += 1
        elif "result" in message:
            name = open_requests.pop(("a2c" if sender == "c2a" else "c2a", message["id"]))
            if request_method(name) is not None:
                codec.decode_result(name, raw(message["result"]), notes)
                read += 1
    assert read > 3
    assert set(notes) <= {
        "result.sessions: missing; read as []",
        "params.mcpServers: missing; read as []",  # from the recorded client
    }
