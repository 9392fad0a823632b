--- Completion that pops up by itself: after `/`, `@` or `{` at the start of a word, unless a plugin
--- of the user's completes there. Nothing is selected in it, so that no key does anything else.
local M = {}

local completion = require('acp.ui.composer.completion')

local QUIET = 'c' -- in 'shortmess': nothing is said of a menu that the user did not ask for

--- Completion plugins, and how each tells whether it is on in the current buffer.
local ENGINES = {
  ['blink.cmp'] = function() return require('blink.cmp.config').enabled() end,
  ['cmp'] = function() return require('cmp.config').enabled() end,
  ['mini.completion'] = function()
    return not (vim.g.minicompletion_disable or vim.b.minicompletion_disable)
  end,
}

--- Whether something else completes in the current buffer; one that does not tell counts.
local function served()
  local ok, native = pcall(function() return vim.o.autocomplete end)
  if ok and native then return true end
  for name, is_on in pairs(ENGINES) do
    local told, on = true, false
    if package.loaded[name] then
      told, on = pcall(is_on)
    end
    if not told or on then return true end
  end
  return false
end

--- The options as the menu needs them, until it is gone.
local function lend_options()
  local kept = { completeopt = vim.o.completeopt, shortmess = vim.o.shortmess }
  vim.o.completeopt = 'menuone,noselect'
  if not kept.shortmess:find(QUIET, 1, true) then vim.o.shortmess = kept.shortmess .. QUIET end
  local on, group = require('acp.base.autocmds').group('acp.popup')
  on({ 'CompleteDone', 'InsertLeave', 'BufLeave' }, function()
    vim.o.completeopt, vim.o.shortmess = kept.completeopt, kept.shortmess
    vim.api.nvim_del_augroup_by_id(group)
  end)
end

local function show()
  if vim.fn.pumvisible() == 1 or not completion.any() then return end
  lend_options()
  vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'n', false)
end

--- The user has typed in the composer of `n`.
function M.typed(n)
  if not completion.begins() or not require('acp.config').get().composer.popup then return end
  if not served() then completion.when_known(n, show) end
end

return M
