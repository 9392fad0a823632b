vim.uv.gettimeofday = function() return 0, 0 end
_G.reloads = 0
local function count() _G.reloads = _G.reloads + 1 end
vim.api.nvim_create_autocmd('BufReadPost', { callback = count })
