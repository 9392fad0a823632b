"""Tools `nvim_code_actions` and `nvim_apply_code_action`: code actions of language servers."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

import anyio
import msgspec
from msgspec import Meta

from acp_nvim.edits.text import Text
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.tools.asking.places import count_with_noun, more_line
from acp_nvim.tools.changing.change_ports import Documents, Run
from acp_nvim.tools.changing.changes import Changes, real_path, row_of
from acp_nvim.tools.changing.server_edits import Loaded, ServerEdit, ServerEdits
from acp_nvim.tools.files import display_path
from acp_nvim.tools.ports import Answer, LanguageServers, Position
from acp_nvim.tools.server.fields import Limit, Line, Path
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

MAX_OFFERS: Final = 2000
"""Maximum number of stored code actions across all sessions. The oldest are dropped first."""
CHANGED: Final = "the file has changed since these code actions were listed; list them again"


class ActionsArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_code_actions`."""

    path: Path
    line: Line
    end_line: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Last line (default: `line`).")
    ] = None
    only: Annotated[
        str | None,
        Meta(description="Kind, with its subkinds: quickfix, refactor, source.organizeImports."),
    ] = None
    limit: Limit = 100


class ApplyArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_apply_code_action`."""

    id: Annotated[str, Meta(description="Id of a code action from nvim_code_actions.")]


LIST_DESCRIPTION: Final = (
    "List the fixes and refactorings that the language server offers for lines of a file: "
    "imports to add, quick fixes of diagnostics, extractions. Prefer this to fixing by hand "
    "what the server can fix. This changes nothing; nvim_apply_code_action applies one by its "
    "id. "
    'Example: {"path": "app.py", "line": 3, "only": "quickfix"}'
)
APPLY_DESCRIPTION: Final = (
    "Apply a fix or refactoring that nvim_code_actions listed, by its id. The user is asked "
    "first, and reviews the changes afterwards. "
    'Example: {"id": "a1"}'
)


class Offer(msgspec.Struct, frozen=True):
    """Listed code action, with its server and the texts it applies to."""

    session: str
    path: str
    text: Text
    loaded: Loaded
    answer: Answer
    action: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Return the server's title of the action."""
        return str(self.action.get("title", "")).replace("\n", " ")

    @property
    def command(self) -> Mapping[str, Any] | None:
        """Return the command of the action, or None."""
        command = self.action.get("command")
        return self.action if isinstance(command, str) else command


class CodeActions:
    """Code actions, listed with ids. An id is valid in its session until the file changes."""

    def __init__(
        self,
        servers: LanguageServers,
        documents: Documents,
        edits: ServerEdits,
        changes: Changes,
    ) -> None:
        self._servers = servers
        self._documents = documents
        self._edits = edits
        self._changes = changes
        self._offers: OrderedDict[str, Offer] = OrderedDict()
        self._numbers = itertools.count(1)
        self._command = anyio.Lock()
        """Held while a server runs a command, so that its edits are attributed to that command."""

    async def list(self, call: Call, arguments: ActionsArguments) -> ToolResult:
        """List the code actions for a range of lines."""
        session = call.session
        path = real_path(session, arguments.path)
        text = await self._changes.read(session, arguments.path)
        name = display_path(session, path)
        first = row_of(name, text, arguments.line)
        last = first if arguments.end_line is None else row_of(name, text, arguments.end_line)
        at = Position(first, 0), Position(max(first, last), len(text.lines[max(first, last)]))
        context: dict[str, Any] = {
            "diagnostics": list(await self._documents.diagnostics(path, first, last)),
            "triggerKind": 1,
        }
        if arguments.only:
            context["only"] = [arguments.only]
        loaded = await self._documents.loaded()
        answers = await self._servers.ask(
            session, path, "textDocument/codeAction", {"context": context}, at=at
        )
        offers = [
            self._store_offer(Offer(session.key, path, text, loaded, answer, action))
            for answer in answers
            for action in _enabled_actions(answer.result, arguments.only)
        ]
        return _list_offers(path, offers, arguments.limit)

    def _store_offer(self, offer: Offer) -> tuple[str, Offer]:
        id = f"a{next(self._numbers)}"
        self._offers[id] = offer
        if len(self._offers) > MAX_OFFERS:
            self._offers.popitem(last=False)
        return id, offer

    async def apply(self, call: Call, arguments: ApplyArguments) -> ToolResult:
        """Apply the edit of a listed action, or run its command, after the user agrees."""
        offer = self._offers.get(arguments.id)
        if offer is None or offer.session != call.session.key:
            raise ToolError(f"there is no code action {arguments.id}; nvim_code_actions lists them")
        if (await self._changes.current(offer.path)).text != offer.text:
            raise ToolError(CHANGED)
        offer = await self._resolve(call, offer)
        if offer.action.get("edit"):
            edit = ServerEdit(offer.answer.client, offer.answer.encoding, offer.action["edit"])
            changes = await self._edits.compute_changes(edit, offer.loaded)
            if changes is None:
                raise ToolError(CHANGED)
            return _without_command(
                offer, await self._changes.ask_and_make(call, offer.title, changes)
            )
        if offer.command is None:
            raise ToolError(f"{offer.title}: the language server does not say what it changes")
        return await self._run(call, offer, offer.command)

    async def _resolve(self, call: Call, offer: Offer) -> Offer:
        """Return the action with its edit, which some servers send only on request."""
        if "edit" in offer.action or isinstance(offer.action.get("command"), str):
            return offer
        if "data" not in offer.action and offer.command is not None:
            return offer
        loaded = await self._documents.loaded()
        method, client = "codeAction/resolve", offer.answer.client
        try:
            resolved = await self._servers.resolve(
                client, offer.path, method, dict(offer.action), call.session
            )
        except ToolError:
            if offer.command is None:
                raise
            return offer
        action = resolved if isinstance(resolved, Mapping) else offer.action
        return msgspec.structs.replace(offer, action=action, loaded=loaded)

    async def _run(self, call: Call, offer: Offer, command: Mapping[str, Any]) -> ToolResult:
        """Have the server run a command after the user agrees, then apply its edits."""

        async def work() -> Sequence[FileChange]:
            async with self._command:
                before = await self._documents.loaded()
                edits = await self._documents.run(
                    call.session, offer.answer.client, offer.path, _command_params(command)
                )
            if not edits:
                return []
            if len(edits) > 1:
                problem = f"{offer.title}: the command gave {len(edits)} edits instead of one"
                raise ToolError(problem)
            edit = ServerEdit(offer.answer.client, offer.answer.encoding, edits[0])
            changes = await self._edits.compute_changes(edit, before)
            if changes is None:
                raise ToolError(CHANGED)
            return changes

        server, name = offer.answer.name, str(command.get("command"))
        details = {"server": server, "arguments": command.get("arguments") or []}
        runs = Run([f"lsp:{server}:{name}"], details)
        return await self._changes.ask_and_run(call, offer.title, offer.path, runs, work)


def _command_params(command: Mapping[str, Any]) -> dict[str, Any]:
    return {key: command[key] for key in ("command", "arguments") if key in command}


def _enabled_actions(result: Any, only: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield the enabled actions of an answer that have the wanted kind."""
    for action in result if isinstance(result, list) else ():
        if not isinstance(action, Mapping) or action.get("disabled"):
            continue
        kind = action.get("kind")
        if only is None or kind == only or str(kind).startswith(f"{only}."):
            yield action


def _list_offers(path: str, offers: Sequence[tuple[str, Offer]], limit: int) -> ToolResult:
    actions = [
        {
            "id": id,
            "title": offer.title,
            "kind": str(offer.action.get("kind") or ""),
            "server": offer.answer.name,
        }
        for id, offer in offers[:limit]
    ]
    lines = [
        " ".join(filter(None, (action["id"], action["kind"], action["title"])))
        for action in actions
    ]
    more = len(offers) - len(actions)
    text = "\n".join([*lines, *more_line(more)]) or "no code actions there"
    count = count_with_noun(len(offers), "action")
    return ToolResult(text, {"actions": actions, "more": more}, summary=count, path=path)


def _without_command(offer: Offer, result: ToolResult) -> ToolResult:
    """Return the result, with a note if the action has a command, which was not run."""
    if offer.command is None:
        return result
    name = offer.command.get("command")
    text = f"{result.text}\nits command {name} was not run"
    return msgspec.structs.replace(result, text=text)


def action_tools(actions: CodeActions) -> list[Tool[Any]]:
    return [
        Tool(
            name="nvim_code_actions",
            title="Code actions",
            description=LIST_DESCRIPTION,
            arguments=ActionsArguments,
            run=actions.list,
        ),
        Tool(
            name="nvim_apply_code_action",
            title="Code action",
            description=APPLY_DESCRIPTION,
            arguments=ApplyArguments,
            run=actions.apply,
            writes=True,
            timeout_s=None,
        ),
    ]
