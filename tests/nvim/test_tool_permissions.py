"""Permissions for changes by the editor's own tools: their answers, and their lines in the chat."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio.lowlevel
import pytest

from acp_nvim.agent.settings import PermissionSettings, Settings, decode
from acp_nvim.edits.text import Text, parse
from acp_nvim.features.tools.tool_permissions import ToolPermissions
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.render.cards import card
from acp_nvim.render.question_title import title
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import CANCELLED, Decision, Outcome
from acp_nvim.session.questions.proposals import changes_of
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import ToolEntry
from acp_nvim.tools.changing.change_ports import ProposedChanges, Run

OLD, NEW = parse("one\ntwo\n"), parse("one\n2\n")


def change(path: str, before: Text | None = OLD, after: Text | None = NEW, **more: Any) -> Any:
    return FileChange(path, before, after, **more)


class ToolSession:
    """Session at work with a tool, and the outcome of its calls."""

    def __init__(self, *rules: dict[str, Any]) -> None:
        self.settings: Settings = decode({"permission": {"rules": list(rules)}})
        assert isinstance(self.settings.permission, PermissionSettings)
        self.session = Session(1, "agent", "/work")
        self.session.id, self.session.status = "s1", "running"
        self.permissions = ToolPermissions(lambda: self.settings)

    async def make(self, *changes: FileChange, fails: str = "", **more: Any) -> str:
        """Ask for changes and make them; return `made` or the reason of the refusal."""
        made = () if "runs" in more else changes or [change("/work/a")]
        proposed = ProposedChanges("Do it", made, **more)
        async with self.permissions.ask(self.session, proposed) as refused:
            if fails:
                raise ValueError(fails)
            return refused or "made"

    async def begin(self, *changes: FileChange, **more: Any) -> asyncio.Task[str]:
        """Do the same up to the open question."""
        task = asyncio.create_task(self.make(*changes, **more))
        while not len(self.session.decisions):
            await anyio.lowlevel.checkpoint()
        return task

    @property
    def decision(self) -> Decision:
        (found,) = self.session.decisions
        return found

    @property
    def call(self) -> ToolCall:
        return list(self.session.tool_calls)[-1]

    @property
    def entry(self) -> ToolEntry:
        return self.session.entries[self.call]

    def answer(self, kind: str) -> None:
        self.decision.resolve(Outcome("selected", self.decision.first(kind)))


async def test_an_allowed_call_is_completed() -> None:
    tool = ToolSession()
    task = await tool.begin()
    assert (tool.call.status, tool.call.kind) == ("pending", "edit")
    assert [it.name for it in tool.decision.options] == [
        "Allow once",
        "Allow such edits for the session",
        "Refuse",
    ]
    tool.answer("allow_once")
    assert await task == "made"
    assert tool.call.status == "completed"
    assert [at.line for at in tool.call.locations] == [2]


async def test_a_refused_call_fails() -> None:
    tool = ToolSession()
    task = await tool.begin()
    tool.answer("reject_once")
    assert await task == "the user refused"
    assert tool.call.status == "failed"
    task = await tool.begin()
    tool.answer("allow_once")
    tool.session.own_cancels += 1
    assert await task == "the user cancelled", "before the call begins"
    assert tool.call.status == "failed"


async def test_a_change_that_fails_is_shown_with_its_reason() -> None:
    tool = ToolSession()
    task = await tool.begin(fails="disk full")
    tool.answer("allow_once")
    with pytest.raises(ValueError, match="disk full"):
        await task
    assert tool.call.status == "failed"
    assert tool.call.content[-1].content.text == "disk full"


async def test_later_edits_of_the_session_are_allowed_but_not_guarded_files() -> None:
    tool = ToolSession()
    task = await tool.begin()
    tool.answer("allow_always")
    assert await task == "made"
    assert await tool.make(change("/work/b")) == "made"
    task = await tool.begin(change("/work/.env"), guarded={"/work/.env": "secret"})
    tool.decision.resolve(CANCELLED, "cancel")
    assert await task == "the user cancelled"


@pytest.mark.parametrize(
    ("action", "outcome"), [("allow", "made"), ("deny", "a rule of the user refuses")]
)
async def test_rules_answer_for_changes(action: str, outcome: str) -> None:
    tool = ToolSession({"action": action, "kind": "edit"})
    assert await tool.make() == outcome
    assert len(tool.session.decisions) == 0


async def test_a_rule_that_allows_edits_allows_no_guarded_file_and_no_deletion() -> None:
    tool = ToolSession({"action": "allow", "kind": "edit"})
    task = await tool.begin(guarded={"/work/a": "outside"})
    tool.answer("reject_once")
    await task
    task = await tool.begin(change("/work/a", OLD, None))
    tool.answer("reject_once")
    await task


async def test_a_rule_that_denies_deletions_denies_the_whole_change() -> None:
    tool = ToolSession({"action": "deny", "kind": "delete"}, {"action": "allow", "kind": "edit"})
    deletion = change("/work/b", OLD, None)
    assert await tool.make(change("/work/a"), deletion) == "a rule of the user refuses"


async def test_a_rule_of_one_path_does_not_answer_for_others() -> None:
    tool = ToolSession({"action": "allow", "kind": "edit", "path": "a"})
    assert await tool.make() == "made"
    task = await tool.begin(change("/work/a"), change("/work/b"))
    tool.answer("reject_once")
    assert await task == "the user refused"


FIX = Run(["lsp:gopls:gopls.run_tests"], {"server": "gopls", "arguments": [{"Tests": ["TestA"]}]})


def rule(action: str, **conditions: Any) -> dict[str, Any]:
    return {"action": action, **conditions}


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [
        ([], "asked"),
        ([rule("allow", kind="edit")], "asked"),
        ([rule("allow", path="*")], "asked"),
        ([rule("allow", command="lsp:gopls:*")], "made"),
        ([rule("allow", command="lsp:gopls:gopls.run_tests")], "made"),
        ([rule("allow", command="lsp:gopls:gopls.tidy")], "asked"),
        ([rule("allow", command="gopls*")], "asked"),
        ([rule("deny", command="lsp:*"), rule("allow")], "a rule of the user refuses"),
        ([rule("ask", command="lsp:*"), rule("allow")], "asked"),
        ([rule("deny", kind="edit"), rule("allow", kind="execute")], "made"),
    ],
)
async def test_a_command_is_judged_by_rules_about_commands(
    rules: list[dict[str, Any]], outcome: str
) -> None:
    tool = ToolSession(*rules)
    if outcome == "asked":
        task = await tool.begin(path="/work/a", runs=FIX)
        tool.answer("allow_once")
        assert await task == "made"
    else:
        assert await tool.make(path="/work/a", runs=FIX) == outcome
    assert tool.call.kind == "execute"


async def test_a_grant_for_edits_is_none_for_commands() -> None:
    tool = ToolSession()
    task = await tool.begin()
    tool.answer("allow_always")
    assert await task == "made"
    task = await tool.begin(path="/work/a", runs=FIX)
    assert [it.kind for it in tool.decision.options] == ["allow_once", "reject_once"]
    text = "\n".join(str(row[0]) for row in card(tool.decision, tool.entry, "/work"))
    assert "lsp:gopls:gopls.run_tests" in text
    assert 'server: "gopls"' in text
    assert "TestA" in text
    tool.answer("reject_once")
    assert await task == "the user refused"


async def test_commands_in_arguments_are_judged_as_well() -> None:
    tool = ToolSession(rule("deny", command="rm"), rule("allow", command="lsp:*"))
    runs = Run(["lsp:x:run"], {"server": "x", "arguments": [{"command": "rm -rf /"}]})
    assert await tool.make(path="/work/a", runs=runs) == "a rule of the user refuses"


async def test_a_rule_can_deny_the_edits_of_a_command() -> None:
    tool = ToolSession(rule("deny", kind="edit", path="*.lock"), rule("allow", kind="execute"))
    forbidden = tool.permissions.forbidden
    assert forbidden(tool.session, [change("/work/a.lock")]) == "a rule of the user refuses"
    assert forbidden(tool.session, [change("/work/a")]) == ""


async def test_a_tool_that_executes_is_judged_by_its_name() -> None:
    tool = ToolSession(rule("allow", kind="other"))

    async def call_tool(executes: bool) -> str:
        asking = tool.permissions.ask_to_call
        async with asking(tool.session, "nvim_tests_run", {}, executes=executes) as refused:
            return refused or "made"

    assert await call_tool(False) == "made"
    task = asyncio.create_task(call_tool(True))
    while not len(tool.session.decisions):
        await anyio.lowlevel.checkpoint()
    assert tool.call.kind == "execute"
    tool.answer("reject_once")
    assert await task == "the user refused"
    tool.settings = decode({"permission": {"rules": [rule("allow", command="nvim_tests_*")]}})
    assert await call_tool(True) == "made"


async def test_no_question_is_asked_while_the_turn_is_cancelled() -> None:
    tool = ToolSession()
    tool.session.status = "cancelling"
    assert await tool.make() == "the user cancelled"


async def test_a_cancelled_call_withdraws_its_question() -> None:
    tool = ToolSession()
    task = await tool.begin()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(tool.session.decisions) == 0
    assert tool.call.status == "cancelled"


async def test_the_card_shows_reason_and_files() -> None:
    tool = ToolSession()
    task = await tool.begin(
        change("/work/a"),
        change("/work/n", None, NEW),
        change("/work/gone", OLD, None),
        change("/work/new", OLD, NEW, origin="/work/old"),
    )
    found = title(tool.decision, tool.call, "/work")
    outcome = "".join(text for text, _ in found.parts)
    assert outcome == "Agent wants to edit 4 files (+4 -2)"
    assert found.agent_title == "Do it"
    assert [it.is_whole for it in changes_of(tool.call)] == [True, True]
    tool.answer("reject_once")
    await task


async def test_a_change_that_is_not_known_yet_names_its_file() -> None:
    tool = ToolSession({"action": "deny", "path": "a"})
    proposed = ProposedChanges("Run it", path="/work/a")
    async with tool.permissions.ask(tool.session, proposed) as refused:
        assert refused == "a rule of the user refuses"


# -- calls of the user's tools --------------------------------------------------------------------


async def call_tool(tool: ToolSession, name: str = "deploy", **arguments: Any) -> str:
    """Call a tool of the user; return `called` or the reason of the refusal."""
    async with tool.permissions.ask_to_call(tool.session, name, arguments) as refused:
        return refused or "called"


async def begin_call(
    tool: ToolSession, name: str = "deploy", **arguments: Any
) -> asyncio.Task[str]:
    """Do the same up to the open question."""
    task = asyncio.create_task(call_tool(tool, name, **arguments))
    while not len(tool.session.decisions):
        await anyio.lowlevel.checkpoint()
    return task


async def test_the_question_about_a_users_tool_has_its_name() -> None:
    tool = ToolSession()
    task = await begin_call(tool, to="shop")
    assert (tool.call.kind, tool.call.raw_input) == ("other", {"to": "shop"})
    found = title(tool.decision, tool.call, "/work")
    assert "".join(text for text, _ in found.parts) == "Agent wants to call deploy"
    tool.answer("reject_once")
    assert await task == "the user refused"


async def test_an_answer_for_the_session_is_for_this_tool_only() -> None:
    tool = ToolSession()
    task = await begin_call(tool)
    tool.answer("allow_always")
    assert await task == "called"
    assert await call_tool(tool) == "called"
    for other in (await begin_call(tool, "other"), await tool.begin()):
        tool.answer("reject_once")
        assert await other == "the user refused"


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ({"action": "allow", "kind": "other"}, "called"),
        ({"action": "deny", "kind": "other"}, "a rule of the user refuses"),
        ({"action": "deny", "path": "keys/**"}, "a rule of the user refuses"),
    ],
)
async def test_rules_answer_for_calls(rule: dict[str, Any], outcome: str) -> None:
    path = "keys/a" if "path" in rule else "b"
    assert await call_tool(ToolSession(rule), path=path) == outcome


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ({"action": "allow", "path": "src/**"}, {"path": "src/a"}),
        ({"action": "allow", "command": "git *"}, {"command": "git status"}),
        ({"action": "allow", "kind": "edit"}, {"path": "src/a"}),
    ],
)
async def test_an_argument_that_an_agent_adds_allows_nothing(
    rule: dict[str, Any], arguments: dict[str, Any]
) -> None:
    task = await begin_call(tool := ToolSession(rule), **arguments)
    tool.answer("reject_once")
    assert await task == "the user refused"


async def test_the_title_is_that_of_a_call_whatever_its_arguments_are() -> None:
    task = await begin_call(tool := ToolSession(), command="ls", path="a", new_string="b")
    found = title(tool.decision, tool.call, "/work")
    assert "".join(text for text, _ in found.parts) == "Agent wants to call deploy"
    tool.answer("reject_once")
    await task
