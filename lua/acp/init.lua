--- Public functions of the plugin. Other modules are loaded when one is used.
local M = {}

--- Load a module of the plugin after the listeners of its signals.
local function module(name)
  require('acp.wiring')
  return require(name)
end

--- Schedule a call of `fn` with a copy of its present arguments, for callers in a fast context
--- (|api-fast|) such as the callback of a timer.
---@param fn fun(...: any)
local function later(fn, ...)
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
  if vim.in_fast_event() then return later(M.prompt, text_or_blocks, opts) end
  opts = from_rpc(opts)
  if type(opts) == 'table' then
    opts = vim.iter(pairs(opts)):fold({}, function(options, name, value)
      options[name] = from_rpc(value)
      return options
    end)
  end
  if not module('acp.base.args').good('prompt', text_or_blocks, opts) then return end
  module('acp.features.prompts.delivery').write(text_or_blocks, opts or {})
end

--- Set the handler of an agent's extension requests or notifications, whose methods start with `_`
--- (`:help acp.on_extension()`). Each method has one handler; nil removes it.
---@param name string
---@param handler acp.ExtensionHandler|nil
function M.on_extension(name, handler)
  local handlers = module('acp.features.extensions.handlers')
  handlers.on(name, handler)
end

--- Send an extension request to an agent (`:help acp.request()`).
---@param method string starts with `_`
---@param params any
---@param answer acp.ExtensionAnswer called once
---@param opts? acp.RequestOpts
function M.request(method, params, answer, opts)
  if vim.in_fast_event() then return later(M.request, method, params, answer, opts) end
  module('acp.features.extensions.requests').send(method, from_rpc(params), answer, from_rpc(opts))
end

--- Register a tool for agents (`:help acp.tool()`). nil removes it.
---@param name string letters, digits, `_` and `-`
---@param spec acp.ToolSpec|nil
function M.tool(name, spec)
  if vim.in_fast_event() then return later(M.tool, name, spec) end
  module('acp.features.tools.user_tools').put(name, from_rpc(spec))
end

--- Cancel the running turn of a session.
---@param session? integer the current one by default
function M.cancel(session)
  if vim.in_fast_event() then return later(M.cancel, session) end
  session = from_rpc(session)
  if not module('acp.base.args').good('cancel', session) then return end
  module('acp.features.prompts.commands').cancel({ bang = false, session = session })
end

--- Answer a pending permission or question.
---@param id integer|string as in `state().sessions[n].permissions` or `.elicitations`
---@param choice? string an `optionId`, or 'accept' or 'decline'; nil means cancelled
---@param content? table<string, any> form values of an elicitation by name
function M.answer(id, choice, content)
  if vim.in_fast_event() then return later(M.answer, id, choice, content) end
  choice, content = from_rpc(choice), from_rpc(content)
  if not module('acp.base.args').good('answer', id, choice, content) then return end
  module('acp.base.host').notify('answer', { id = id, choice = choice, content = content })
end

--- Search the history or act on one of its sessions (`:help acp.history()`).
---@param query acp.HistoryQuery
---@param on_reply? fun(reply: acp.HistoryItem[]|string[])
function M.history(query, on_reply)
  if vim.in_fast_event() then return later(M.history, query, on_reply) end
  module('acp.features.history.query').ask(query, from_rpc(on_reply))
end

--- Request all tool calls of a session. `state()` has only the newest ones.
---@param session? integer the current one by default
---@param on_reply fun(calls: acp.ToolCall[])
function M.tool_calls(session, on_reply)
  if vim.in_fast_event() then return later(M.tool_calls, session, on_reply) end
  module('acp.features.sessions.tool_calls').tell(from_rpc(session), on_reply)
end

--- Return the snapshot of `:help acp-state` from a cache. This never blocks or starts Python.
---@return acp.State
function M.state()
  local snapshot = module('acp.base.state').snapshot()
  local seen = package.loaded['acp.features.permissions.seen']
  return seen and seen.annotate(snapshot) or snapshot
end

--- Return agent, state, pending permissions and used context for a statusline. This never starts
--- Python.
---@return string
function M.statusline() return module('acp.ui.statusline').text() end

return M
