"""A race of three real agents, each in a worktree of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real import kit
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.git import git, repository
from tests.support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

NAMES = ("claude-old", "codex-zed", "gemini", "kimi-code")
EDIT = (
    "case $PWD in *-2) x=beta y=BETA;; *-3) x=gamma y=GAMMA;; *) x=alpha y=ALPHA;; esac; "
    "sed -i s/$x/$y/ notes.txt"
)
"""Command that changes another line in each worktree."""


@pytest.fixture
def model(tmp_path: Path) -> Iterator[kit.Model]:
    try:
        server = kit.Model(tmp_path / "model.log")
    except kit.Missing as missing:
        pytest.skip(str(missing))
    yield server
    server.close()


def test_hunks_of_two_are_taken_and_the_third_is_dropped(editor: Editor, model: kit.Model) -> None:
    agents = [agent for agent in map(kit.agent, NAMES) if agent.installed()][:3]
    if len(agents) < 3:
        pytest.skip(f"fewer than three agents are installed; see {kit.KIT}/install.sh")
    install_picker(editor)
    notes = editor.write("notes.txt", "alpha\n1\n2\n3\nbeta\n4\n5\n6\ngamma\n")
    repository(editor.work)
    for agent in agents:
        agent.configure(editor, model.url)
    names = " ".join(agent.name for agent in agents)
    editor.cmd(f"Acp race {names} -- SCRIPT:shell {EDIT}")
    trees = [
        Path(editor.wait("require('acp').state().sessions[...].worktree.path", n))
        for n in (1, 2, 3)
    ]
    wanted = ["ALPHA", "BETA", "GAMMA"]
    asked = 0
    while len(editor.events("AcpTurnEnd")) < 3:
        editor.wait(
            "return #vim.tbl_filter(function(e) return e.name == 'AcpPermission' end, acp_events)"
            " > ... or #vim.tbl_filter(function(e) return e.name == 'AcpTurnEnd' end, acp_events)"
            " == 3",
            asked,
            timeout=120,
        )
        for event in editor.events("AcpPermission")[asked:]:
            asked += 1
            editor.lua(
                "local id = ... for _, s in pairs(require('acp').state().sessions) do "
                "for _, p in ipairs(s.permissions or {}) do if p.id == id then "
                "require('acp').answer(id, p.options[1].id) end end end",
                event["data"]["id"],
            )
    for tree, word in zip(trees, wanted, strict=True):
        assert word in (tree / "notes.txt").read_text(), editor.report(f"{tree} {word}")
    assert notes.read_text().startswith("alpha")
    editor.cmd("Acp race")
    editor.wait("vim.fn.tabpagenr('$') == 2 and vim.fn.winnr('$') == 4")
    editor.keys("1Gdp")
    editor.wait("vim.fn.readfile(...)[1] == 'ALPHA'", str(notes))
    editor.cmd("wincmd l")
    editor.keys("5Gdp")
    editor.wait("vim.fn.readfile(...)[5] == 'BETA'", str(notes))
    pick(editor, "Acp race!", "Remove")
    for tree in trees:
        until(lambda: not tree.exists(), what=f"{tree} is gone")  # noqa: B023
    until(lambda: not git(editor.work, "branch", "--list", "acp/*"), what="no branch")
    assert git(editor.work, "worktree", "list").count("\n") == 1
    editor.cmd("Acp accept all")
    editor.wait_message("Accepted 2 hunks in notes.txt")
    assert notes.read_text() == "ALPHA\n1\n2\n3\nBETA\n4\n5\n6\ngamma\n"
