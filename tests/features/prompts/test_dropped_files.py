"""Files that are dropped on the terminal while the composer is current."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, Start, composer, last, session


@pytest.fixture
def front(edit: Start) -> Editor:
    editor = edit(init=HOST)
    editor.write("my pic.png", b"\x89PNG")
    editor.write("src/a.py", "one\n")
    session(editor)
    editor.cmd("AcpPrompt")
    editor.wait("vim.api.nvim_get_mode().mode == 'i'")
    return editor


def paste(front: Editor, text: str) -> None:
    """Paste as a terminal does, in two parts."""
    front.rpc.request("nvim_paste", text[:3], False, 1)
    front.rpc.request("nvim_paste", text[3:], False, 3)


FORMS = [
    "'{path}'",
    '"{path}" ',
    "{escaped}",
    "file://{encoded}",
    "{path}",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_dropped_file_is_attached_and_an_undo_restores_its_path(front: Editor, form: str) -> None:
    path = str(front.work / "my pic.png")
    text = form.format(path=path, escaped=path.replace(" ", "\\ "), encoded=quote(path))
    front.keys("see 😀")
    paste(front, text)
    assert composer(front) == ["see 😀 @my\\ pic.png "]
    front.keys("please<Esc>u")
    assert composer(front) == ["see 😀 @my\\ pic.png "]
    front.keys("u")
    assert composer(front) == ["see 😀" + text]
    front.keys("<C-r><C-s>")
    assert last(front)[1]["attach"] == [path]


@pytest.mark.parametrize("form", ["'{0}' '{1}' ", '"{0}" "{1}"', "{2} {1}", "'{0}' file://{1}"])
def test_several_files_are_dropped_at_once(front: Editor, form: str) -> None:
    pic, code = str(front.work / "my pic.png"), str(front.work / "src/a.py")
    paste(front, form.format(pic, code, pic.replace(" ", "\\ ")))
    assert composer(front) == ["@my\\ pic.png @src/a.py "]
    front.keys("<Esc>u")
    assert composer(front) == [form.format(pic, code, pic.replace(" ", "\\ "))]


def test_a_file_that_is_dropped_on_the_command_line_leaves_the_composer_alone(
    front: Editor,
) -> None:
    path = f"{front.work}/src/a.py"
    front.keys(f"{path}<Esc>:let g:given = '")
    paste(front, path)
    front.keys("'<CR>")
    assert front.lua("return vim.g.given") == path
    assert composer(front) == [path]


def test_other_pasted_text_stays_as_it_is(front: Editor) -> None:
    work = front.work
    for text in (
        f"cat {work}/src/a.py",
        f"{work}/src/a.py {work}/none.py",
        f"'{work}/src/a.py",
        "src/a.py",
        "/init",
        f"{work}/none.py",
        f"{work}\nx",
    ):
        paste(front, text)
        assert "\n".join(composer(front)) == text
        front.keys("<Esc>:%d _<CR>i")
    paste(front, "my pic.png")
    assert composer(front) == ["@my\\ pic.png "]
    front.cmd("new")
    paste(front, f"'{work}/my pic.png'")
    assert front.lua("return vim.api.nvim_get_current_line()") == f"'{work}/my pic.png'"
