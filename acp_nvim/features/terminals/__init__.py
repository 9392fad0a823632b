"""Terminals of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.features.terminals.live_terminals import TerminalViews

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add(
        "acp_nvim.features.terminals.verbs",
        "terminals",
        "terminal_open",
        "terminal_view",
        "terminal_input",
    )
    views = TerminalViews(app.screen.terminal)
    app.parts.add(views)
    app.observers.frame_producers.append(views.collect)
