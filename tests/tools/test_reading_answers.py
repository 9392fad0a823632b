"""Results of the reading tools, over a fake editor and fake language servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.files.ports import FileOptions
from acp_nvim.session.session import Session
from acp_nvim.tools.asking.diagnostics import DiagnosticsArguments, DiagnosticsTool
from acp_nvim.tools.asking.navigation import Navigation
from acp_nvim.tools.asking.symbols import SymbolsArguments, SymbolTools
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Answer, Diagnostic, Diagnostics
from acp_nvim.tools.server.fields import PositionArguments
from acp_nvim.tools.server.tool import Call, ToolError
from tests.support.agent_files import FakeBuffers
from tests.support.file_requests import Recorder, Requests


class Editor:
    """An editor with these diagnostics."""

    def __init__(self, diagnostic: Diagnostics) -> None:
        self.said = diagnostic

    async def diagnostics(self, *_: Any, **__: Any) -> Diagnostics:
        return self.said


class Servers:
    """Language servers that always give this answer."""

    def __init__(self, *results: Any) -> None:
        self.results = results
        self.asked: list[tuple[Any, ...]] = []

    async def ask(self, session: Session, *args: Any, **more: Any) -> Sequence[Answer]:
        self.asked.append((*args, more))
        return [Answer(1, "a", "utf-16", result) for result in self.results]

    async def resolve(self, *_: Any) -> Any:
        return None


class Project:
    """A session in a directory with its tools."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.call = Call(Session(1, "agent", str(self.root)))
        buffers: Any = FakeBuffers()
        options = FileOptions(outside="deny")
        requests = Requests(buffers, options, None, lambda *_: None, Recorder())
        self.files = ToolFiles(requests.files, buffers, lambda: options)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "a.py").write_text("def one\n  one()\n")
    return Project(tmp_path)


def diagnostic(project: Project, name: str, line: int, severity: str, message: str) -> Diagnostic:
    return Diagnostic(str(project.root / name), severity, message, line, 3, line, "py", "E1")


async def diagnose(project: Project, found: Diagnostics, **args: Any) -> Any:
    editor: Any = Editor(found)
    return await DiagnosticsTool(editor, project.files).diagnostics(
        project.call, DiagnosticsArguments(**args)
    )


async def test_diagnostics_are_lines_and_data(project: Project) -> None:
    items = [
        diagnostic(project, "a.py", 2, "error", "not\n  good"),
        diagnostic(project, "b.py", 1, "hint", "x"),
    ]
    counts = {"error": 1, "hint": 3}
    answer = await diagnose(project, Diagnostics(items, ["slow"], True, counts))
    assert answer.text.split("\n") == [
        "a.py:2:3 error: not\\n  good [py E1]",
        "b.py:1:3 hint: x [py E1]",
        "… 2 more",
        "(slow has not reported on the last change yet, so some may be out of date)",
    ]
    assert answer.structured["more"] == 2
    assert answer.structured["diagnostics"][0]["path"] == "a.py"
    assert answer.summary == "1 error, 3 hints"


async def test_changes_of_the_turn_are_listed(project: Project) -> None:
    new, old = (
        diagnostic(project, "a.py", 2, "error", "new"),
        diagnostic(project, "a.py", 1, "error", "old"),
    )
    found = Diagnostics([new], [], True, {}, [old], 3, 1, [new.path])
    answer = await diagnose(project, found, since="turn")
    assert answer.text.split("\n") == [
        "+ a.py:2:3 error: new [py E1]",
        "… 2 more",
        "- a.py error: old [py E1]",
        "(files not open when the turn began, so all their diagnostics are listed: a.py)",
    ]
    assert answer.summary == "3 added, 1 removed"


async def test_no_diagnostics_are_reported_as_such(project: Project) -> None:
    answer = await diagnose(project, Diagnostics([], [], True))
    assert (answer.text, answer.summary) == ("no known problems", "no problems")
    with pytest.raises(
        ToolError, match="no language server is running here: give the path of a file"
    ):
        await diagnose(project, Diagnostics([], [], False))


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ({"kind": "markdown", "value": "**one**"}, "**one**"),
        ("plain", "plain"),
        ({"language": "py", "value": "def one"}, "```py\ndef one\n```"),
        (["a", {"language": "py", "value": "b"}], "a\n\n```py\nb\n```"),
        ("", "nothing is known about a.py:1:5"),
    ],
)
async def test_a_hover_of_any_kind(project: Project, contents: Any, text: str) -> None:
    servers: Any = Servers({"contents": contents}, {"contents": contents}, None)
    at = PositionArguments(path="a.py", line=1, symbol="one")
    assert (await Navigation(servers, project.files).hover(project.call, at)).text == text


async def test_both_kinds_of_symbols(project: Project) -> None:
    span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 7}}
    uri = (project.root / "a.py").as_uri()
    flat = {
        "name": "one",
        "kind": 12,
        "location": {"uri": uri, "range": span},
        "containerName": "m",
    }
    tree = {"name": "one", "kind": 12, "range": span, "children": [{**flat, "name": "two"}]}
    servers: Any = Servers()
    for result, lines in [
        ([flat], ["a.py:1:5 function one of m: def one"]),
        ([tree], ["a.py:1:5 function one: def one", "a.py:1:5 function two of m: def one"]),
        (None, ["a.py has no such symbols"]),
    ]:
        servers = Servers(result)
        answer = await SymbolTools(servers, project.files).symbols(
            project.call, SymbolsArguments(path="a.py")
        )
        assert answer.text.split("\n") == lines
    with pytest.raises(ToolError, match="give `path`"):
        await SymbolTools(servers, project.files).symbols(project.call, SymbolsArguments())
