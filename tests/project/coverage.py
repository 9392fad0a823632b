"""`python -m tests.project.coverage [RECORD]`: write docs/protocol-coverage.md from schema, sources
and the record of a test run.

RECORD is the file that a run of the tests with `ACP_RECORD=RECORD` writes (`support/exercised.py`).
`exercised.json` names a test for each part of the protocol that passed between client and agent in
that run. An empty cell is a part that is not implemented. `tests/project/test_coverage.py` fails if
the page is out of date, if a named test does not exist, or if an empty cell is not explained in
`NOT_OURS`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.connection_options import client_capabilities
from acp_nvim.agent.settings import Settings
from acp_nvim.protocol import schema
from acp_nvim.protocol.methods import METHODS, Method
from acp_nvim.protocol.v2 import methods as v2_methods
from acp_nvim.session import session as sessions
from acp_nvim.session import updates
from tests.project.covering_tests import ROOT, quoted, source, tested

PAGE = ROOT / "docs/protocol-coverage.md"
SCHEMA = ROOT / "tests/schema/v1"
HEAD = """# Protocol coverage

Written by `python -m tests.project.coverage` from the JSON Schema of ACP v1 (`tests/schema/v1`,
stable and unstable) and from the sources; `tests/project/test_coverage.py` fails when it is out of
date. A row is done when a test exercises it: in the named one it passed between this client and an
agent, and was answered with a result where it is a request. For capabilities that is a test of what
only they allow. `–` is what is not a client's, or is left out on purpose: the notes below the
tables say why. *Unstable* parts of the protocol are used only with agents that advertise them.
"""
NOT_OURS = {
    "proxy/initialize": "between a client and proxies; this client starts agents alone",
    "proxy/successor": "between a client and proxies; this client starts agents alone",
}
"""Parts that are left out, with the reason. Their rows may have empty cells."""

EXERCISED = Path(__file__).parent / "exercised.json"
SINCE = {
    "notice": "2026-10-09",
    "compaction_update": "2026-10-09",
    "compaction_summary_chunk": "2026-10-09",
    "session.notices": "2026-10-09",
    "session.compaction": "2026-10-09",
    "sessionCapabilities.systemPrompt": "2026-11-06",
    "plan_update": "2026-11-20",
    "plan_removed": "2026-11-20",
    "plan": "2026-11-20",
    "subagent_update": "2026-11-20",
    "session_message": "2026-11-20",
    "session_message_chunk": "2026-11-20",
    "subagents": "2026-11-20",
}
"""Parts that have become stable, with the date. The schema of the tests may be older."""

PROGRESS = "test_over_acp::test_progress_carries_the_ids_of_its_request"
WITHOUT_NEOVIM = {"1 ask mcp/message": PROGRESS, "2 ask mcp/message": PROGRESS}
"""Parts that tests without Neovim exercise, whose messages are not recorded."""

Row = tuple[str, ...]


@cache
def exercised() -> dict[str, str]:
    """Return a test for each exercised part."""
    found: dict[str, str] = json.loads(EXERCISED.read_text(encoding="utf-8"))
    return {**WITHOUT_NEOVIM, **found}


def seen(part: str) -> str:
    """Return the test that exercises a part, as a cell."""
    test = exercised().get(part, "")
    return f"`{test}`" if test else ""


def reduce_record(record: Path) -> dict[str, str]:
    """Return for each part the test that exercises the fewest other parts."""
    best: dict[str, tuple[int, str]] = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        for part in told["parts"]:
            one = len(told["parts"]), told["test"]
            best[part] = min(best.get(part, one), one)
    return {part: test for part, (_, test) in sorted(best.items())}


@cache
def definitions(name: str = "schema.unstable.json") -> dict[str, Any]:
    """Return the types of the schema."""
    found: dict[str, Any] = json.loads((SCHEMA / name).read_text(encoding="utf-8"))["$defs"]
    return found


def mention(pattern: str, folder: str, *without: str) -> str:
    """Return the first file of a folder that matches the pattern, without the folder's name."""
    for path, text in source(folder).items():
        if not path.endswith(without) and re.search(pattern, text):
            return f"`{path.removeprefix('acp_nvim/')}`"
    return ""


def old_cells() -> dict[tuple[str, str], str]:
    """Return the last column of the current page, by section and name."""
    found = {}
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else ():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[section, cells[0]] = cells[-1]
    return found


def stability(stable: bool, name: str = "") -> str:
    """Return the stability, with the date if it is newer than the schema of the tests."""
    if name in SINCE:
        return f"stable ({SINCE[name]})"
    return "stable" if stable else "unstable"


# -- methods --------------------------------------------------------------------------------------


@cache
def agent_sources() -> dict[str, str]:
    """Return the sources of the methods of `Agent`."""
    found = inspect.getmembers(Agent, inspect.isfunction)
    return {name: inspect.getsource(function) for name, function in found}


def asked(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield the requests that the client can send."""
    by = {
        method.name: name
        for method in METHODS
        for name, source in agent_sources().items()
        if re.search(quoted(method.name), source)
    }
    for method in methods("agent"):
        name = by.get(method.name, "")
        wanted = _caller(name) if name else ""
        done = seen(f"1 ask {method.name}")
        function = f"`Agent.{name}`" if name else ""
        yield f"`{method.name}`", stability(method.stable), method.gate, function, wanted, done


def _caller(name: str) -> str:
    """Return the file that calls a request of `Agent`, preferably on a variable `agent`."""
    found = mention(rf"\bagent\.{name}\(", "acp_nvim", "agent/agent.py")
    return found or mention(rf"\.{name}\(", "acp_nvim", "agent/agent.py")


def served(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield the requests and notifications that an agent can send."""
    for method in methods("client"):
        where = mention(quoted(method.name), "acp_nvim/agent", "agent/agent.py")
        done = seen(f"1 serve {method.name}")
        yield f"`{method.name}`", stability(method.stable), method.gate, where, done


def methods(side: str) -> list[Method]:
    """Return the methods that a side handles, each once."""
    wanted = (side, "both") if side == "client" else (side, "proxy")
    return list({m.name: m for m in reversed(METHODS) if m.handler in wanted}.values())[::-1]


# -- updates --------------------------------------------------------------------------------------


def tags(field: str) -> dict[str, type[Any]]:
    """Return the schema's structs that have this field as their tag, by tag."""
    found = {}
    for kind in vars(schema).values():
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            config = kind.__struct_config__
            if config.tag_field == field and isinstance(config.tag, str) and config.tag != "?":
                found[config.tag] = kind
    return found


def variants(union: str, field: str, name: str = "schema.unstable.json") -> list[str]:
    """Return the tags of a union of the schema, in its order."""
    found = definitions(name)[union]
    members = found.get("oneOf") or found["anyOf"]
    return [m["properties"][field]["const"] for m in members if field in m.get("properties", {})]


def update_rows(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield every `session/update`."""
    stable = variants("SessionUpdate", "sessionUpdate", "schema.json")
    kinds = tags("sessionUpdate")
    for tag in variants("SessionUpdate", "sessionUpdate"):
        apply = updates._APPLY.get(kinds[tag])
        shown = ", ".join(sorted(effects(apply))) if apply else ""
        where = ""
        if apply is not None:
            where = f"`{Path(inspect.getfile(apply)).stem}.{apply.__name__}`"
        done = seen(f"1 update {tag}")
        yield f"`{tag}`", stability(tag in stable, tag), where, shown, done


def effects(function: Any, depth: int = 3) -> set[str]:
    """Return the visible effects of an update, by the functions that its function calls."""
    text = inspect.getsource(function)
    found = {f"`state` {name}" for name in re.findall(r'\.change\(.*?"(\w+)"', text)}
    found |= {f"`{name}`" for name in re.findall(r'event\(\s*"(Acp\w+)"', text)}
    if re.search(r"transcript\.(stream|add|touch)|\.redraw\(", text):
        found.add("chat")
    for called in _calls(function, text) if depth else ():
        found |= effects(called, depth - 1)
    return found


def _calls(function: Any, text: str) -> Iterator[Any]:
    """Yield the functions that a function calls: of its module, of modules named there, of the
    session.
    """
    module = inspect.getmodule(function)
    for owner, name in re.findall(r"(?:\b(\w+)\.)?\b(\w+)\(", text):
        home = getattr(module, owner, None) if owner else module
        called = getattr(home, name, None) or getattr(sessions.Session, name, None)
        if inspect.isfunction(called) and called is not function:
            yield called


# -- content --------------------------------------------------------------------------------------


def block_rows(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield every content block."""
    kinds = tags("type")
    for tag in variants("ContentBlock", "type"):
        name = {"resource": "EmbeddedResource"}.get(tag, kinds[tag].__name__)
        sent = mention(rf"schema\.{name}\(", "acp_nvim")
        shown = mention(rf"schema\.{name}\b", "acp_nvim/render")
        yield f"`{tag}`", sent, shown, seen(f"1 block {tag}")


def tool_rows(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield every kind of content of a tool call."""
    names = {"content": "Content", "diff": "Diff", "terminal": "Terminal"}
    for tag in variants("ToolCallContent", "type"):
        shown = mention(rf"schema\.{names[tag]}\b", "acp_nvim/render")
        yield f"`{tag}`", shown, seen(f"1 content {tag}")


# -- capabilities ---------------------------------------------------------------------------------


def paths(name: str, schema_name: str = "schema.unstable.json") -> Iterator[str]:
    """Yield the capabilities of a type as dotted paths, without those that only contain others."""
    for key, value in definitions(schema_name)[name].get("properties", {}).items():
        options = [value, *value.get("anyOf", ()), *value.get("allOf", ())]
        inner = next((o["$ref"].split("/")[-1] for o in options if "$ref" in o), None)
        below = list(paths(inner, schema_name)) if inner else []
        if key == "systemPrompt":
            below = []  # its members are its modes
        if key != "_meta":
            yield from [f"{key}.{path}" for path in below] or [key]


PROOFS = {
    "fs.readTextFile": "serve fs/read_text_file",
    "fs.writeTextFile": "serve fs/write_text_file",
    "terminal": "serve terminal/create",
    "plan": "update plan_update",
    "subagents": "update subagent_update",
    "session.notices": "update notice",
    "session.compaction": "update compaction_update",
    "session.configOptions.boolean": "ask session/set_config_option",
    "elicitation.form": "serve elicitation/create",
    "elicitation.url": "serve elicitation/complete",
    "loadSession": "ask session/load",
    "promptCapabilities.image": "block image",
    "promptCapabilities.audio": "block audio",
    "promptCapabilities.embeddedContext": "block resource",
    "mcpCapabilities.acp": "serve mcp/message",
    "auth.status": "ask auth/status",
    "auth.logout": "ask logout",
    "sessionCapabilities.title": "ask session/set_title",
}
"""Parts of the protocol that a capability allows."""


def allowed(old: str, path: str) -> str:
    """Return a test that exercises the part which a capability allows, or one that names it."""
    last = path.rsplit(".", maxsplit=1)[-1]
    named = f"ask session/{last}" if path.startswith("sessionCapabilities.") else ""
    part = PROOFS.get(path, named)
    if found := seen(f"1 {part}"):
        return found
    return tested(old, quoted("terminal-auth" if path == "auth.terminal" else last))


def advertised(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield the capabilities of the client."""
    stable = list(paths("ClientCapabilities", "schema.json"))
    told = json.loads(msgspec.json.encode(client_capabilities(Settings())))
    for path in paths("ClientCapabilities"):
        value: Any = told
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        yes = "yes" if value is not None and value is not False else ""
        done = allowed(old.get((title, f"`{path}`"), ""), path)
        yield f"`{path}`", stability(path in stable, path), yes, done


def acted_on(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield the capabilities of an agent that the client uses."""
    stable = list(paths("AgentCapabilities", "schema.json"))
    for path in paths("AgentCapabilities"):
        *_, parent, last = ["", *path.split(".")]
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", last).lower()
        pattern = rf"\.{name}\b(?!\()"
        if parent:
            group = re.sub(r"(?=[A-Z])", "_", parent).lower()
            pattern = rf"(?:{group}|offered|Capabilities\(\)\))\.{name}\b"
        used = mention(pattern, "acp_nvim", "schema.py") or mention(
            rf"capabilities\w*\.{name}\b", "acp_nvim", "schema.py"
        )
        done = allowed(old.get((title, f"`{path}`"), ""), path)
        yield f"`{path}`", stability(path in stable, path), used, done


# -- version 2 ------------------------------------------------------------------------------------


def newer_methods(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield every method of version 2, of either side."""
    for row in v2_methods.METHODS:
        side = "ask" if row.handler == "agent" else "serve"
        where = "agent" if row.handler == "agent" else row.handler
        yield f"`{row.name}`", where, stability(row.stable), seen(f"2 {side} {row.name}")


def newer_updates(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Yield every `session/update` of version 2."""
    text = (SCHEMA.parent / "v2/schema.unstable.json").read_text(encoding="utf-8")
    members = json.loads(text)["$defs"]["SessionUpdate"]["anyOf"]
    for member in members:
        tag = member.get("properties", {}).get("sessionUpdate", {}).get("const")
        if tag is not None:
            yield f"`{tag}`", seen(f"2 update {tag}")


# -- the page -------------------------------------------------------------------------------------

SECTIONS: dict[str, tuple[Row, Any]] = {
    "What is asked of an agent": (
        ("method", "status", "only where", "asked by", "wanted in", "exercised by"),
        asked,
    ),
    "What an agent asks and tells": (
        ("method", "status", "only where", "handled in", "exercised by"),
        served,
    ),
    "Updates of a session": (
        ("update", "status", "applied by", "seen in", "exercised by"),
        update_rows,
    ),
    "Content blocks": (("block", "sent in prompts", "shown by", "exercised by"), block_rows),
    "Content of tool calls": (("content", "shown by", "exercised by"), tool_rows),
    "Capabilities of this client": (("capability", "status", "advertised", "tested"), advertised),
    "Capabilities of agents": (("capability", "status", "acted on in", "tested"), acted_on),
    "Version 2: methods": (("method", "handled by", "status", "exercised by"), newer_methods),
    "Version 2: updates of a session": (("update", "exercised by"), newer_updates),
}
GATED = "only where"


def tables() -> dict[str, list[Row]]:
    """Return the rows of each section. Empty cells are parts that are not implemented."""
    old = old_cells()
    return {title: list(rows(old, title)) for title, (_, rows) in SECTIONS.items()}


def gaps() -> list[str]:
    """Return the empty cells that are not explained."""
    found = []
    for title, rows in tables().items():
        columns = SECTIONS[title][0]
        for row in rows:
            if row[0].strip("`") not in NOT_OURS:
                found += [
                    f"{title}: {row[0]} has nothing under '{column}'"
                    for column, cell in zip(columns, row, strict=True)
                    if not cell and column != GATED
                ]
    return found


def page() -> str:
    """Return the whole text of the page."""
    parts = [HEAD]
    for title, rows in tables().items():
        columns = SECTIONS[title][0]
        parts.append(f"## {title}\n")
        parts += [line(columns), line(["---"] * len(columns)), *(line(cells(r)) for r in rows), ""]
    parts.append("## Left out\n")
    parts += [f"- `{name}`: {why}." for name, why in NOT_OURS.items()]
    return "\n".join(parts) + "\n"


def cells(row: Row) -> list[str]:
    """Return a row for printing."""
    empty = "–" if row[0].strip("`") in NOT_OURS else ""
    return [cell or empty for cell in row]


def line(values: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(values) + " |"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        told = json.dumps(reduce_record(Path(sys.argv[1])), indent=1)
        EXERCISED.write_text(told + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    print("\n".join(gaps()))
