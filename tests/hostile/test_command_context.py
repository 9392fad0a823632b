"""Values beside a command in a tool call that change what the command does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_nvim.agent.serving.project_rules import rule_of
from acp_nvim.agent.serving.trusting import is_safe
from acp_nvim.agent.settings import decode
from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.questions import permission_decision
from acp_nvim.session.session import Session
from tests.support.judged_calls import run, verdict

MAKE = {"action": "allow", "command": "make *"}
DENY = {"action": "deny", "command": "rm *"}


def can_be_kept(call: ToolCall, cwd: Path) -> bool:
    """Return whether a question about a call offers a rule for this project."""
    asked = schema.RequestPermissionRequest("s1", schema.PermissionToolCall(call.id), [])
    decision = permission_decision("d", call, asked)
    return rule_of(Session(1, "agent", str(cwd)), decision, [call], decode({})) is not None


@pytest.mark.parametrize(
    "beside",
    [
        {"stdin": "rm -rf src"},
        {"input": ["rm -rf src"]},
        {"keystrokes": "rm -rf src\n"},
        {"shell": "/tmp/evil"},
        {"shell_path": "/tmp/evil"},
        {"shell": "powershell"},
        {"environ": {"PATH": "./evil"}},
        {"extra_env": {"PATH": "./evil"}},
        {"variables": ["PATH=./evil"]},
        {"dir": "src", "cwd": "/"},
        {"cwd": ".", "working_dir": "../outside"},
        {"args": ["x"], "arguments": ["-f", "y"]},
    ],
)
def test_input_shell_and_variables_make_another_command(home: Path, beside: dict[str, Any]) -> None:
    for raw in ({"command": "make x", **beside}, {**beside, "run": {"command": "make x"}}):
        assert verdict(run(raw), home, MAKE) == "ask"
        assert verdict(run(raw), home, {"action": "allow", "command": "make x"}) == "ask"
        assert verdict(run(raw), home, DENY, {"action": "allow", "kind": "execute"}) == "ask"
        assert not is_safe(run(raw), Session(1, "agent", str(home)), decode({}))
        assert not can_be_kept(run(raw), home)


@pytest.mark.parametrize(
    "beside",
    [
        *({"shell": "bash"}, {"shell": "zsh"}, {"shell": True}, {"shell": None}),
        *({"stdin": ""}, {"stdin": None}, {"input": "make x"}, {"env": {}}, {"timeout": 60}),
        *({"description": "Run the tests"}, {"run_in_background": True}, {"env": {"CI": "1"}}),
    ],
)
def test_a_harmless_value_beside_a_command_does_not_ask(home: Path, beside: dict[str, Any]) -> None:
    call = run({"command": "make x", **beside})
    assert verdict(call, home, MAKE) == "allow"
    assert is_safe(call, Session(1, "agent", str(home)), decode({}))


@pytest.mark.parametrize("key", ["post_command", "setupScript", "run", "bash", "pre_cmds", "exec"])
def test_a_further_command_needs_a_rule_too(home: Path, key: str) -> None:
    call = run({"command": "make x", key: "rm -rf src"})
    assert verdict(call, home, MAKE) is None
    assert verdict(call, home, DENY, MAKE) == "deny"
    assert verdict(call, home, MAKE, {"action": "allow", "command": "rm *"}) == "allow"
    assert verdict(run({"command": "make x", key: "make y"}), home, MAKE) == "allow"
    assert not can_be_kept(call, home)


@pytest.mark.parametrize(
    "line",
    [
        *("ssh localhost 'cat ~/x'", "ssh host rm -rf x", "cat a | ssh host", "mosh host"),
        *("sftp host", "lftp -c 'get x'", "telnet host", "tar xPf a.tar", "tar -xPzf a.tgz"),
        *("tar --absolute-names -xf a.tar", "unzip -: a.zip", "unzip -o: a.zip"),
        *("7z x a.7z -spf", "7z a x.7z @list"),
    ],
)
def test_trust_covers_no_command_for_files_elsewhere(home: Path, line: str) -> None:
    assert not is_safe(run({"command": line}), Session(1, "agent", str(home)), decode({}))


@pytest.mark.parametrize("line", ["unzip -o a.zip -d src", "7z x a.7z -osrc", "scp a host:b"])
def test_trust_covers_archives_that_stay_in_the_directory(home: Path, line: str) -> None:
    assert is_safe(run({"command": line}), Session(1, "agent", str(home)), decode({}))
