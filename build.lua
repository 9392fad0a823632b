-- Run by a plugin manager after an install or update. lazy.nvim runs it in a coroutine, where each
-- yield is a line of progress; vim.pack does not, and its callbacks cannot yield.
-- The plugin may not be on 'runtimepath' yet, so the module is loaded by its path.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')

local function show(line)
  if coroutine.isyieldable() then
    coroutine.yield({ msg = line, level = vim.log.levels.INFO })
  else
    vim.api.nvim_echo({ { 'acp.nvim: ' .. line } }, true, {})
    vim.cmd.redraw()
  end
end

dofile(here .. '/lua/acp/features/install/environment.lua').build(show)
