--- Earlier prompts in a composer: step through them, or choose one.
local M = {}

local composers = require('acp.features.prompts.composer.composers')
local earlier_prompts = require('acp.features.prompts.earlier_prompts')

--- Put an entry of the history into the composer as a new prompt. The cursor moves to its end.
---@param composer acp.Composer number `n`
local function insert_entry(n, composer, text)
  composers.forget_draft_id(n)
  composers.set_text(composer.bufnr, text)
  if composer.walk.at > 0 then composers.add_foreign(composer, text) end
  local win = require('acp.ui.window').showing(composer.bufnr)
  if not win then return end
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(composer.bufnr), 0 })
end

--- Walk to an earlier (`by` > 0) or later prompt, keeping the current text.
---@param by integer steps
---@return boolean found
local function walk(by, n)
  local composer = composers.get(n) --[[@as acp.Composer]]
  local present = table.concat(composers.lines(composer.bufnr), '\n')
  local text = earlier_prompts.step(composer.walk, by, present)
  if text then insert_entry(n, composer, text) end
  return text ~= nil
end

--- Show an earlier (`by` = 1) or later (-1) prompt, keeping the current text.
---@param by integer prompts back
function M.step(n, by)
  local steps, notify = by * vim.v.count1, require('acp.base.notify')
  if walk(steps, n) then
    return
  elseif by < 0 then
    return notify.show('info', 'no_later_prompt')
  end
  earlier_prompts.when_complete(function()
    if not walk(steps, n) then notify.show('info', 'no_earlier_prompt') end
  end)
end

--- Let the user choose an earlier prompt.
function M.search(n)
  earlier_prompts.when_complete(function()
    local list, messages = earlier_prompts.list(), require('acp.base.messages')
    if #list == 0 then return require('acp.base.notify').show('info', 'no_earlier_prompt') end
    local items = vim.tbl_map(
      function(prompt) return { label = prompt.text, preview = vim.split(prompt.text, '\n') } end,
      list
    )
    require('acp.ui.pick').choose(
      messages.earlier_prompts,
      'prompt',
      items,
      function(index) walk(list[index].at - composers.get(n).walk.at, n) end
    )
  end)
end

return M
