--- The commands `:AcpPrompt` and `:AcpCancel`.
local M = {}

local guard = require('acp.base.guard')

--- Return a command's range in the current buffer, nil without one.
---@param opts { range?: integer, line1?: integer, line2?: integer }
---@return { bufnr: integer, first: integer, last: integer }|nil
local function range_of(opts)
  if not opts.range or opts.range == 0 then return nil end
  return { bufnr = vim.api.nvim_get_current_buf(), first = opts.line1, last = opts.line2 }
end

local function prompt(opts)
  local range = range_of(opts)
  local new = opts.bang or nil
  if opts.args:match('^%s*$') then
    require('acp.features.prompts.composer').open({ new = new, range = range, insert = true })
    return
  end
  local context = require('acp.features.prompts.context')
  local create = require('acp.features.prompts.chips').create
  local chips = range and { create(range.bufnr, range.first, range.last) } or {}
  local n = require('acp.base.state').default_session()
  local args = context.typed_prompt(opts.args, chips, n)
  args.new = new
  args.instead = new and require('acp.ui.current').here()
  args.now = opts.now
  require('acp.features.prompts.earlier_prompts').add(opts.args)
  require('acp.features.prompts.delivery').prompt(n, args)
  local session = not new and require('acp.base.state').current() or nil
  vim.schedule(function()
    require('acp.features.prompts.drafts').restore()
    if session then require('acp.base.signals').emit('prompt_typed', session) end
  end)
end

--- `:[range]AcpPrompt[!] [text]`. The text is sent as typed.
---@param opts table arguments of a user command
function M.prompt(opts) guard(prompt, opts) end

--- `:Acp send [text]`: send at once, before all queued prompts.
---@param opts table arguments of a user command
function M.send(opts)
  if opts.args:match('^%s*$') then
    require('acp.features.prompts.composer').send_now(require('acp.base.state').default_session())
  else
    M.prompt(vim.tbl_extend('force', opts, { now = true }))
  end
end

--- Return whether a session has a turn or queued prompts to cancel.
local function has_work(n)
  local state = require('acp.base.state').get()
  local session = state.sessions[n or state.current] or {}
  return session.status == 'running' or #(session.queue or {}) > 0
end

---@param opts { bang?: boolean, session?: integer, name?: string } `name`: a command was entered
local function cancel(opts)
  local is_plain = opts.name and not opts.bang
  if is_plain and require('acp.base.signals').emit('cancel_here') then return end
  local dropped = opts.bang and require('acp.features.prompts.held_prompts').clear()
  local running = require('acp.base.host').is_running()
  if dropped and not (running and has_work(opts.session)) then
    require('acp.base.notify').show('info', 'queue_emptied')
  elseif running then
    local args = { session = opts.session, clear = opts.bang or false }
    require('acp.base.host').notify('cancel', args)
  else
    require('acp.base.notify').show('info', 'nothing_to_cancel')
  end
end

--- `:AcpCancel[!]`.
---@param opts { bang?: boolean, session?: integer, name?: string }
function M.cancel(opts) guard(cancel, opts) end

--- Cancel the turn of a session, for the key of its windows.
---@param n integer|nil
function M.cancel_session(n) M.cancel({ bang = false, session = n }) end

return M
