"""Long work in time slices (`acp.base.slices`)."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

COUNT = lua_chunk(__file__, "count_in_slices")


def test_requests_are_handled_between_slices(editor: Editor) -> None:
    editor.lua(COUNT)
    assert 0 < editor.lua("return _G.steps") < 100
    editor.wait("_G.result == 'done'")
    assert editor.lua("return _G.steps") == 100


def test_a_cancelled_job_does_not_go_on(editor: Editor) -> None:
    editor.lua(COUNT)
    steps = editor.lua("_G.cancel() return _G.steps")
    editor.lua("require('acp.base.slices').run(function() end, function() _G.later = true end)")
    editor.lua("vim.defer_fn(function() _G.waited = true end, 50)")
    editor.wait("_G.waited")
    assert editor.lua("return _G.steps") == steps
    assert editor.lua("return _G.later and _G.result == nil")


def test_a_queue_runs_its_jobs_one_after_another_and_reports_errors(editor: Editor) -> None:
    editor.errors_expected = True
    editor.lua(lua_chunk(__file__, "queue_with_error"))
    editor.wait("#_G.done == 2")
    assert editor.lua("return _G.done") == [1, 3]
    editor.wait_message("broken")
