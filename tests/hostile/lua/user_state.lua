local buffer = vim.api.nvim_win_get_buf(...)
local registers = {}
for name in ('abcxyz"+*/:'):gmatch('.') do
  registers[name] = vim.fn.getreg(name)
end
return {
  name = vim.api.nvim_buf_get_name(buffer),
  lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false),
  modified = vim.bo[buffer].modified,
  cursor = vim.api.nvim_win_get_cursor(...),
  current = vim.api.nvim_get_current_win(),
  tabpages = #vim.api.nvim_list_tabpages(),
  registers = registers,
  options = {
    vim.o.shell,
    vim.o.makeprg,
    vim.o.runtimepath,
    vim.bo[buffer].filetype,
    vim.bo[buffer].fileencoding,
    vim.o.secure,
    vim.o.clipboard,
    vim.fn.getcwd(),
  },
}
