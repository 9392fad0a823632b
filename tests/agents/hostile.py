"""Frames of a malicious agent, sent from a file one after the other."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.agent import Agent
from tests.agents.loop import scenario


@scenario
def frames(agent: Agent, path: str) -> None:
    """Send the frames of the JSON file PATH.

    `[method, params]` is a request whose answer is noted, a single object is a `session/update`.
    """
    for frame in json.loads(Path(path).read_text(encoding="utf-8")):
        if isinstance(frame, dict):
            agent.update(frame)
        else:
            agent.note(f"answer {json.dumps(agent.ask(*frame))}")
