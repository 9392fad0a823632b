"""Command lines that refer to lines by number."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor

NUMBERED = r"""
1
10,11d
:10d
 10d
5,
.,+3d
+
-2,.d
$d
/foo/d
?foo?,.d
\/d
'a,10d
%d|10d
silent 10d
sil! keepj 10d
m
m0
t.
co 5
d|m0
norm 10Gdd
normal! dd
g/x/m0
v/x/t 5
call cursor(10, 1)
lua f(0, 9, 10)
execute 10
bufdo 10d
normal
"""
OTHERS = r"""
:
w
wq
%s/a/b/g
s/a1/b2/
'<,'>s/a/b/
'a,'bd
e file2.txt
b3
vert h 10
Acp restore 3
AcpPrompt fix the 3 bugs
set ts=4
lua f()
d
make -j4
"""


@pytest.fixture
def results(editor: Editor) -> dict[str, bool]:
    lines = [*NUMBERED.strip("\n").split("\n"), *OTHERS.split("\n")]
    code = "return vim.tbl_map(require('acp.buffers.numbered_command').refers_to_lines, ...)"
    return dict(zip(lines, editor.lua(code, lines), strict=True))


def test_command_lines_with_line_numbers_are_recognized(results: dict[str, bool]) -> None:
    found = [line for line, is_one in results.items() if is_one]
    assert found == NUMBERED.strip("\n").split("\n")
