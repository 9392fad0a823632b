--- Keys of ours in buffers of the user: set while they have a meaning there, and what they had on
--- the same keys put back afterwards.
local M = {}

---@class acp.KeptKey
---@field mode string
---@field key string
---@field map table as |maparg()| gives it

local kept = {} ---@type table<integer, table<string, acp.KeptKey[]>> buffer -> window's kind

---@return table|nil map nil where the buffer itself maps nothing
local function own(bufnr, mode, key)
  local map = vim.api.nvim_buf_call(bufnr, function()
    return vim.fn.maparg(key, mode, false, true)
  end)
  return map.buffer == 1 and map or nil
end

local function ours(map)
  return map ~= nil and (map.desc or ''):match('^acp: ') ~= nil
end

--- Whether our keys are set: `:bdelete` takes all mappings of a buffer away, `:edit` none.
local function present(window, bufnr)
  for _, key in ipairs(require('acp.ui.keymaps').list(window)) do
    if not own(bufnr, key.modes[1], key.key) then
      return false
    end
  end
  return true
end

--- Set the keys of a window's kind in a buffer of the user's; again is free.
---@param window string
---@param bufnr integer
function M.attach(window, bufnr)
  local of = kept[bufnr] or {}
  if of[window] and present(window, bufnr) then
    return
  end
  local list = {}
  for _, key in ipairs(require('acp.ui.keymaps').list(window)) do
    for _, mode in ipairs(key.modes) do
      local map = own(bufnr, mode, key.key)
      if map and not ours(map) then
        list[#list + 1] = { mode = mode, key = key.key, map = map }
      end
    end
  end
  of[window] = list
  kept[bufnr] = of
  require('acp.ui.keymaps').attach(window, bufnr)
end

--- Take them away, and put back what was there. A key that the user has mapped since stays theirs.
---@param window string
---@param bufnr integer
function M.detach(window, bufnr)
  local list = kept[bufnr] and kept[bufnr][window]
  if not list then
    return
  end
  kept[bufnr][window] = nil
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return
  end
  require('acp.ui.keymaps').detach(window, bufnr)
  for _, old in ipairs(list) do
    if not own(bufnr, old.mode, old.key) then
      vim.api.nvim_buf_call(bufnr, function()
        vim.fn.mapset(old.mode, false, old.map)
      end)
    end
  end
end

--- The buffer is gone, its mappings with it.
---@param bufnr integer
function M.forget(bufnr)
  kept[bufnr] = nil
end

return M
