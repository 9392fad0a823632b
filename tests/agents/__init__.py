"""Scripted agents: real processes that speak raw JSON lines, without any SDK or type of ours.

`python -m tests.agents SCENARIO [ARG …] --log FILE`. A scenario is a function `(agent, *args)`
registered with `@scenario`; `script` runs the lines of the prompt's text as scenarios.
"""
