"""The help has a tag for every public name. The names come from the sources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.real import agents_page
from tests.support.editor import ROOT, Editor
from tests.support.lua import lua_chunk
from tests.torture.__main__ import kinds

HELP = ROOT / "doc/acp.txt"
EVENT = re.compile(r"""\b(?:event\(|pattern =)\s*["'](Acp[A-Z]\w+)["']""")

pytestmark = pytest.mark.skipif(not HELP.exists(), reason="doc/acp.txt is not written yet")

# Options whose keys belong to the user, or that have their own table in the help.
OPEN = {"agents", "keymaps"}

NAMES = lua_chunk(__file__, "documented_names")


def tags() -> set[str]:
    """Return the tags that doc/acp.txt defines."""
    return set(re.findall(r"(?<!\S)\*([^\s*|]+)\*(?!\S)", HELP.read_text(encoding="utf-8")))


def leaves(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all options in a table of defaults."""
    for name, value in table.items():
        if name == "worktrees":
            continue  # its options are nil
        if isinstance(value, dict) and value and name not in OPEN:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def events() -> set[str]:
    """Return the names of all `User` autocommands of Python and Lua."""
    found: set[str] = set()
    for path in (*ROOT.glob("acp_nvim/**/*.py"), *ROOT.glob("lua/**/*.lua")):
        found |= set(EVENT.findall(path.read_text(encoding="utf-8")))
    assert "AcpTurnEnd" in found
    return found


@pytest.fixture
def names(edit: Callable[..., Editor]) -> dict[str, Any]:
    found: dict[str, Any] = edit(screen=None).lua(NAMES)
    return found


def test_every_command_has_its_tag(names: dict[str, Any]) -> None:
    assert len(names["commands"]) >= 3
    wanted = {f":{name}" for name in names["commands"]}
    wanted |= {f":Acp-{name}" for name in names["subcommands"]}
    assert not wanted - tags()


def test_every_map_has_its_tag(names: dict[str, Any]) -> None:
    assert len(names["plugs"]) >= 12
    assert not set(names["plugs"]) - tags()


def test_every_function_has_its_tag(names: dict[str, Any]) -> None:
    assert {"setup", "prompt", "state"} <= set(names["functions"])
    assert not {f"acp.{name}()" for name in names["functions"]} - tags()


def test_every_option_has_its_tag(names: dict[str, Any]) -> None:
    options = {*leaves(json.loads(names["defaults"])), *names["optional"]}
    assert "timeouts.cancel_s" in options
    assert not {f"acp-option-{name}" for name in options} - tags()


def test_every_event_has_its_tag() -> None:
    assert not events() - tags()


def test_the_help_names_only_existing_things(names: dict[str, Any]) -> None:
    told = tags()
    options = {*leaves(json.loads(names["defaults"])), *names["optional"]}
    subcommands = set(names["subcommands"])
    strange = {t for t in told if t.startswith(":Acp-") and t[5:] not in subcommands}
    strange |= {t for t in told if t.startswith("acp-option-") and t[11:] not in options}
    strange |= {t for t in told if t.startswith("<Plug>(acp-") and t not in names["plugs"]}
    assert not strange
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`:Acp (\w+)", page)) <= subcommands
    sections = re.split(r"^###? ", page, flags=re.MULTILINE)
    assert not [it for it in sections if it.startswith("`") and "\nShown by `" not in it]


def test_the_page_on_agents_is_not_older_than_the_presets(names: dict[str, Any]) -> None:
    """`make test-agents` writes the page. A preset is tried, or listed with the reason."""
    results = json.loads((ROOT / "tests/data/agents.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    assert page == agents_page.page(results)
    presets = {
        name: it.get("command") for name, it in json.loads(names["defaults"])["agents"].items()
    }
    tried = {it["preset"]: it["command"] for it in results.values() if it["preset"]}
    assert {name: presets.get(name) for name in tried} == tried
    assert tried.keys() | agents_page.UNTRIED.keys() == presets.keys()


def test_the_page_on_frames_lists_every_operation(names: dict[str, Any]) -> None:
    known = set(names["operations"])
    page = (ROOT / "docs/internals/frames.md").read_text(encoding="utf-8")
    table = page.partition("## Operations")[2]
    told = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))))
    assert told == known


def test_the_page_on_security_names_existing_tests() -> None:
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", page))
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", ["docs/testing.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_a_page_names_existing_files(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    # The files of the worked example are to be written.
    text = re.sub(r"## How to add a feature\n.*?(?=\n## )", "", text, flags=re.DOTALL)
    named = set(re.findall(r"`((?:tests|docs|doc|\.ci)/[\w./-]+)`", text))
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_page_on_testing_names_every_kind_of_torture() -> None:
    page = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    assert not [kind for kind in kinds() if f"`{kind}`" not in page]
