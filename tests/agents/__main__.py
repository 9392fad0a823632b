"""`python -m tests.agents SCENARIO [ARG …] [--log FILE]`; `--list` names the scenarios."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

from tests.agents.agent import Agent, End
from tests.agents.loop import SCENARIOS, live
from tests.agents.version2 import Agent2


def main() -> int:
    """Load every module of this package, so that their scenarios are known, and run one."""
    for path in Path(__file__).parent.glob("[!_]*.py"):
        importlib.import_module(f"tests.agents.{path.stem}")
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
        for name, entry in sorted(SCENARIOS.items()):
            print(f"{name:24} {(entry.run.__doc__ or '').strip().splitlines()[0]}")
        return 0
    agent = Agent2(given.log) if given.speaks == 2 else Agent(given.log)
    agent.capabilities |= given.capabilities or {}
    agent.new_session |= given.new_session or {}
    try:
        live(agent, given.scenario, given.args)
    except End:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
