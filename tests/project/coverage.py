"""`python -m tests.project.coverage`: write docs/protocol-coverage.md from schema and sources.

Each cell names the place in the sources that does the thing; an empty one is something that is not
done. `tests/project/test_coverage.py` fails when the file differs from what is computed, and when
a cell is empty that is not explained in `NOT_OURS`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.connection_options import client_capabilities
from acp_nvim.agent.settings import Settings
from acp_nvim.protocol import schema
from acp_nvim.protocol.methods import METHODS, Method
from acp_nvim.session import session as sessions
from acp_nvim.session import updates
from tests.project.covering_tests import ROOT, quoted, source, tested

PAGE = ROOT / "docs/protocol-coverage.md"
SCHEMA = ROOT / "tests/schema/v1"
HEAD = """# Protocol coverage

Written by `python -m tests.project.coverage` from the JSON Schema of ACP v1 (`tests/schema/v1`,
stable and unstable) and from the sources; `tests/project/test_coverage.py` fails when it is out of
date. A cell names the place that does it, the last column a test that mentions it. `–` is what is
not a client's, or is left out on purpose: the notes below the tables say why. *Unstable* parts of
the protocol are used only with agents that advertise them.
"""
PROVIDERS = "which models an agent talks to is set up with the agent"
NOT_OURS = {
    "providers/list": PROVIDERS,
    "providers/set": PROVIDERS,
    "providers/disable": PROVIDERS,
    "providers": PROVIDERS,
    "proxy/initialize": "between a client and proxies; this client starts agents alone",
    "proxy/successor": "between a client and proxies; this client starts agents alone",
}
"""What is left out, and why. Rows of these names may have empty cells."""

Row = tuple[str, ...]


@cache
def definitions(name: str = "schema.unstable.json") -> dict[str, Any]:
    """The types of the schema."""
    found: dict[str, Any] = json.loads((SCHEMA / name).read_text(encoding="utf-8"))["$defs"]
    return found


def mention(pattern: str, folder: str, *without: str) -> str:
    """The first file of a folder in which the pattern stands, without the folder's name."""
    for path, text in source(folder).items():
        if not path.endswith(without) and re.search(pattern, text):
            return f"`{path.removeprefix('acp_nvim/')}`"
    return ""


def old_cells() -> dict[tuple[str, str], str]:
    """The last column of the page as it is, by section and name."""
    found = {}
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else ():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[section, cells[0]] = cells[-1]
    return found


def stability(stable: bool) -> str:
    """One word."""
    return "stable" if stable else "unstable"


# -- methods --------------------------------------------------------------------------------------


def traces(method: Method) -> list[str]:
    """Patterns for tests of a method: its name, its types."""
    types = [
        kind for union in (method.params, method.result) for kind in get_args(union) or [union]
    ]
    return [quoted(method.name), *(rf"\b{kind.__name__}\b" for kind in types if kind is not None)]


@cache
def agent_sources() -> dict[str, str]:
    """The sources of the methods of `Agent`."""
    found = inspect.getmembers(Agent, inspect.isfunction)
    return {name: inspect.getsource(function) for name, function in found}


def asked(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """What we may ask of an agent."""
    by = {
        method.name: name
        for method in METHODS
        for name, source in agent_sources().items()
        if re.search(quoted(method.name), source)
    }
    for method in methods("agent"):
        name = by.get(method.name, "")
        wanted = mention(rf"\.{name}\(", "acp_nvim", "agent/agent.py") if name else ""
        done = tested(old.get((title, f"`{method.name}`"), ""), *traces(method))
        function = f"`Agent.{name}`" if name else ""
        yield f"`{method.name}`", stability(method.stable), method.gate, function, wanted, done


def served(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """What an agent asks of us, and tells us."""
    for method in methods("client"):
        where = mention(quoted(method.name), "acp_nvim/agent", "agent/agent.py")
        done = tested(old.get((title, f"`{method.name}`"), ""), *traces(method))
        yield f"`{method.name}`", stability(method.stable), method.gate, where, done


def methods(side: str) -> list[Method]:
    """The methods that a side handles, each once."""
    wanted = (side, "both") if side == "client" else (side, "proxy")
    return list({m.name: m for m in reversed(METHODS) if m.handler in wanted}.values())[::-1]


# -- updates --------------------------------------------------------------------------------------


def tags(field: str) -> dict[str, type[Any]]:
    """The schema's structs that a field of that name tells apart, by their tag."""
    found = {}
    for kind in vars(schema).values():
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            config = kind.__struct_config__
            if config.tag_field == field and isinstance(config.tag, str) and config.tag != "?":
                found[config.tag] = kind
    return found


def variants(union: str, field: str, name: str = "schema.unstable.json") -> list[str]:
    """The tags of a union of the schema, in its order."""
    found = definitions(name)[union]
    members = found.get("oneOf") or found["anyOf"]
    return [m["properties"][field]["const"] for m in members if field in m.get("properties", {})]


def update_rows(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Every `session/update`."""
    stable = variants("SessionUpdate", "sessionUpdate", "schema.json")
    kinds = tags("sessionUpdate")
    for tag in variants("SessionUpdate", "sessionUpdate"):
        apply = updates._APPLY.get(kinds[tag])
        seen = ", ".join(sorted(effects(apply))) if apply else ""
        where = ""
        if apply is not None:
            where = f"`{Path(inspect.getfile(apply)).stem}.{apply.__name__}`"
        patterns = (quoted(tag), rf"\b{kinds[tag].__name__}\(")
        done = tested(old.get((title, f"`{tag}`"), ""), *patterns)
        yield f"`{tag}`", stability(tag in stable), where, seen, done


def effects(function: Any, depth: int = 3) -> set[str]:
    """What a user sees of an update, by what its function calls."""
    text = inspect.getsource(function)
    found = {f"`state` {name}" for name in re.findall(r'\.change\(.*?"(\w+)"', text)}
    found |= {f"`{name}`" for name in re.findall(r'event\(\s*"(Acp\w+)"', text)}
    if re.search(r"transcript\.(stream|add|touch)|\.redraw\(", text):
        found.add("chat")
    for called in _calls(function, text) if depth else ():
        found |= effects(called, depth - 1)
    return found


def _calls(function: Any, text: str) -> Iterator[Any]:
    """Functions that a function calls: of its module, of modules named there, of the session."""
    module = inspect.getmodule(function)
    for owner, name in re.findall(r"(?:\b(\w+)\.)?\b(\w+)\(", text):
        home = getattr(module, owner, None) if owner else module
        called = getattr(home, name, None) or getattr(sessions.Session, name, None)
        if inspect.isfunction(called) and called is not function:
            yield called


# -- content --------------------------------------------------------------------------------------


def block_rows(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Every content block."""
    kinds = tags("type")
    for tag in variants("ContentBlock", "type"):
        name = {"resource": "EmbeddedResource"}.get(tag, kinds[tag].__name__)
        sent = mention(rf"schema\.{name}\(", "acp_nvim")
        shown = mention(rf"schema\.{name}\b", "acp_nvim/render")
        done = tested(old.get((title, f"`{tag}`"), ""), rf"\b{name}\(", quoted(tag))
        yield f"`{tag}`", sent, shown, done


def tool_rows(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """Every kind of content of a tool call."""
    names = {"content": "Content", "diff": "Diff", "terminal": "Terminal"}
    for tag in variants("ToolCallContent", "type"):
        shown = mention(rf"schema\.{names[tag]}\b", "acp_nvim/render")
        done = tested(old.get((title, f"`{tag}`"), ""), rf"\bschema\.{names[tag]}\(")
        yield f"`{tag}`", shown, done


# -- capabilities ---------------------------------------------------------------------------------


def paths(name: str, schema_name: str = "schema.unstable.json") -> Iterator[str]:
    """The capabilities of a type as dotted paths; what holds others is no capability itself."""
    for key, value in definitions(schema_name)[name].get("properties", {}).items():
        options = [value, *value.get("anyOf", ()), *value.get("allOf", ())]
        inner = next((o["$ref"].split("/")[-1] for o in options if "$ref" in o), None)
        below = list(paths(inner, schema_name)) if inner else []
        if key == "systemPrompt":
            below = []  # what it holds are its modes
        if key != "_meta":
            yield from [f"{key}.{path}" for path in below] or [key]


PROOFS = {
    "fs.readTextFile": "fs/read_text_file",
    "fs.writeTextFile": "fs/write_text_file",
    "terminal": "terminal/create",
    "plan": "plan_update",
    "auth.terminal": "terminal-auth",
    "elicitation.form": "elicitation/create",
    "elicitation.url": "elicitation/complete",
    "auth.status": "auth/status",
    "auth.logout": "logout",
    "sessionCapabilities.title": "session/set_title",
}
"""Capabilities whose own name says too little: what only they allow."""


def proofs(path: str) -> list[str]:
    """Patterns for tests of a capability."""
    last = path.rsplit(".", maxsplit=1)[-1]
    if path in PROOFS:
        return [quoted(PROOFS[path])]
    if path.startswith("sessionCapabilities.") and last.islower():
        return [quoted(f"session/{last}")]
    return [quoted(last)]


def advertised(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """What we tell an agent that we can do."""
    stable = list(paths("ClientCapabilities", "schema.json"))
    told = json.loads(msgspec.json.encode(client_capabilities(Settings())))
    for path in paths("ClientCapabilities"):
        value: Any = told
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        yes = "yes" if value is not None and value is not False else ""
        done = tested(old.get((title, f"`{path}`"), ""), *proofs(path))
        yield f"`{path}`", stability(path in stable), yes, done


def acted_on(old: dict[tuple[str, str], str], title: str) -> Iterator[Row]:
    """What an agent tells us that it can do."""
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
        done = tested(old.get((title, f"`{path}`"), ""), *proofs(path))
        yield f"`{path}`", stability(path in stable), used, done


# -- the page -------------------------------------------------------------------------------------

SECTIONS: dict[str, tuple[Row, Any]] = {
    "What is asked of an agent": (
        ("method", "status", "only where", "asked by", "wanted in", "tested"),
        asked,
    ),
    "What an agent asks and tells": (
        ("method", "status", "only where", "handled in", "tested"),
        served,
    ),
    "Updates of a session": (("update", "status", "applied by", "seen in", "tested"), update_rows),
    "Content blocks": (("block", "sent in prompts", "shown by", "tested"), block_rows),
    "Content of tool calls": (("content", "shown by", "tested"), tool_rows),
    "Capabilities of this client": (("capability", "status", "advertised", "tested"), advertised),
    "Capabilities of agents": (("capability", "status", "acted on in", "tested"), acted_on),
}
GATED = "only where"


def tables() -> dict[str, list[Row]]:
    """The rows of each section. Empty cells are what is not done."""
    old = old_cells()
    return {title: list(rows(old, title)) for title, (_, rows) in SECTIONS.items()}


def gaps() -> list[str]:
    """What is not done and not explained."""
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
    """The whole text of the page."""
    parts = [HEAD]
    for title, rows in tables().items():
        columns = SECTIONS[title][0]
        parts.append(f"## {title}\n")
        parts += [line(columns), line(["---"] * len(columns)), *(line(cells(r)) for r in rows), ""]
    parts.append("## Left out\n")
    parts += [f"- `{name}`: {why}." for name, why in NOT_OURS.items()]
    return "\n".join(parts) + "\n"


def cells(row: Row) -> list[str]:
    """A row as it is printed."""
    empty = "–" if row[0].strip("`") in NOT_OURS else ""
    return [cell or empty for cell in row]


def line(values: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(values) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print("\n".join(gaps()))
