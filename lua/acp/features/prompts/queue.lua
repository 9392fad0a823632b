--- Queue of prompts as a buffer that the user can edit. `:w` applies the changes.
local M = {}

local RULE = ('─'):rep(24) -- line between two texts
local shown = {} ---@type table<integer, string[]> buffer -> texts it was filled with

---@return string[] lines
local function lines_of(texts)
  return vim.split(table.concat(texts, ('\n%s\n'):format(RULE)), '\n', { plain = true })
end

--- Return the texts of a page without blank ones.
---@return string[] texts
local function texts_of(lines)
  local texts, part = {}, {}
  local function close()
    local text = vim.trim(table.concat(part, '\n'))
    if text ~= '' then texts[#texts + 1] = text end
    part = {}
  end
  for _, line in ipairs(lines) do
    if line == RULE then
      close()
    else
      part[#part + 1] = line
    end
  end
  close()
  return texts
end

local function has_queue(n)
  local session = require('acp.base.state').get().sessions[n or -1]
  return session ~= nil and #(session.queue or {}) > 0
end

--- Return the queue of session `n`; if it is empty, the prompts from an earlier Neovim.
---@return string[] texts
local function queued_texts(n)
  return has_queue(n) and require('acp.base.state').session(n).queue
    or require('acp.features.prompts.held_prompts').texts()
end

---@return string[] texts
local function queue_of(n) return vim.tbl_map(vim.trim, queued_texts(n)) end

--- Remove from `texts` the prompts that have been sent since the buffer was filled.
local function drop_sent(texts, before, now)
  local left = {} ---@type table<string, integer>
  for _, text in ipairs(now) do
    left[text] = (left[text] or 0) + 1
  end
  for _, text in ipairs(before) do
    if (left[text] or 0) > 0 then
      left[text] = left[text] - 1
    else
      local at = vim.iter(ipairs(texts)):find(function(_, known) return known == text end)
      table.remove(texts, at or #texts + 1)
    end
  end
end

--- Return the texts of `now` that are not in `before`.
---@return string[] texts
local function new_texts(before, now)
  local known = {} ---@type table<string, integer>
  for _, text in ipairs(before) do
    known[text] = (known[text] or 0) + 1
  end
  return vim.tbl_filter(function(text)
    known[text] = (known[text] or 0) - 1
    return known[text] < 0
  end, now)
end

local function apply(n, bufnr)
  local texts = texts_of(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false))
  local before, now = shown[bufnr] or {}, queue_of(n)
  drop_sent(texts, before, now)
  shown[bufnr] = texts
  vim.bo[bufnr].modified = false
  local all = vim.list_extend(vim.list_slice(texts), new_texts(before, now))
  local held = require('acp.features.prompts.held_prompts')
  if not has_queue(n) and (held.any() or not require('acp.base.state').session(n)) then
    held.set(all)
  else
    local args = { session = n, action = 'set', texts = texts, shown = before }
    require('acp.base.host').notify('queue', args)
    require('acp.base.state').set({ 'sessions', n, 'queue' }, all)
  end
  local messages = require('acp.base.messages')
  local message = #all == 1 and messages.queued_one or messages.queued_many:format(#all)
  require('acp.base.notify').echo('info', message)
end

--- Replace the buffer's text with the current queue.
local function fill(n, bufnr)
  shown[bufnr] = queue_of(n)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines_of(queued_texts(n)))
  vim.bo[bufnr].modified = false
end

--- Keep an unmodified buffer up to date with the queue.
local function follow(n, bufnr)
  local on, group = require('acp.base.autocmds').group('acp.queue.' .. bufnr)
  on('User', function()
    local has_changed = not vim.deep_equal(shown[bufnr], queue_of(n))
    if has_changed and not vim.bo[bufnr].modified then fill(n, bufnr) end
  end, { pattern = 'AcpState' })
  on('BufWipeout', function()
    shown[bufnr] = nil
    vim.api.nvim_del_augroup_by_id(group)
  end, { buffer = bufnr })
end

---@return integer bufnr
local function ensure(n)
  local scratch = require('acp.ui.scratch')
  local bufnr, created = scratch.ensure_writable('acp://queue/' .. n)
  if created then
    scratch.on_write(bufnr, function() apply(n, bufnr) end)
    require('acp.ui.keymaps').attach('queue', bufnr, n)
    vim.bo[bufnr].filetype = 'acpqueue'
    follow(n, bufnr)
    scratch.on_read(bufnr, function() fill(n, bufnr) end)
    fill(n, bufnr)
  end
  return bufnr
end

--- Return the winbar: the format and the keys.
local function hint()
  local words =
    require('acp.ui.keymaps').words('queue', { apply = 'apply', close = 'close', help = 'keys' })
  words = words ~= '' and require('acp.ui.win').literal(words) or ':w apply'
  return (' %s %%= %s '):format(require('acp.base.messages').queue_separator, words)
end

--- Open the queue of a session for editing.
local function open(n)
  if #queued_texts(n) == 0 then return require('acp.base.notify').show('info', 'queue_empty') end
  local options = { winbar = hint() }
  local where = { layout = 'bottom', size = 10, enter = true, options = options }
  require('acp.ui.window').show(ensure(n), where)
end

--- Open the queue of the current session once the host has confirmed all prompts.
local function edit()
  local n = require('acp.base.state').default_session()
  require('acp.features.prompts.delivery').when_confirmed(function() open(n) end)
end

--- `:Acp queue {action}`.
---@param action 'edit'|'run'|'clear'
function M.run(action)
  local held = require('acp.features.prompts.held_prompts')
  if action == 'edit' then
    edit()
  elseif held.any() and not has_queue(require('acp.base.state').current()) then
    held[action]()
    if action == 'clear' then require('acp.base.notify').show('info', 'queue_emptied') end
  elseif require('acp.base.host').is_running() then
    require('acp.base.host').notify('queue', { action = action })
  else
    require('acp.base.notify').show('info', 'queue_empty')
  end
end

return M
