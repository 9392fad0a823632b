local keys, times = ...
_G.acp_pressed = 0
local timer = vim.uv.new_timer()
timer:start(0, 30, function()
  vim.schedule(function()
    if _G.acp_pressed == times then return timer:is_closing() or timer:close() end
    _G.acp_pressed = _G.acp_pressed + 1
    vim.api.nvim_input(keys)
  end)
end)
