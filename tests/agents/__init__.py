"""Scripted agents: real processes that write raw JSON lines, without an SDK or the product's types.

`python -m tests.agents SCENARIO [ARG …] --log FILE`. A scenario is a function `(agent, *args)`
registered with `@scenario`; `script` runs the lines of the prompt's text as scenarios.
"""
