"""Effects and answers of the writing tools, with a scripted server and user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from acp_nvim.tools.changing.change_ports import FormattedText, Formatters, Run
from acp_nvim.tools.changing.edit_tool import nearest
from tests.support.writing_tools import WritingTools, writing_tools

OLD = "".join(f"line {n}\n" for n in range(1, 9))


def replace(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"old": old, "new": new, **more}


def edit(row: int, first: int, last: int, new: str) -> dict[str, Any]:
    """Return a TextEdit of one line."""
    start, end = ({"line": row, "character": column} for column in (first, last))
    return {"range": {"start": start, "end": end}, "newText": new}


# -- nvim_edit ------------------------------------------------------------------------------------


async def test_an_edit_changes_the_live_text(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        tools.open("a", OLD.replace("line 7", "unsaved"))
        edits = [replace("unsaved\n", "agent\n"), replace("line 1\n", "one\nand more\n")]
        said = await tools.result("nvim_edit", path="a", edits=edits)
        assert said.text == "edited a: +3 -2, pending review"
        files = [{"path": "a", "kind": "edited", "added": 3, "removed": 2}]
        assert said.structured == {"files": files}
        assert said.summary == "a +3 -2"
        assert tools.text("a") == OLD.replace("line 7", "agent").replace("line 1", "one\nand more")
        assert tools.disk("a") == OLD, "the user's unsaved text is theirs to save"
        assert [it.title for it in tools.user.proposed] == ["Edit a"]
        assert tools.workspace.pending() == {"a": "modified"}


async def test_a_new_file_is_created(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        said = await tools.call("nvim_edit", path="d/n", edits=[replace("", "n\n")])
        assert said == "created d/n: +1 -0, pending review"
        assert tools.disk("d/n") == "n\n"
        again = await tools.call("nvim_edit", path="d/n", edits=[replace("", "x\n")])
        assert again == "error: d/n: `old` is empty, but the file is not"
        tools.write("empty", "")
        assert "edited empty" in await tools.call(
            "nvim_edit", path="empty", edits=[replace("", "x\n")]
        )


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        ([replace("lime 3", "x")], "a: `old` is not in the file; the nearest is line 3: line 3"),
        ([replace("line", "x")], "a: `old` occurs in 8 places (lines 1, 2, 3, 4, 5): add more"),
        ([replace("line 1", "x"), replace("line 1", "y")], "a: `old` is not in the file"),
    ],
)
async def test_an_edit_that_does_not_fit_fails_without_a_question(
    tmp_path: Path, edits: list[dict[str, Any]], why: str
) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        assert (await tools.call("nvim_edit", path="a", edits=edits)).startswith(f"error: {why}")
        assert (tools.disk("a"), tools.user.proposed) == (OLD, [])


async def test_all_places_are_replaced_on_request(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        edits = [replace("line", "row", all=True)]
        assert await tools.call("nvim_edit", path="a", edits=edits) == (
            "edited a: +8 -8, pending review"
        )


async def test_a_file_is_named_by_an_address_or_below_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a b", OLD)
        file = Path(tools.path("a b"))
        monkeypatch.setenv("HOME", str(file.parent))
        for path, line in ((file.as_uri(), "line 1"), ("~/a b", "line 2")):
            said = await tools.call("nvim_edit", path=path, edits=[replace(line, "x")])
            assert said == "edited a b: +1 -1, pending review"


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        said = await tools.call("nvim_edit", path="n", edits=[replace("x", "y")])
        assert said == "error: n: no such file"


async def test_a_file_outside_is_refused(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        (tmp_path / "outside").write_text(OLD)
        edits = [replace("line 1", "x")]
        said = await tools.call("nvim_edit", path="../outside", edits=edits)
        assert "outside of the session's directories" in said


async def test_a_user_who_refuses_has_their_file_unchanged(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        tools.user.refusal = "the user refused"
        said = await tools.call("nvim_edit", path="a", edits=[replace("line 1", "x")])
        assert (said, tools.disk("a")) == ("error: the user refused", OLD)


async def test_an_edit_without_a_change_does_not_ask(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        said = await tools.call("nvim_edit", path="a", edits=[replace("line 1", "line 1")])
        assert (said, tools.user.proposed) == ("nothing to change", [])


async def test_carriage_returns_of_line_ends_are_hidden(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "a\r\nb\r\n")
        await tools.call("nvim_edit", path="a", edits=[replace("a\r\nb", "x\r\ny")])
        assert tools.workspace.pending() == {"a": "modified"}


def test_the_nearest_line_is_found() -> None:
    assert nearest("a\nretries = 1\nb\n", "\n  retries = 2\n") == (
        "the nearest is line 2: retries = 1"
    )
    assert nearest("", "x") == "no line is similar"


# -- nvim_rename ----------------------------------------------------------------------------------


def renaming(tools: WritingTools, new: str) -> None:
    """Let a server rename `f`, which is in two files."""
    tools.servers.answers = {
        "textDocument/prepareRename": {"defaultBehavior": True},
        "textDocument/rename": {
            "changes": {
                tools.uri("a"): [edit(0, 4, 5, new)],
                tools.uri("b"): [edit(1, 2, 3, new), edit(1, 5, 6, new)],
            }
        },
    }


async def test_a_rename_changes_all_files(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.write("b", "\n  f, f\n")
        tools.open("b", "\n𝒜 f, f\n")
        tools.servers.answers["textDocument/prepareRename"] = {"defaultBehavior": True}
        renaming(tools, "g")
        changes = tools.servers.answers["textDocument/rename"]["changes"]
        changes[tools.uri("b")] = [edit(1, 3, 4, "g"), edit(1, 6, 7, "g")]
        asked = {"path": "a", "line": 1, "symbol": "f", "new_name": "g"}
        said = await tools.call("nvim_rename", **asked)
        assert said == "edited a: +1 -1, pending review\nedited b: +1 -1, pending review"
        assert (tools.text("a"), tools.text("b")) == ("def g\n", "\n𝒜 g, g\n")
        assert [it.title for it in tools.user.proposed] == ["Rename f to g"]


async def test_a_dry_run_lists_the_lines(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.write("b", "\n  f, f\n")
        renaming(tools, "g")
        asked = {"path": "a", "line": 1, "symbol": "f", "new_name": "g", "dry_run": True}
        said = await tools.result("nvim_rename", **asked)
        assert said.text == (
            "2 lines in 2 files would change; nothing has been changed\na:1:5 def f\nb:2:3 f, f"
        )
        assert said.structured is not None
        place = {"path": "a", "line": 1, "column": 5, "text": "def f", "new": "def g"}
        assert said.structured["places"][0] == place
        first = await tools.result("nvim_rename", **asked, limit=1)
        assert first.text.endswith("\na:1:5 def f\n… 1 more")
        assert first.structured == {"places": [place], "more": 1}
        renaming(tools, "f_2")  # the column of a symbol, not of the first new character
        renamed = await tools.result("nvim_rename", **{**asked, "new_name": "f_2"})
        assert renamed.text.endswith("\na:1:5 def f\nb:2:3 f, f")
        assert (tools.disk("a"), tools.user.proposed) == ("def f\n", [])


async def test_a_dry_run_shows_no_lines_of_secrets(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.workspace.options = msgspec.structs.replace(tools.workspace.options, secret=["b"])
        tools.write("a", "def f\n")
        tools.write("b", "\n  f, f\n")
        renaming(tools, "g")
        asked = {"path": "a", "line": 1, "symbol": "f", "new_name": "g", "dry_run": True}
        said = await tools.result("nvim_rename", **asked)
        assert said.text.split("\n")[1:] == ["a:1:5 def f", "b:2:1"]
        assert "f, f" not in str(said.structured)


@pytest.mark.parametrize(
    ("line", "symbol", "why"),
    [
        (1, "g", "'g' is not on that line: a:1 is 'def f'"),
        (3, "f", "a has 2 lines; there is no line 3"),
        (2, "x", "there is nothing to rename at a"),
    ],
)
async def test_a_wrong_place_is_named(tmp_path: Path, line: int, symbol: str, why: str) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\nx\n")
        tools.servers.answers = {"textDocument/prepareRename": None}
        asked = {"path": "a", "line": line, "symbol": symbol, "new_name": "h"}
        assert await tools.call("nvim_rename", **asked) == f"error: {why}"


async def test_a_whole_word_is_preferred_to_a_part(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "fff f\n")
        tools.servers.answers = {"textDocument/rename": None}
        await tools.call("nvim_rename", path="a", line=1, symbol="f", new_name="g")
        assert tools.servers.asked[-1][1].column == 4


async def test_a_rename_is_requested_again_while_the_user_types(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.open("a")

        def answer(_: Any) -> Any:
            first = tools.text("a") == "def f\n"
            found = edit(0, 4, 5, "g") if first else edit(1, 4, 5, "g")
            if first:
                tools.type("a", "mine\ndef f\n")
            return {"changes": {tools.uri("a"): [found]}}

        tools.servers.answers = {"textDocument/rename": answer}
        asked = {"path": "a", "symbol": "f", "new_name": "g"}
        said = await tools.call("nvim_rename", **asked, line=1)
        assert said == "error: 'f' is not on that line: a:1 is 'mine' ('f' is on line 2)"
        assert tools.text("a") == "mine\ndef f\n"
        assert "edited a" in await tools.call("nvim_rename", **asked, line=2)


async def test_a_document_of_another_version_is_refused(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.open("a")
        document = {"uri": tools.uri("a"), "version": 99}
        change = {"textDocument": document, "edits": [edit(0, 4, 5, "g")]}
        tools.servers.answers = {"textDocument/rename": {"documentChanges": [change]}}
        said = await tools.call("nvim_rename", path="a", line=1, symbol="f", new_name="g")
        assert said == "error: a has changed since the server read it; try again"


async def test_a_buffer_that_the_server_does_not_see_is_merged(tmp_path: Path) -> None:
    """The server computes on the file. The unsaved text of the buffer stays."""
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.write("b", "one\n  f, f\nthree\nfour\n")
        tools.open("b", "zero\none\n  f, f\nthree\nfour\n")
        tools.documents.strange.add(tools.path("b"))
        renaming(tools, "g")
        await tools.call("nvim_rename", path="a", line=1, symbol="f", new_name="g")
        assert tools.text("b") == "zero\none\n  g, g\nthree\nfour\n"


async def test_text_typed_during_the_question_stays(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.write("b", "one\n  f, f\nthree\nfour\n")
        tools.open("b")
        renaming(tools, "g")
        mine = "mine\none\n  f, f\nthree\nfour\n"
        tools.user.meanwhile = lambda: tools.type("b", mine)
        await tools.call("nvim_rename", path="a", line=1, symbol="f", new_name="g")
        assert tools.text("b") == mine.replace("f, f", "g, g")
        tools.type("b", "other\n")


async def test_a_conflict_with_the_user_changes_nothing(
    tmp_path: Path,
) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        tools.write("b", "one\n  f, f\nthree\n")
        tools.open("b")
        renaming(tools, "g")
        tools.user.meanwhile = lambda: tools.type("b", "one\n  mine\nthree\n")
        said = await tools.call("nvim_rename", path="a", line=1, symbol="f", new_name="g")
        assert said.startswith("error: b: line 2 was changed by the user and by the agent")
        assert (tools.disk("a"), tools.text("b")) == ("def f\n", "one\n  mine\nthree\n")


async def test_a_rename_may_move_the_file(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("f", "def f\n")
        steps = [
            {
                "textDocument": {"uri": tools.uri("f"), "version": None},
                "edits": [edit(0, 4, 5, "g")],
            },
            {"kind": "rename", "oldUri": tools.uri("f"), "newUri": tools.uri("g")},
        ]
        tools.servers.answers = {"textDocument/rename": {"documentChanges": steps}}
        said = await tools.call("nvim_rename", path="f", line=1, symbol="f", new_name="g")
        assert said == "moved g from f: +1 -1, pending review"
        assert (tools.disk("g"), tools.names()) == ("def g\n", ["g"])


async def test_a_rename_that_reaches_outside_changes_nothing(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "def f\n")
        (tmp_path / "b").write_text("\n  f, f\n")
        renaming(tools, "g")
        changes = tools.servers.answers["textDocument/rename"]["changes"]
        changes[f"file://{tmp_path}/b"] = changes.pop(tools.uri("b"))
        said = await tools.call("nvim_rename", path="a", line=1, symbol="f", new_name="g")
        assert said.endswith("/b: outside of the session's directories")
        assert (tools.disk("a"), tools.user.proposed) == ("def f\n", [])


# -- code actions ---------------------------------------------------------------------------------


def action(tools: WritingTools, **more: Any) -> dict[str, Any]:
    """Return a code action that removes the last character of the first line."""
    change = {"changes": {tools.uri("a"): [edit(0, 5, 6, "")]}}
    return {"title": "Trim", "kind": "quickfix", "edit": change} | more


async def test_code_actions_are_listed_and_applied(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        wrong = [action(tools, kind="refactor"), action(tools, disabled={"reason": "no"})]
        tools.servers.answers = {"textDocument/codeAction": [action(tools), *wrong]}
        said = await tools.result("nvim_code_actions", path="a", line=1, only="quickfix")
        assert said.text == "a1 quickfix Trim"
        offered = {"id": "a1", "title": "Trim", "kind": "quickfix", "server": "fake"}
        assert said.structured == {"actions": [offered], "more": 0}
        assert await tools.call("nvim_apply_code_action", id="a1") == (
            "edited a: +1 -1, pending review"
        )
        assert tools.disk("a") == OLD.replace("line 1", "line ")
        assert [it.title for it in tools.user.proposed] == ["Trim"]
        first = await tools.result("nvim_code_actions", path="a", line=1, limit=1)
        assert first.text == "a2 quickfix Trim\n… 1 more"
        assert first.structured is not None
        assert (len(first.structured["actions"]), first.structured["more"]) == (1, 1)


async def test_a_resolved_action_has_its_edit(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        bare = {"title": "Trim", "data": 1}
        tools.servers.answers = {
            "textDocument/codeAction": [bare],
            "codeAction/resolve": lambda params: action(tools, **params),
        }
        assert await tools.call("nvim_code_actions", path="a", line=1) == "a1 Trim"
        assert "edited a" in await tools.call("nvim_apply_code_action", id="a1")


async def test_an_id_belongs_to_one_session_and_one_text(tmp_path: Path) -> None:
    async with writing_tools(tmp_path, agents=2) as tools:
        tools.write("a", OLD)
        tools.open("a")
        tools.servers.answers = {"textDocument/codeAction": [action(tools)]}
        await tools.call("nvim_code_actions", path="a", line=1)
        said = await tools.call("nvim_apply_code_action", 1, id="a1")
        assert said == "error: there is no code action a1; nvim_code_actions lists them"
        tools.type("a", "mine\n" + OLD)
        said = await tools.call("nvim_apply_code_action", id="a1")
        assert said.startswith("error: the file has changed since")


async def test_a_command_is_run_once_the_user_agrees(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        command = {"title": "Fix", "command": "fake.fix", "arguments": [1]}
        tools.servers.answers = {"textDocument/codeAction": [command]}
        ran: list[Any] = []

        def run(found: Any) -> list[Any]:
            ran.append(found)
            return [action(tools)["edit"]]

        tools.documents.command = run
        await tools.call("nvim_code_actions", path="a", line=1)
        tools.user.refusal = "the user refused"
        assert await tools.call("nvim_apply_code_action", id="a1") == "error: the user refused"
        assert ran == []
        tools.user.refusal = ""
        assert "edited a" in await tools.call("nvim_apply_code_action", id="a1")
        assert ran == [{"command": "fake.fix", "arguments": [1]}]
        run_of = tools.user.proposed[-1].runs
        assert run_of == Run(["lsp:fake:fake.fix"], {"server": "fake", "arguments": [1]})


async def test_a_command_may_change_no_file(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        tools.servers.answers = {"textDocument/codeAction": [{"title": "Test", "command": "x"}]}
        await tools.call("nvim_code_actions", path="a", line=1)
        said = await tools.call("nvim_apply_code_action", id="a1")
        assert said == "done; no file was changed"


async def test_denied_edits_of_a_command_are_not_made(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        tools.servers.answers = {"textDocument/codeAction": [{"title": "Fix", "command": "x"}]}
        tools.documents.command = lambda _: [action(tools)["edit"]]
        tools.user.forbids = "a rule of the user refuses"
        await tools.call("nvim_code_actions", path="a", line=1)
        said = await tools.call("nvim_apply_code_action", id="a1")
        assert (said, tools.disk("a")) == ("error: a rule of the user refuses", OLD)


async def test_a_command_beside_an_edit_is_omitted_with_a_note(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", OLD)
        both = action(tools, command={"title": "x", "command": "fake.more"})
        tools.servers.answers = {"textDocument/codeAction": [both]}
        await tools.call("nvim_code_actions", path="a", line=1)
        said = await tools.call("nvim_apply_code_action", id="a1")
        assert said.endswith("\nits command fake.more was not run")


# -- nvim_format ----------------------------------------------------------------------------------


async def test_the_users_formatters_are_preferred_to_the_server(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "a \nb \n")
        tools.documents.formatters_of_user = Formatters({}, ["black", "isort"])
        tools.documents.formatted = FormattedText(["a", "b"])
        tools.user.refusal = "the user refused"
        assert await tools.call("nvim_format", path="a") == "error: the user refused"
        assert tools.documents.runs == 0, "no formatter runs before the answer"
        tools.user.refusal = ""
        assert await tools.call("nvim_format", path="a") == "edited a: +2 -2, pending review"
        assert (tools.disk("a"), tools.servers.asked) == ("a\nb\n", [])
        assert tools.user.proposed[-1].runs == Run(["conform:black", "conform:isort"])
        assert await tools.call("nvim_format", path="a") == "done; no file was changed"


async def test_formatters_without_ranges_change_only_the_given_lines(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "a \n-\nb \n-\nc \n")
        tools.documents.formatters_of_user = Formatters({}, ["black"])
        tools.documents.formatted = FormattedText(["a", "-", "b", "-", "c"])
        await tools.call("nvim_format", path="a", line=3)
        assert tools.disk("a") == "a \n-\nb\n-\nc \n"


async def test_the_server_formats_without_a_formatter(tmp_path: Path) -> None:
    async with writing_tools(tmp_path) as tools:
        tools.write("a", "a \nb \n")
        given: list[Any] = []

        def formatted(params: Any) -> Any:
            given.append(params)
            return [edit(0, 1, 2, "")]

        tools.servers.answers = {"textDocument/rangeFormatting": formatted}
        await tools.call("nvim_format", path="a", line=1, end_line=2)
        assert tools.disk("a") == "a\nb \n"
        assert given == [{"options": {"tabSize": 8, "insertSpaces": True}}]
        said = await tools.call("nvim_format", path="a")
        assert said == (
            "error: no formatter for this file: fake does not know textDocument/formatting"
        )
        assert [it.runs for it in tools.user.proposed] == [None]
        tools.documents.formatters_of_user = Formatters({}, option="equalprg:fmt -w 60")
        tools.documents.formatted = FormattedText(["a!", "b!"])
        assert await tools.call("nvim_format", path="a") == "edited a: +2 -2, pending review"
        assert tools.user.proposed[-1].runs == Run(["equalprg:fmt -w 60"])
