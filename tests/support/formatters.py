"""Formatters that run when a file is saved, as Vimscript for autocommands of several kinds."""

from __future__ import annotations

from tests.support.lua import lua_call

LINES = "".join(f"line {n}\n" for n in range(1, 21)).replace("line 8\n", "line   8\n")
"""Twenty lines; a formatter reduces the several spaces in line 8 to one."""

# File times have a resolution of some milliseconds, within which `:checktime` sees no change.
FORMATTERS = {
    "pre": "autocmd BufWritePre *.txt silent! keepjumps %s/  \\+/ /g",
    "edit": """
        function Formatted()
          call system(['sed', '-i', '-E', 's/ +/ /g', expand('<afile>:p')])
          silent edit
        endfunction
        autocmd BufWritePost *.txt call Formatted()
    """,
    "checktime": """
        set autoread
        function Formatted()
          call system('sleep .01; sed -i -E "s/ +/ /g" ' . expand('<afile>:p:S'))
          silent checktime
        endfunction
        autocmd BufWritePost *.txt call Formatted()
    """,
    "after": f"lua {lua_call(__file__, 'tidy_after_save')}",
}
