--- What stands under the cursor in a chat.
local M = {}

local api = vim.api

--- The target of the cursor's row.
---@return table? data
---@return acp.Chat? chat
local function target()
  local chat = require('acp.chat').of(api.nvim_get_current_buf())
  if not chat then
    return
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  return require('acp.marks').at(chat, row), chat
end

--- Our id of the decision whose card the cursor is on.
---@return string?
function M.decision()
  local found = target()
  return found and found.decision
end

local function toggle_fold()
  local line = vim.fn.line('.')
  if vim.fn.foldlevel(line) > 0 then
    vim.cmd(vim.fn.foldclosed(line) > 0 and 'foldopen' or 'foldclose')
  end
end

--- <CR>: act on what is under the cursor. A closed fold opens; a line within it that the cursor was
--- put on is acted on as well.
function M.act()
  local folded = vim.fn.foldclosed('.')
  if folded > 0 then
    vim.cmd('foldopen')
  end
  local found, chat = target()
  if folded == vim.fn.line('.') then
    return
  elseif not found or found.kind == 'fold' or found.kind == 'turn' then
    if folded < 0 then
      toggle_fold()
    end
  elseif found.kind == 'file' then
    require('acp.jump').to(found.path, found.line, chat.n)
  elseif found.kind == 'url' then
    vim.ui.open(found.url)
  else
    require('acp.show').expect()
    require('acp.host').notify('open', { session = chat.n, target = found })
  end
end

return M
