"""The modules that a host imports before its first prompt. Each delays the user."""

from __future__ import annotations

import subprocess
import sys

from tests.support.editor import ROOT

LATER = {
    "acp_nvim.agent.prompts.clipboard": "the clipboard's image",
    "acp_nvim.agent.opening.fork_points": "forks",
    "acp_nvim.agent.opening.project_servers": "servers of a project",
    "acp_nvim.agent.prompts.git_changes": "the variable {diff}",
    "acp_nvim.features.tools.tool_list": "when an agent lists or calls the tools",
    "acp_nvim.features.tools.tool_permissions": "when an agent lists or calls the tools",
    "acp_nvim.protocol.tolerance": "agents with faults",
    "acp_nvim.protocol.v2.schema": "agents of version 2",
    "acp_nvim.session.transcript.transcript_prompt": "a session that an agent gets as text",
    "acp_nvim.tools.ports": "calls of the editor's tools",
    "acp_nvim.tools.server.arguments": "calls of the editor's tools",
    "acp_nvim.tools.server.mcp_methods": "when an agent connects",
    "acp_nvim.tools.server.mcp_server": "when an agent connects",
    "acp_nvim.files.checkpoints.git_store": "checkpoints in a repository",
    "acp_nvim.files.checkpoints.restore": "commands on checkpoints",
    "acp_nvim.files.review.review": "decisions on edits",
    "acp_nvim.files.writes.change_set": "the editor's tools, and work trees",
    "anyio.streams.buffered": "nvim_search",
    "ctypes": "after the first turn",
    "difflib": "diffs in words",
    "json": "servers of a project",
    "mimetypes": "files without a known end",
    "random": "nothing: tokens are bytes of the system",
    "tempfile": "a system without a directory for sockets",
    "unidiff": "patches",
}
"""Modules that are imported when they are needed, with the time."""
WITH_FEATURES = """import importlib, acp_nvim.main, acp_nvim.features
for name in acp_nvim.features.FEATURES: importlib.import_module(f'acp_nvim.features.{name}')
"""
MOST = 325
"""Most modules of the package. Each takes a fifth of a millisecond."""


def loaded(code: str) -> set[str]:
    argv = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    run = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_first_prompt_imports_only_the_modules_it_needs() -> None:
    found = loaded(WITH_FEATURES)
    assert found & LATER.keys() == set()
    assert len([name for name in found if name.startswith("acp_nvim")]) <= MOST


def test_the_early_agent_imports_hardly_any_modules() -> None:
    """A process cannot be started without `subprocess`. Each other module would delay the agent."""
    found = loaded("import acp_nvim.agent.child.early, acp_nvim.nvim.environment")
    more = found - loaded("import subprocess, __future__")
    assert {name for name in more if not name.startswith("acp_nvim")} == set()
    assert len(more) <= 7
