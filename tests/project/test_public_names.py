"""Public names of the last release stay, or the changelog has deprecated and then removed them."""

from __future__ import annotations

import re

from tests.project.public_names import RECORD, public_names
from tests.support.editor import ROOT


def lists(heading: str) -> list[str]:
    """Return the changelog's lists under `### heading`, one for each release, newest first."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    parts = [re.split(r"^### ", release, flags=re.MULTILINE) for release in releases]
    return ["".join(it for it in found if it.startswith(heading)) for found in parts]


def test_a_public_name_goes_only_after_a_release_that_deprecates_it() -> None:
    recorded = RECORD.read_text(encoding="utf-8").split()
    assert {":AcpPrompt", "acp.setup()", "AcpTurnEnd", "acp-option-agent"} <= set(recorded)
    removed, deprecated = lists("Removed"), lists("Deprecated")
    for name in set(recorded) - set(public_names()):
        assert f"`{name}`" in removed[0], f"{name} is gone, and Unreleased does not say so"
        assert any(f"`{name}`" in it for it in deprecated[1:]), f"{name} was not deprecated before"
