"""Like `wide`, with two agents that edit the same files in one session each.

`python -m tests.torture.two SEED STEPS COUNT`
"""

from __future__ import annotations

import sys

from tests.support.editor import Editor
from tests.support.stepwise_agent import StepwiseAgent
from tests.torture.basic import main
from tests.torture.wide import Wide


class Two(Wide):
    """A history in which each step belongs to one of two agents, or to a user who looks at one
    session.
    """

    def __init__(self, editor: Editor, seed: int) -> None:
        super().__init__(editor, seed)
        first = StepwiseAgent(editor, "first", 1)
        editor.agent("script", name="other")
        editor.cmd("Acp new")
        editor.wait("#require('acp').state().sessions == 2")
        editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
        self.orders = {1: first, 2: StepwiseAgent(editor, "second", 2)}
        self.select(1)

    def numbers(self) -> list[int]:
        return [1, 2]

    def named(self, *paths: str) -> list[str]:
        """Return the paths that the tool call names, which attribute the change to this agent."""
        return [*paths]

    def select(self, n: int) -> None:
        """Make this the current session."""
        self.n, self.agent = n, self.orders[n]

    def step(self) -> None:
        """Take a random step in a random session."""
        self.select(self.rng.choice(self.numbers()))
        super().step()

    def all_turns_ended(self) -> bool:
        """Return whether all turns have ended."""
        return not any(agent.working for agent in self.orders.values())

    def finish(self) -> None:
        """End both turns, then let the user decide everything."""
        for n in self.numbers():
            self.select(n)
            if self.agent.working:
                self.end()
        super().finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Two))
