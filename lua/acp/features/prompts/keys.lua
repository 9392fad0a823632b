--- Keys of a composer and of the list of queued prompts.
local actions = require('acp.ui.actions')

---@param name string function of the composer
local function composer(name)
  return function(_, n) require('acp.features.prompts.composer')[name](n) end
end

---@param by integer prompts back
local function step(by)
  return function(_, n) require('acp.features.prompts.composer.browse').step(n, by) end
end

local M = {
  composer = {
    send = { 'send', composer('send') },
    send_now = { 'send now, before queued prompts', composer('send_now') },
    finish = { 'send and close', composer('finish') },
    complete = {
      'complete /command, @file',
      function() vim.api.nvim_feedkeys(vim.keycode('<C-x><C-o>'), 'ni', false) end,
    },
    cancel = {
      'cancel the turn',
      function(_, n) require('acp.features.prompts.commands').cancel_session(n) end,
    },
    earlier = { 'earlier prompt', step(1) },
    later = { 'later prompt', step(-1) },
    search = {
      'search earlier prompts',
      function(_, n) require('acp.features.prompts.composer.browse').search(n) end,
    },
    open_file = actions.open_file,
    open_file_at_line = actions.open_file_at_line,
  },
  suggestion = {
    take = {
      'take the suggested prompt, then the next one',
      function(bufnr) require('acp.features.prompts.composer').take_suggestion(bufnr) end,
    },
  },
  queue = {
    apply = { 'apply your changes', actions.write },
    close = { 'close the window', actions.close_written },
  },
}

return M
