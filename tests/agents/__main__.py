"""`python -m tests.agents [OPTION …] SCENARIO [ARG …]`; `--list` names the scenarios.

Options, each with a value: `--log FILE`; `--capabilities JSON`, merged into agentCapabilities;
`--new-session JSON`, further keys of session/new's result; `--speaks N`, the newest version of the
protocol. A run of the tests starts some two thousand agents, so this imports hardly any modules.
"""

from __future__ import annotations

import sys

from tests.agents import quick_json as json
from tests.agents.agent import Agent, End
from tests.agents.loop import SCENARIOS, live

OPTIONS = ("--log", "--capabilities", "--new-session", "--speaks")


def main(arguments: list[str]) -> None:
    """Run a scenario, or list all."""
    if arguments in ([], ["--list"]):
        SCENARIOS.load()
        for name, entry in sorted(SCENARIOS.items()):
            first, *_ = (entry.run.__doc__ or "").strip().splitlines() or [""]
            print(f"{name:24} {first}")
        return
    given, name, args = parsed(arguments)
    agent = speaking(given.get("--speaks", "1"))(given.get("--log"))
    agent.capabilities |= json.loads(given.get("--capabilities", "{}"))
    agent.new_session |= json.loads(given.get("--new-session", "{}"))
    try:
        live(agent, name, args)
    except End:
        return


def parsed(arguments: list[str]) -> tuple[dict[str, str], str, list[str]]:
    """Return the options, the name of the scenario, and its arguments."""
    given: dict[str, str] = {}
    option, *rest = arguments
    while option in OPTIONS and len(rest) > 1:
        given[option], option, *rest = rest
    if option.startswith("-"):
        sys.exit(f"tests.agents: no option {option}, or no scenario after it")
    return given, option, rest


def speaking(version: str) -> type[Agent]:
    """Return the agent class that speaks at most this version of the protocol."""
    if version == "2":
        from tests.agents.version2 import Agent2

        return Agent2
    return Agent


if __name__ == "__main__":
    main(sys.argv[1:])
