"""Questions about changes by the editor's own tools: who answers them, and what the chat shows."""

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
from acp_nvim.tools.changing.change_ports import Proposed, Run

OLD, NEW = parse("one\ntwo\n"), parse("one\n2\n")


def change(path: str, before: Text | None = OLD, after: Text | None = NEW, **more: Any) -> Any:
    return FileChange(path, before, after, **more)


class Asked:
    """A session at work, its tool, and how the calls end."""

    def __init__(self, *rules: dict[str, Any]) -> None:
        self.settings: Settings = decode({"permission": {"rules": list(rules)}})
        assert isinstance(self.settings.permission, PermissionSettings)
        self.session = Session(1, "agent", "/work")
        self.session.id, self.session.status = "s1", "running"
        self.permissions = ToolPermissions(lambda: self.settings)

    async def make(self, *changes: FileChange, fails: str = "", **more: Any) -> str:
        """Ask for changes and make them: `made`, or why not."""
        made = () if "runs" in more else changes or [change("/work/a")]
        proposed = Proposed("Do it", made, **more)
        async with self.permissions.ask(self.session, proposed) as refused:
            if fails:
                raise ValueError(fails)
            return refused or "made"

    async def begun(self, *changes: FileChange, **more: Any) -> asyncio.Task[str]:
        """The same, with the question open."""
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


async def test_the_user_allows_and_the_call_is_done() -> None:
    asked = Asked()
    task = await asked.begun()
    assert (asked.call.status, asked.call.kind) == ("pending", "edit")
    assert [it.name for it in asked.decision.options] == [
        "Allow once",
        "Allow such edits for the session",
        "Refuse",
    ]
    asked.answer("allow_once")
    assert await task == "made"
    assert asked.call.status == "completed"
    assert [at.line for at in asked.call.locations] == [2]


async def test_the_user_refuses() -> None:
    asked = Asked()
    task = await asked.begun()
    asked.answer("reject_once")
    assert await task == "the user refused"
    assert asked.call.status == "failed"


async def test_a_change_that_fails_is_shown_with_its_reason() -> None:
    asked = Asked()
    task = await asked.begun(fails="disk full")
    asked.answer("allow_once")
    with pytest.raises(ValueError, match="disk full"):
        await task
    assert asked.call.status == "failed"
    assert asked.call.content[-1].content.text == "disk full"


async def test_the_rest_of_the_session_is_allowed_but_guarded_files_are_not() -> None:
    asked = Asked()
    task = await asked.begun()
    asked.answer("allow_always")
    assert await task == "made"
    assert await asked.make(change("/work/b")) == "made"
    task = await asked.begun(change("/work/.env"), guarded={"/work/.env": "secret"})
    asked.decision.resolve(CANCELLED, "cancel")
    assert await task == "the user cancelled"


@pytest.mark.parametrize(
    ("action", "said"), [("allow", "made"), ("deny", "a rule of the user refuses")]
)
async def test_rules_answer(action: str, said: str) -> None:
    asked = Asked({"action": action, "kind": "edit"})
    assert await asked.make() == said
    assert len(asked.session.decisions) == 0


async def test_a_rule_that_allows_edits_allows_no_guarded_file_and_no_deletion() -> None:
    asked = Asked({"action": "allow", "kind": "edit"})
    task = await asked.begun(guarded={"/work/a": "outside"})
    asked.answer("reject_once")
    await task
    task = await asked.begun(change("/work/a", OLD, None))
    asked.answer("reject_once")
    await task


async def test_a_rule_that_denies_deletions_denies_all_of_it() -> None:
    asked = Asked({"action": "deny", "kind": "delete"}, {"action": "allow", "kind": "edit"})
    gone = change("/work/b", OLD, None)
    assert await asked.make(change("/work/a"), gone) == "a rule of the user refuses"


async def test_a_rule_of_one_path_does_not_answer_for_others() -> None:
    asked = Asked({"action": "allow", "kind": "edit", "path": "a"})
    assert await asked.make() == "made"
    task = await asked.begun(change("/work/a"), change("/work/b"))
    asked.answer("reject_once")
    assert await task == "the user refused"


FIX = Run(["lsp:gopls:gopls.run_tests"], {"server": "gopls", "arguments": [{"Tests": ["TestA"]}]})


def rule(action: str, **conditions: Any) -> dict[str, Any]:
    return {"action": action, **conditions}


@pytest.mark.parametrize(
    ("rules", "said"),
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
    rules: list[dict[str, Any]], said: str
) -> None:
    asked = Asked(*rules)
    if said == "asked":
        task = await asked.begun(path="/work/a", runs=FIX)
        asked.answer("allow_once")
        assert await task == "made"
    else:
        assert await asked.make(path="/work/a", runs=FIX) == said
    assert asked.call.kind == "execute"


async def test_a_grant_for_edits_is_none_for_commands() -> None:
    asked = Asked()
    task = await asked.begun()
    asked.answer("allow_always")
    assert await task == "made"
    task = await asked.begun(path="/work/a", runs=FIX)
    assert [it.kind for it in asked.decision.options] == ["allow_once", "reject_once"]
    told = "\n".join(str(row[0]) for row in card(asked.decision, asked.entry, "/work"))
    assert "lsp:gopls:gopls.run_tests" in told
    assert 'server: "gopls"' in told
    assert "TestA" in told
    asked.answer("reject_once")
    assert await task == "the user refused"


async def test_commands_in_its_arguments_are_judged_as_well() -> None:
    asked = Asked(rule("deny", command="rm"), rule("allow", command="lsp:*"))
    runs = Run(["lsp:x:run"], {"server": "x", "arguments": [{"command": "rm -rf /"}]})
    assert await asked.make(path="/work/a", runs=runs) == "a rule of the user refuses"


async def test_a_rule_forbids_edits_of_a_command() -> None:
    asked = Asked(rule("deny", kind="edit", path="*.lock"), rule("allow", kind="execute"))
    forbidden = asked.permissions.forbidden
    assert forbidden(asked.session, [change("/work/a.lock")]) == "a rule of the user refuses"
    assert forbidden(asked.session, [change("/work/a")]) == ""


async def test_a_tool_that_executes_is_judged_by_its_name() -> None:
    asked = Asked(rule("allow", kind="other"))

    async def called(executes: bool) -> str:
        asking = asked.permissions.ask_to_call
        async with asking(asked.session, "nvim_tests_run", {}, executes=executes) as refused:
            return refused or "made"

    assert await called(False) == "made"
    task = asyncio.create_task(called(True))
    while not len(asked.session.decisions):
        await anyio.lowlevel.checkpoint()
    assert asked.call.kind == "execute"
    asked.answer("reject_once")
    assert await task == "the user refused"
    asked.settings = decode({"permission": {"rules": [rule("allow", command="nvim_tests_*")]}})
    assert await called(True) == "made"


async def test_nothing_is_asked_while_the_turn_is_cancelled() -> None:
    asked = Asked()
    asked.session.status = "cancelling"
    assert await asked.make() == "the user cancelled"


async def test_a_call_that_is_cancelled_takes_its_question_with_it() -> None:
    asked = Asked()
    task = await asked.begun()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asked.session.decisions) == 0
    assert asked.call.status == "cancelled"


async def test_what_the_card_says() -> None:
    asked = Asked()
    task = await asked.begun(
        change("/work/a"),
        change("/work/n", None, NEW),
        change("/work/gone", OLD, None),
        change("/work/new", OLD, NEW, origin="/work/old"),
    )
    found = title(asked.decision, asked.call, "/work")
    said = "".join(text for text, _ in found.parts)
    assert said == "Agent wants to edit 4 files (+4 -2)"
    assert found.own == "Do it"
    assert [it.whole for it in changes_of(asked.call)] == [True, True]
    asked.answer("reject_once")
    await task


async def test_a_change_that_is_not_known_yet_names_its_file() -> None:
    asked = Asked({"action": "deny", "path": "a"})
    proposed = Proposed("Run it", path="/work/a")
    async with asked.permissions.ask(asked.session, proposed) as refused:
        assert refused == "a rule of the user refuses"


# -- calls of the user's tools --------------------------------------------------------------------


async def called(asked: Asked, name: str = "deploy", **arguments: Any) -> str:
    """Call a tool of the user: `called`, or why not."""
    async with asked.permissions.ask_to_call(asked.session, name, arguments) as refused:
        return refused or "called"


async def begun_call(asked: Asked, name: str = "deploy", **arguments: Any) -> asyncio.Task[str]:
    """The same, with the question open."""
    task = asyncio.create_task(called(asked, name, **arguments))
    while not len(asked.session.decisions):
        await anyio.lowlevel.checkpoint()
    return task


async def test_a_call_of_the_users_tool_is_asked_about_by_its_name() -> None:
    asked = Asked()
    task = await begun_call(asked, to="shop")
    assert (asked.call.kind, asked.call.raw_input) == ("other", {"to": "shop"})
    found = title(asked.decision, asked.call, "/work")
    assert "".join(text for text, _ in found.parts) == "Agent wants to call deploy"
    asked.answer("reject_once")
    assert await task == "the user refused"


async def test_what_is_allowed_for_the_session_is_this_tool() -> None:
    asked = Asked()
    task = await begun_call(asked)
    asked.answer("allow_always")
    assert await task == "called"
    assert await called(asked) == "called"
    for other in (await begun_call(asked, "other"), await asked.begun()):
        asked.answer("reject_once")
        assert await other == "the user refused"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"action": "allow", "kind": "other"}, "called"),
        ({"action": "deny", "kind": "other"}, "a rule of the user refuses"),
        ({"action": "deny", "path": "keys/**"}, "a rule of the user refuses"),
    ],
)
async def test_rules_answer_calls(rule: dict[str, Any], said: str) -> None:
    path = "keys/a" if "path" in rule else "b"
    assert await called(Asked(rule), path=path) == said


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
    task = await begun_call(asked := Asked(rule), **arguments)
    asked.answer("reject_once")
    assert await task == "the user refused"


async def test_the_title_is_that_of_a_call_whatever_its_arguments_are() -> None:
    task = await begun_call(asked := Asked(), command="ls", path="a", new_string="b")
    found = title(asked.decision, asked.call, "/work")
    assert "".join(text for text, _ in found.parts) == "Agent wants to call deploy"
    asked.answer("reject_once")
    await task
