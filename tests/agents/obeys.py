"""An agent that takes orders during its turn."""

from __future__ import annotations

import itertools
import os

from tests.agents import quick_json as json
from tests.agents.agent import Agent
from tests.agents.disk import read
from tests.agents.loop import SCENARIOS, scenario


@scenario
def obeys(agent: Agent, home: str) -> None:
    """Run the scenarios in the files HOME/1.json, 2.json, …: `[name, argument, …]`.

    Each is noted as `done N`. `["end"]` ends the turn.
    """
    for n in itertools.count(1):
        order = f"{home}/{n}.json"
        while not os.path.exists(order):
            agent.check_cancel(0.002)
        name, *args = json.loads(read(order))
        os.unlink(order)
        if name == "end":
            return
        SCENARIOS[name].run(agent, *args)
        agent.note(f"done {home} {n}")
