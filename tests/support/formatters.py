"""Formatters that run when a file is saved, as Vimscript: autocommands of several kinds."""

from __future__ import annotations

LINES = "".join(f"line {n}\n" for n in range(1, 21)).replace("line 8\n", "line   8\n")
"""The formatter has something to do in line 8: it leaves one blank of several."""

# Files have times of some milliseconds' grain: what is quicker `:checktime` does not see.
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
    "after": """
        lua << END
        vim.api.nvim_create_autocmd('BufWritePost', { pattern = '*.txt', callback = function(args)
          vim.defer_fn(function()
            vim.api.nvim_buf_call(args.buf, function()
              vim.cmd([[silent! keepjumps %s/  \\+/ /g | noautocmd update]])
            end)
          end, 5)
        end })
END
    """,
}
