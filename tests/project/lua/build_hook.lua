-- Runs `build.lua` of the current directory as vim.pack does, and then as lazy.nvim does.
local thread = coroutine.create(function() end)
rawset(coroutine, 'running', function() return thread, true end) -- as LuaJIT with functions of 5.2
local build = vim.fn.getcwd() .. '/build.lua'
vim.api.nvim_create_autocmd('User', { callback = function() dofile(build) end })
coroutine.wrap(function() vim.cmd('doautocmd User PackChanged') end)()
local lazy = coroutine.wrap(assert(loadfile(build)))
print('yields ' .. lazy().msg .. ' ' .. lazy().msg)
