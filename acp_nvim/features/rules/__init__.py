"""Rules: list the rules in force, and store new ones from the user's answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from acp_nvim.session.session import Session

if TYPE_CHECKING:
    from acp_nvim.agent.serving.project_rules import ProjectRules
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.rules.verbs", "rules", "offer_rule", "forget_rule")

    def on_opened(session: Session, origin_id: str) -> None:
        """Apply the stored rules of the project to the session."""
        path = app.options.data_file("rules.json")
        if path is not None:
            session.set_project_rules(lambda: store(app).of(session.cwd) if path.exists() else ())

    app.conversation_observers.on_opened.append(on_opened)


def store(app: Host) -> ProjectRules:
    """Return the stored rules of all projects."""
    from acp_nvim.agent.serving.project_rules import ProjectRules

    make = partial(ProjectRules, partial(app.options.data_file, "rules.json"), app.problem)
    return app.parts.get(ProjectRules, make)
