"""Tools about a name: definition, references, hover, calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.paths import Place
from acp_nvim.session.session import Session
from acp_nvim.tools import files
from acp_nvim.tools.asking.places import (
    Spot,
    checked_answer,
    listing,
    locations,
    position,
    result,
    spot,
)
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Answer, LanguageServers, Position
from acp_nvim.tools.server.fields import PlaceListArguments, PositionArguments
from acp_nvim.tools.server.tool import Call, Tool, ToolResult

METHODS = {
    "definition": "textDocument/definition",
    "declaration": "textDocument/declaration",
    "type": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
}


class DefinitionArguments(PlaceListArguments, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_definition`."""

    target: Annotated[
        Literal["definition", "declaration", "type", "implementation"],
        Meta(description="What to look for"),
    ] = "definition"


class CallsArguments(PlaceListArguments, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_calls`."""

    direction: Annotated[
        Literal["in", "out"], Meta(description="in: who calls it; out: what it calls")
    ] = "in"


class Subject(Struct, frozen=True):
    """File, text and position that a request is about."""

    place: Place
    text: Text
    at: Position


class Navigation:
    """Tools that ask the editor's language servers about a name."""

    def __init__(self, servers: LanguageServers, files: ToolFiles) -> None:
        self._servers = servers
        self._files = files

    async def definition(self, call: Call, args: DefinitionArguments) -> ToolResult:
        """Return the definitions of a name."""
        subject, answers = await self._ask(call.session, args, METHODS[args.target])
        return await self._places(call.session, subject, args, locations(answers), args.target)

    async def references(self, call: Call, args: PlaceListArguments) -> ToolResult:
        """Return the uses of a name."""
        context = {"context": {"includeDeclaration": True}}
        subject, answers = await self._ask(call.session, args, "textDocument/references", context)
        spots = sorted(locations(answers), key=lambda spot: (spot.path, spot.row, spot.character))
        return await self._places(call.session, subject, args, spots, "reference")

    async def hover(self, call: Call, args: PositionArguments) -> ToolResult:
        """Return the hover text of a name."""
        subject, answers = await self._ask(call.session, args, "textDocument/hover")
        place, at = subject.place, subject.at
        texts = [_hover_text(answer.result) for answer in answers if answer.result]
        text = "\n\n".join(dict.fromkeys(filter(None, texts)))
        name = files.display_path(call.session, place.real)
        empty_text = f"nothing is known about {name}:{at.row + 1}:{at.column + 1}"
        shown: dict[str, Any] = {"path": place.real, "line": args.line}
        return ToolResult(text or empty_text, {"text": text}, _asked_name(args), **shown)

    async def calls(self, call: Call, args: CallsArguments) -> ToolResult:
        """Return the callers of a function, or the functions it calls."""
        subject, answers = await self._ask(call.session, args, "textDocument/prepareCallHierarchy")
        spots: list[Spot] = []
        for answer in answers:
            for item in answer.result or ():
                spots += await self._call_spots(subject.place, answer, item, args.direction)
        return await self._places(call.session, subject, args, spots, "call")

    async def _call_spots(
        self, place: Place, answer: Answer, item: dict[str, Any], direction: str
    ) -> list[Spot]:
        method = "incomingCalls" if direction == "in" else "outgoingCalls"
        calls = await self._servers.resolve(
            answer.client, place.real, f"callHierarchy/{method}", {"item": item}
        )
        spots: list[Spot] = []
        with checked_answer(answer.name):
            for call in calls or ():
                other = call["from" if direction == "in" else "to"]
                uri, name = (other if direction == "in" else item)["uri"], other["name"]
                note = f"{'in' if direction == 'in' else 'calls'} {name}:"
                spans = call["fromRanges"]
                spots += [spot(uri, span, answer.encoding, note, name=name) for span in spans]
        return spots

    async def _ask(
        self,
        session: Session,
        args: PositionArguments,
        method: str,
        params: dict[str, Any] | None = None,
    ) -> tuple[Subject, Sequence[Answer]]:
        place, text = await self._files.read(session, args.path)
        at = self._position(session, place, text, args)
        answers = await self._servers.ask(session, place.real, method, params or {}, at=at)
        return Subject(place, text, at), answers

    def _position(
        self, session: Session, place: Place, text: Text, args: PositionArguments
    ) -> Position:
        name = files.display_path(session, place.real)
        return position(text, name, args.line, args.symbol, args.column)

    async def _places(
        self,
        session: Session,
        subject: Subject,
        args: PlaceListArguments,
        spots: Sequence[Spot],
        noun: str,
    ) -> ToolResult:
        place = subject.place
        sources = self._files.sources(session, {place.real: subject.text})
        rows = await listing(session, sources, spots, args.limit)
        empty_text = f"no {noun} of {_asked_name(args)} is known"
        return result(rows, empty_text, noun, _asked_name(args), path=place.real, line=args.line)


def _asked_name(args: PositionArguments) -> str:
    return args.symbol or f"{args.path}:{args.line}"


def _hover_text(contents: Any) -> str:
    """Return the text of a hover: MarkupContent, MarkedString or a list of them."""
    value = contents.get("contents") if isinstance(contents, dict) else None
    parts = value if isinstance(value, list) else [value]
    return "\n\n".join(filter(None, (_markdown_of(part) for part in parts))).strip()


def _markdown_of(part: Any) -> str:
    if isinstance(part, dict):
        value = str(part.get("value", ""))
        language = part.get("language")
        return f"```{language}\n{value}\n```" if language else value
    return part if isinstance(part, str) else ""


def navigation_tools(servers: LanguageServers, files: ToolFiles) -> list[Tool[Any]]:
    tools = Navigation(servers, files)
    return [
        Tool(
            "nvim_definition",
            "Definition",
            "Where a name is defined, declared or implemented, according to the language "
            "server. Exact, even inside libraries, while grep finds every word that looks the "
            "same. "
            'Example: {"path": "app.py", "line": 12, "symbol": "load_config"}',
            DefinitionArguments,
            tools.definition,
            timeout_s=None,
        ),
        Tool(
            "nvim_references",
            "References",
            "Every use of a name in the project, according to the language server. Call this "
            "before you change or remove something, instead of grep, which misses uses and "
            "finds false ones. "
            'Example: {"path": "app.py", "line": 12, "symbol": "load_config"}',
            PlaceListArguments,
            tools.references,
            timeout_s=None,
        ),
        Tool(
            "nvim_hover",
            "Hover",
            "Type, signature and documentation of a name, from the language server. Quicker "
            "than reading the file or library that defines it. "
            'Example: {"path": "app.py", "line": 12, "symbol": "load_config"}',
            PositionArguments,
            tools.hover,
            timeout_s=None,
        ),
        Tool(
            "nvim_calls",
            "Calls",
            "Who calls a function, or what it calls, according to the language server. Prefer "
            "this to grepping for the name with a parenthesis. "
            'Example: {"path": "app.py", "line": 12, "symbol": "load_config", "direction": "in"}',
            CallsArguments,
            tools.calls,
            timeout_s=None,
        ),
    ]
