"""The example of a transport in docs/examples, as a user's package beside the plugin."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import ROOT, Editor
from tests.support.entry_points import install_entry_point

EXAMPLE = ROOT / "docs/examples/unix_transport"


@pytest.mark.skipif(sys.platform == "win32", reason="the example is about Unix sockets")
def test_the_example_of_the_manual_works(edit: Callable[..., Editor], tmp_path: Path) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    ((name, target),) = project["entry-points"]["acp_nvim.transports"].items()
    module = target.partition(":")[0]
    packages = tmp_path / "packages"
    packages.mkdir()
    install_entry_point(packages, name, target)
    (packages / f"{module}.py").write_text((EXAMPLE / f"{module}.py").read_text())
    editor = edit(env={"PYTHONPATH": f"{ROOT / 'tests/support/patient_host'}:{packages}"})
    path = tmp_path / "agent.sock"
    argv = [sys.executable, str(EXAMPLE / "serve.py"), str(path), "-m", "acp_nvim.tutor"]
    server = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert server.stdout.readline().strip() == f"unix://{path}"
        editor.setup({"agent": "far", "agents": {"far": {"url": f"unix://{path}"}}})
        assert editor.turn("hello")["stop_reason"] == "end_turn"
        assert editor.state()["agents"]["far"]["url"] == f"unix://{path}"
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
