"""Agents that store sessions: `storing_agent(editor, {"s1": {"title": "One"}})`."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor
from tests.support.traffic import Traffic

ALL: dict[str, Any] = {
    "loadSession": True,
    "sessionCapabilities": {
        "list": {},
        "resume": {},
        "close": {},
        "delete": {},
        "fork": {},
        "archive": {},
        "status": {},
        "title": {},
        "additionalDirectories": {},
    },
}

MODES = {
    "modes": {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    },
    "configOptions": [
        {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": "small",
            "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
        },
        {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False},
    ],
}


def stored(editor: Editor, sessions: dict[str, Any]) -> str:
    """Write a file with sessions for an agent of the scenario `stores`, and return its path."""
    path = editor.home / "stored.json"
    for session in sessions.values():
        session.setdefault("cwd", str(editor.work))
        session.setdefault("said", [])
        session.setdefault("title", None)
    path.write_text(json.dumps(sessions))
    return str(path)


def storing_agent(
    editor: Editor, sessions: dict[str, Any], without: str = "", **more: Any
) -> Traffic:
    """Use an agent of the scenario `stores` with these sessions; `without` names capabilities it
    lacks.
    """
    capabilities = json.loads(json.dumps(ALL))
    for name in without.split():
        capabilities["sessionCapabilities"].pop(name, None)
        capabilities.pop(name, None)
    scenario = more.pop("scenario", "stores")
    path, args = stored(editor, sessions), more.pop("more_args", ())
    return editor.agent(scenario, path, *args, capabilities=capabilities, **more)
