"""As wide, with two agents that work on the same files in a session each.

`python -m tests.torture.two SEED STEPS COUNT`
"""

from __future__ import annotations

import sys

from tests.support.editor import Editor
from tests.support.stepwise_agent import StepwiseAgent
from tests.torture.basic import main
from tests.torture.wide import Wide


class Two(Wide):
    """Each step is one agent's, or of a user who looks at one session."""

    def __init__(self, editor: Editor, seed: int) -> None:
        super().__init__(editor, seed)
        first = StepwiseAgent(editor, "first", 1)
        editor.agent("script", name="other")
        editor.cmd("Acp new")
        editor.wait("#require('acp').state().sessions == 2")
        editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
        self.orders = {1: first, 2: StepwiseAgent(editor, "second", 2)}
        self.turn_to(1)

    def numbers(self) -> list[int]:
        return [1, 2]

    def named(self, *paths: str) -> list[str]:
        """Whose change it is tells the tool call."""
        return [*paths]

    def turn_to(self, n: int) -> None:
        """This is the session at hand."""
        self.n, self.agent = n, self.orders[n]

    def step(self) -> None:
        """One step, of either."""
        self.turn_to(self.rng.choice(self.numbers()))
        super().step()

    def over(self) -> bool:
        """Whether nobody is at work any more."""
        return not any(agent.working for agent in self.orders.values())

    def finish(self) -> None:
        """Both have ended when the user has decided all."""
        for n in self.numbers():
            self.turn_to(n)
            if self.agent.working:
                self.end()
        super().finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Two))
