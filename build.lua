-- Run by lazy.nvim after an install or update, in a coroutine: each yield is a line of progress.
-- The plugin may not be on 'runtimepath' yet, so the module is loaded by its path.
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')

dofile(here .. '/lua/acp/features/install/environment.lua').build(function(line)
  if coroutine.running() then coroutine.yield({ msg = line, level = vim.log.levels.INFO }) end
end)
