--- Public functions of the plugin. Other modules are loaded when one is used.
local M = {}

--- Load a module of the plugin after the features.
local function module(name)
  require('acp.features')
  return require(name)
end

--- Return a function that a feature declares.
local function feature(name) return require('acp.features').find('functions', name) end

--- Schedule a call to `fn` with a copy of its current arguments, for callers in a fast context
--- (|api-fast|) such as the callback of a timer.
---@param fn fun(...: any)
local function schedule_call(fn, ...)
  local args = vim.deepcopy(vim.F.pack_len(...))
  vim.schedule(function() fn(vim.F.unpack_len(args)) end)
end

--- Convert |vim.NIL|, which callers by RPC pass, to nil.
local function from_rpc(value)
  if value ~= vim.NIL then return value end
end

--- Set options (`:help acp-options`). Mistakes are reported together, and wrong values ignored.
---@param opts? table
function M.setup(opts) module('acp.config').setup(opts) end

--- Send a prompt, starting the agent and a session if needed. Return at once.
---@param text_or_blocks string|table[] text, or a list of ACP content blocks
---@param opts? acp.PromptOpts
function M.prompt(text_or_blocks, opts)
  if vim.in_fast_event() then return schedule_call(M.prompt, text_or_blocks, opts) end
  opts = from_rpc(opts)
  if type(opts) == 'table' then
    opts = vim.iter(pairs(opts)):fold({}, function(options, name, value)
      options[name] = from_rpc(value)
      return options
    end)
  end
  if not module('acp.base.args').check('prompt', text_or_blocks, opts) then return end
  feature('prompt')(text_or_blocks, opts or {})
end

--- Cancel the running turn of a session.
---@param session? integer the current one by default
function M.cancel(session)
  if vim.in_fast_event() then return schedule_call(M.cancel, session) end
  session = from_rpc(session)
  if not module('acp.base.args').check('cancel', session) then return end
  feature('cancel')({ bang = false, session = session })
end

--- Answer a pending permission or question.
---@param id integer|string as in `state().sessions[n].permissions` or `.elicitations`
---@param choice? string an `optionId`, or 'accept' or 'decline'; nil means cancelled
---@param content? table<string, any> form values of an elicitation by name
function M.answer(id, choice, content)
  if vim.in_fast_event() then return schedule_call(M.answer, id, choice, content) end
  choice, content = from_rpc(choice), from_rpc(content)
  if not module('acp.base.args').check('answer', id, choice, content) then return end
  module('acp.base.host').notify('answer', { id = id, choice = choice, content = content })
end

--- Return the snapshot of `:help acp-state` from a cache. This never blocks or starts Python.
---@return acp.State
function M.state()
  local snapshot = module('acp.base.state').snapshot()
  module('acp.base.signals').emit('snapshot', snapshot)
  return snapshot
end

--- Return agent, state, pending permissions and used context for a statusline. This never starts
--- Python.
---@param opts? { short?: boolean } short: without agent and used context
---@return string
function M.statusline(opts)
  -- Statusline plugins may pass a component.
  return module('acp.ui.statusline').text(type(opts) == 'table' and opts.short == true)
end

--- Return the highlight group of the state that `statusline()` names, such as `AcpStateWaiting`; ''
--- before first use.
---@return string
function M.statusline_group() return module('acp.ui.statusline').group() end

--- Find a function that a feature declares, such as `history`. It is scheduled in a fast context.
return setmetatable(M, {
  __index = function(_, name)
    local fn = type(name) == 'string' and feature(name)
    if not fn then return nil end
    M[name] = function(...)
      if vim.in_fast_event() then return schedule_call(M[name], ...) end
      local args = vim.F.pack_len(...)
      for i = 1, args.n do
        args[i] = from_rpc(args[i])
      end
      return fn(vim.F.unpack_len(args))
    end
    return M[name]
  end,
})
