"""`docs/agents.md`, computed from the results of `make test-agents`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

COLUMNS: Final = {
    "edit": "Edits files",
    "unsaved": "Unsaved text",
    "command": "Runs commands",
    "cancel": "Cancel",
    "resume": "Resume",
    "fork": "Fork",
    "tools": "Editor's tools",
    "plan": "Plan",
    "usage": "Usage",
    "v2": "Version 2",
}
NOTES: Final = {
    ("unsaved", "diff"): "reads files on disk: your unsaved changes go with the prompt as a diff, "
    "and `nvim_read` gives it the live text",
    ("edit", "disk"): "changes files on disk without asking: the edits are pending, and a "
    "checkpoint has the files as they were",
    ("command", "itself"): "runs commands without asking in its default mode",
    ("cancel", "end_turn"): "ends a cancelled turn as if it had finished",
    ("resume", "–"): "cannot open a session again: after a restart a new one is given the "
    "conversation as text",
    ("tools", "–"): "did not call the editor's tools in this run",
    ("tools", "offered"): "connects to the editor's tools, but did not call one here",
    ("plan", "–"): "sent no plan",
    ("usage", "–"): "says nothing about tokens or cost",
}
NOTES_OF_AGENTS: Final = {
    ("gemini", "resume"): "loses a session that is loaded within the minute in which it began, "
    "because its file names contain the minute; later loads work",
}
UNTRIED: Final = {
    "auggie": "needs an account",
    "crow": "not installed",
    "cursor": "needs an account",
    "droid": "needs an account",
    "goose": "not on npm or PyPI",
    "kilo": "its packages for Linux are missing from npm",
    "kiro": "needs an account",
}
"""Presets that were not tried, with the reason."""
HEAD: Final = """\
# Agents

`make test-agents` starts each agent in a real Neovim, with a scripted model in place of its
provider, and writes this page. It shows the agent's own program with this plugin, not how well a
model works. Last run: {date}.

Any other agent that speaks the protocol works too: `:help acp-agents` says how to add
it. `:Acp agent` lists the presets, `:checkhealth acp` those that are installed.

| | |
|---|---|
| Edits files | through the *editor*, or on *disk*; you review both. *asks*: for permission |
| Unsaved text | *reads* it through the editor, or gets it as a *diff* with the prompt |
| Runs commands | in a terminal of the editor, or *itself* |
| Resume | after `:Acp restart`: it is resumed, or loaded; –: a new session gets the conversation |
| Fork | `:Acp sessions fork`; without it, `:Acp rewind` gives the conversation to a new session |
| Editor's tools | it called a tool of the server `neovim` |
| Usage | what it says about context, tokens of a turn, and cost |
| Version 2 | speaks version 2 of the protocol with `agents.*.protocol = 2` |

"""


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page: a table of agents, footnotes, faults, presets that were not tried."""
    date = max((it["date"] for it in results.values()), default="never")
    notes: list[str] = []
    rows = [
        "| Agent | Preset | " + " | ".join(COLUMNS.values()) + " |",
        "|---" * (len(COLUMNS) + 2) + "|",
        *(_row(name, results[name], notes) for name in _order(results)),
    ]
    tried = {it["preset"] for it in results.values()}
    left = [f"- `{name}`: {why}" for name, why in UNTRIED.items() if name not in tried]
    parts = [
        HEAD.format(date=date) + "\n".join(rows),
        "\n".join(
            f"{number}. {note[0].upper()}{note[1:]}." for number, note in enumerate(notes, 1)
        ),
        "## Recommended settings\n\n" + _settings(results),
        "## Faults found in this run\n\n" + (_faults(results) or "None."),
        "## Presets that were not tested\n\n" + "\n".join(left),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _order(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names, those with a preset first."""
    return sorted(results, key=lambda name: (results[name]["preset"] is None, name))


def _row(name: str, result: Mapping[str, Any], notes: list[str]) -> str:
    title = f"{result['title']} {result['version']}".strip()
    preset = f"`{result['preset']}`" if result["preset"] else ""
    cells = [_cell(name, key, result["cells"].get(key, ""), notes) for key in COLUMNS]
    if result["cells"]["hello"] == "✗":
        cells[0] = "no answer"
    return "| " + " | ".join([title, preset, *cells]) + " |"


def _cell(name: str, key: str, value: str, notes: list[str]) -> str:
    note = NOTES_OF_AGENTS.get((name, key)) or NOTES.get((key, value))
    if note is None:
        return value
    if note not in notes:
        notes.append(note)
    return f"{value} <sup>{notes.index(note) + 1}</sup>"


def _settings(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return settings that follow from the table."""
    lines = [
        "The presets need no settings beyond `require('acp').setup({ agent = 'claude' })`. More:",
        "",
    ]
    two = _presets(results, "v2", "✓")
    quiet = sorted({*_presets(results, "edit", "disk"), *_presets(results, "command", "itself")})
    if two:
        lines.append(f"- {_names(two)}: `protocol = 2` is possible (`:help acp-protocol-2`).")
    if quiet:
        lines.append(
            f"- {_names(quiet)}: choose a mode in which they ask (`:Acp mode`, `agents.*.mode`), "
            "or rely on review and checkpoints."
        )
    return "\n".join(lines)


def _presets(results: Mapping[str, Mapping[str, Any]], key: str, value: str) -> list[str]:
    return [
        results[name]["preset"]
        for name in _order(results)
        if results[name]["preset"] and results[name]["cells"].get(key) == value
    ]


def _names(presets: list[str]) -> str:
    return ", ".join(f"`{preset}`" for preset in presets)


def _faults(results: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n".join(
        f"- {results[name]['title']}: {fault}"
        for name in _order(results)
        for fault in results[name]["faults"]
    )
