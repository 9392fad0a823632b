"""docs/protocol-coverage.md is up to date, and every part of the protocol is covered or
explained.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.session import updates
from tests.project import coverage, covering_tests
from tests.support import exercised


def test_the_coverage_page_is_up_to_date() -> None:
    page = coverage.PAGE.read_text(encoding="utf-8")
    assert page == coverage.page(), "out of date; run python -m tests.project.coverage"


def test_every_gap_of_the_protocol_is_explained() -> None:
    assert coverage.gaps() == []


@pytest.mark.parametrize("name", ["meta.json", "meta.unstable.json"])
def test_every_method_of_the_protocol_has_a_row(name: str) -> None:
    meta = json.loads((coverage.SCHEMA / name).read_text(encoding="utf-8"))
    tables = coverage.tables()
    asked, served = (
        {row[0].strip("`") for row in tables[title]} for title in list(coverage.SECTIONS)[:2]
    )
    assert {*meta["agentMethods"].values(), *meta.get("proxyMethods", {}).values()} <= asked
    assert {*meta["clientMethods"].values(), *meta["protocolMethods"].values()} <= served


def test_the_recorded_tests_exist() -> None:
    modules = covering_tests.source("tests").items()
    for part, test in coverage.exercised().items():
        stem, _, name = test.partition("::")
        named = [text for path, text in modules if Path(path).stem == stem]
        assert any(f"def {name}(" in text for text in named), f"{part}: {test} is gone"


def test_a_request_counts_as_exercised_when_it_is_answered(tmp_path: Path) -> None:
    asked = {"id": 1, "method": "session/new", "params": {}}
    update = {"sessionUpdate": "plan_update", "content": []}
    told = {"method": "session/update", "params": {"update": update}}
    entries = [
        {"dir": "in", "frame": {"id": 0, "method": "initialize", "params": {"protocolVersion": 2}}},
        {"dir": "in", "frame": asked},
        {"dir": "in", "frame": {"id": 2, "method": "session/fork", "params": {}}},
        {"dir": "out", "frame": {"id": 1, "result": {}}},
        {"dir": "out", "frame": {"id": 2, "error": {"code": -32601}}},
        {"dir": "out", "frame": told},
    ]
    found = exercised.parts(entries)
    assert found == {"2 ask session/new", "2 serve session/update", "2 update plan_update"}
    record = tmp_path / "record"
    lines = [{"test": "b::few", "parts": ["x"]}, {"test": "a::many", "parts": ["x", "y"]}]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert coverage.reduce_record(record) == {"x": "b::few", "y": "a::many"}


def test_the_parts_left_out_exist_in_the_protocol() -> None:
    names = {row[0].strip("`") for rows in coverage.tables().values() for row in rows}
    assert set(coverage.NOT_OURS) <= names


def test_an_update_without_a_function_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[Any, Any] = {
        kind: apply for kind, apply in updates._HANDLERS.items() if kind.__name__ != "Plan"
    }
    monkeypatch.setattr(updates, "_HANDLERS", kept)
    assert "Updates of a session: `plan` has nothing under 'applied by'" in coverage.gaps()


def test_the_page_keeps_a_named_test_while_it_matches() -> None:
    now = covering_tests.tested("", '"session/fork"')
    assert now
    assert covering_tests.tested(now, '"session/fork"') == now
    assert covering_tests.tested("`test_nothing::test_gone`", '"session/fork"') == now
    assert covering_tests.tested("", '"session/no such thing"') == ""
