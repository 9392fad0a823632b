local lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
local ends = vim.bo.endofline or (vim.bo.fixendofline and not vim.bo.binary)
if vim.fn.wordcount().bytes == 0 then return '' end
return table.concat(lines, '\n') .. (ends and '\n' or '')
