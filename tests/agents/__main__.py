"""`python -m tests.agents SCENARIO [ARG …] [--log FILE]`; `--list` names the scenarios."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.agents.agent import Agent, End
from tests.agents.loop import SCENARIOS, live


def main() -> int:
    """Run a scenario, or list all."""
    parser = argparse.ArgumentParser(prog="tests.agents")
    parser.add_argument("scenario", nargs="?")
    parser.add_argument("args", nargs="*")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--capabilities", type=json.loads, help="agentCapabilities, merged in")
    parser.add_argument(
        "--new-session", type=json.loads, help="further keys of session/new's result"
    )
    parser.add_argument("--speaks", type=int, default=1, help="the newest version of the protocol")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if given.list or not given.scenario:
        SCENARIOS.load()
        for name, entry in sorted(SCENARIOS.items()):
            first, *_ = (entry.run.__doc__ or "").strip().splitlines() or [""]
            print(f"{name:24} {first}")
        return 0
    agent = speaking(given.speaks)(given.log)
    agent.capabilities |= given.capabilities or {}
    agent.new_session |= given.new_session or {}
    try:
        live(agent, given.scenario, given.args)
    except End:
        return 0
    return 0


def speaking(version: int) -> type[Agent]:
    """Return the agent class that speaks at most this version of the protocol."""
    if version == 2:
        from tests.agents.version2 import Agent2

        return Agent2
    return Agent


if __name__ == "__main__":
    sys.exit(main())
