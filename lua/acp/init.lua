--- The public functions of the plugin. Loads nothing else until one is used.
local M = {}

--- A module of ours, with all that hears of what it tells.
local function module(name)
  require('acp.wiring')
  return require(name)
end

--- In the callback of a timer or of a process hardly anything can be called (|api-fast|): call `fn`
--- with what was given, as it is now, as soon as Neovim allows it.
---@param fn fun(...: any)
local function later(fn, ...)
  local args = vim.deepcopy(vim.F.pack_len(...))
  vim.schedule(function() fn(vim.F.unpack_len(args)) end)
end

--- A caller by RPC passes |vim.NIL| for nil.
local function given(value)
  if value ~= vim.NIL then return value end
end

--- Options of `:help acp-options`. Every mistake is reported at once; what is wrong is ignored.
---@param opts? table
function M.setup(opts) module('acp.config').setup(opts) end

--- Send a prompt; starts agent and session when there are none, and returns at once.
---@param text_or_blocks string|table[] text, or a list of ACP content blocks
---@param opts? acp.PromptOpts
function M.prompt(text_or_blocks, opts)
  if vim.in_fast_event() then return later(M.prompt, text_or_blocks, opts) end
  opts = given(opts)
  if type(opts) == 'table' then
    opts = vim.iter(pairs(opts)):fold({}, function(options, name, value)
      options[name] = given(value)
      return options
    end)
  end
  if not module('acp.base.args').good('prompt', text_or_blocks, opts) then return end
  module('acp.ui.composer.delivery').write(text_or_blocks, opts or {})
end

--- Answer an agent's own requests and hear its own notifications, those whose name starts with
--- `_` (`:help acp.on_extension()`). One handler a name; nil takes it away.
---@param name string
---@param handler acp.ExtensionHandler|nil
function M.on_extension(name, handler) module('acp.base.extensions').on(name, handler) end

--- Ask an agent something beyond the protocol (`:help acp.request()`).
---@param method string starts with `_`
---@param params any
---@param answer acp.ExtensionAnswer called once
---@param opts? acp.RequestOpts
function M.request(method, params, answer, opts)
  if vim.in_fast_event() then return later(M.request, method, params, answer, opts) end
  module('acp.base.extension_requests').send(method, given(params), answer, given(opts))
end

--- Give agents a tool of yours (`:help acp.tool()`); nil takes it away.
---@param name string letters, digits, `_` and `-`
---@param spec acp.ToolSpec|nil
function M.tool(name, spec)
  if vim.in_fast_event() then return later(M.tool, name, spec) end
  module('acp.tools.user_tools').put(name, given(spec))
end

--- Cancel the running turn of a session (default: the current one).
---@param session? integer
function M.cancel(session)
  if vim.in_fast_event() then return later(M.cancel, session) end
  session = given(session)
  if not module('acp.base.args').good('cancel', session) then return end
  module('acp.command.everyday').cancel({ bang = false, session = session })
end

--- Answer a pending decision.
---@param id integer|string as in `state().sessions[n].permissions` or `.elicitations`
---@param choice? string an `optionId`, or 'accept' or 'decline'; nil means cancelled
---@param content? table<string, any> an elicitation's form values by name
function M.answer(id, choice, content)
  if vim.in_fast_event() then return later(M.answer, id, choice, content) end
  choice, content = given(choice), given(content)
  if not module('acp.base.args').good('answer', id, choice, content) then return end
  module('acp.base.host').notify('answer', { id = id, choice = choice, content = content })
end

--- Search the history, or do something with a session of it (`:help acp.history()`).
---@param query acp.HistoryQuery
---@param on_reply? fun(reply: acp.HistoryItem[]|string[])
function M.history(query, on_reply)
  if vim.in_fast_event() then return later(M.history, query, on_reply) end
  module('acp.command.history').ask(query, given(on_reply))
end

--- All tool calls of a session: `state()` has the newest ones only.
---@param session? integer default: the current one
---@param on_reply fun(calls: acp.ToolCall[])
function M.tool_calls(session, on_reply)
  if vim.in_fast_event() then return later(M.tool_calls, session, on_reply) end
  module('acp.command.tool_calls').tell(given(session), on_reply)
end

--- The snapshot of `:help acp-state`, from a cache: never blocks, never starts Python.
---@return acp.State
function M.state()
  local snapshot = module('acp.base.state').snapshot()
  local seen = package.loaded['acp.ui.question.seen']
  return seen and seen.annotate(snapshot) or snapshot
end

--- Agent, state, pending permissions and context used, for a statusline. Never starts Python.
---@return string
function M.statusline() return module('acp.ui.statusline').text() end

return M
