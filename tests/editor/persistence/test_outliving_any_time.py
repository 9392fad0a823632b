"""A host is killed at any moment while an agent writes: nothing breaks, no text is touched, and
what is pending then is what the agent did, but perhaps for the last of it.
"""

from __future__ import annotations

import json
import random

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import kill_host, wait_host
from tests.support.pending_edits import edits
from tests.support.waiting import until

COUNT = 40


@pytest.mark.parametrize("seed", range(4))
def test_while_an_agent_writes_one_file_after_the_other(editor: Editor, seed: int) -> None:
    rng = random.Random(seed)
    paths = [editor.write(f"{n}.txt", f"one {n}\ntwo\n") for n in range(COUNT)]
    editor.agent("script")
    editor.turn("hello")
    steps = [
        f"write {path} {json.dumps(f'one {n}{chr(10)}TWO{chr(10)}')}"
        for n, path in enumerate(paths)
    ]
    editor.lua("require('acp').prompt(...)", "\n".join(steps))
    count = rng.randrange(COUNT)
    editor.wait("#require('acp').state().sessions[1].edits >= ...", count)
    kill_host(editor)
    texts = [path.read_text() for path in paths]
    written = sum("TWO" in text for text in texts)
    assert written >= count
    editor.cmd("Acp edits")
    wait_host(editor)
    found = edits(editor)
    assert count < COUNT / 2 or found
    assert len(found) <= written
    editor.wait("#vim.fn.getqflist() == ...", len(found))
    assert [path.read_text() for path in paths] == texts
    assert not any(event["name"] == "AcpNotice" for event in editor.events())
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    pending = {edit["path"] for edit in found}
    wanted = [
        f"one {n}\ntwo\n" if str(path) in pending else texts[n] for n, path in enumerate(paths)
    ]
    until(lambda: [path.read_text() for path in paths] == wanted)
