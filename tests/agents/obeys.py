"""An agent that takes orders during its turn."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from tests.agents.agent import Agent
from tests.agents.loop import SCENARIOS, scenario


@scenario
def obeys(agent: Agent, home: str) -> None:
    """Run the scenarios in the files HOME/1.json, 2.json, …: `[name, argument, …]`.

    Each is noted as `done N`. `["end"]` ends the turn.
    """
    for n in itertools.count(1):
        order = Path(home, f"{n}.json")
        while not order.exists():
            agent.check_cancel(0.002)
        name, *args = json.loads(order.read_text(encoding="utf-8"))
        order.unlink()
        if name == "end":
            return
        SCENARIOS[name].run(agent, *args)
        agent.note(f"done {home} {n}")
