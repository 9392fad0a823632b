"""Lines that the chat shows for tool calls, with updates recorded from real agents."""

from __future__ import annotations

from tests.support.editor import Editor

HAS_PERMISSION = "#require('acp').state().sessions[1].permissions > 0"


def test_the_line_of_a_call_shows_its_command(editor: Editor) -> None:
    editor.agent("field_commands")
    editor.turn("go")
    screen = "\n".join(editor.screen())
    for line in (
        "✗ sed -i s/a/b/ x (run a command) · failed",
        "✓ Ran 2 commands · make 0, make 1",
        "✓ sleep 9 (execute) · assumed done",
    ):
        assert line in screen, editor.report(line)
    assert editor.chat().count("✓ make 1 (execute)") == 1
    at = editor.chat().index("Again.")
    assert [bool(line) for line in editor.chat()[at - 3 : at]] == [True, False, False], (
        "fold, blank"
    )


def test_the_line_of_a_call_shows_its_file_and_no_json(editor: Editor) -> None:
    editor.agent("field_files")
    editor.prompt("go")
    editor.wait(HAS_PERMISSION)
    editor.wait_screen("Scripted wants to edit one.txt (+1 -1)")
    editor.wait_screen("apply_patch")
    screen = "\n".join(editor.screen())
    assert '"' not in screen
    for line in ("✓ Read pi.txt", "✓ Read two.txt (read_text_file)", "✓ Read one.txt (read_files)"):
        assert line in screen, editor.report(line)
    for count in (1, 2, 3):
        editor.wait(HAS_PERMISSION)
        [permission] = editor.session()["permissions"]
        editor.lua("require('acp').answer(..., 'allow')", permission["id"])
        editor.wait_event("AcpPermissionDone", count)
    editor.wait_event("AcpTurnEnd")
    chat = editor.chat()
    assert "  text of cline" in chat
    assert "✓ apply_patch · one.txt" in chat
    assert [line for line in chat if "↳" in line] == ["  ↳ Allow · 3 times"]


def test_an_edit_is_shown_once(editor: Editor) -> None:
    editor.write("one.txt", "beta\n")
    editor.agent("field_edits")
    editor.prompt("go")
    editor.wait(HAS_PERMISSION)
    editor.wait_screen("Scripted wants to edit one.txt (+1 -1)")
    assert "replaceAll" not in "\n".join(editor.screen())
    [permission] = editor.session()["permissions"]
    editor.lua("require('acp').answer(..., 'allow')", permission["id"])
    editor.wait_event("AcpTurnEnd")
    assert [line for line in editor.chat() if "one.txt" in line] == ["✓ Edited one.txt +1 -1"]
