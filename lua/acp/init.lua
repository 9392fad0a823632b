--- What other plugins and a user's own configuration may call. Loads nothing else until used.
local M = {}

--- What comes from outside, by RPC, spells nil as |vim.NIL|.
---@param value any
---@return any
local function given(value)
  if value ~= vim.NIL then
    return value
  end
end

--- Options of `:help acp-options`. Every mistake is reported at once; what is wrong is ignored.
---@param opts? table
function M.setup(opts)
  require('acp.config').setup(opts)
end

--- Send a prompt; starts agent and session when there are none, and returns at once.
---@param text_or_blocks string|table[] text, or a list of ACP content blocks
---@param opts? acp.PromptOpts
function M.prompt(text_or_blocks, opts)
  if vim.in_fast_event() then
    return require('acp.later')(M.prompt, text_or_blocks, opts)
  end
  opts = given(opts)
  if type(opts) == 'table' then
    opts = vim.iter(pairs(opts)):fold({}, function(options, name, value)
      options[name] = given(value)
      return options
    end)
  end
  if not require('acp.args').good('prompt', text_or_blocks, opts) then
    return
  end
  opts = opts or {}
  local context = require('acp.context')
  local n = opts.session or require('acp.composer').default()
  local blocks = type(text_or_blocks) == 'table'
  local text = blocks and '' or text_or_blocks --[[@as string]]
  local args = context.prompt(text, nil, n, context.absolute(opts.attach or {}))
  args.session, args.new, args.agent, args.meta = opts.session, opts.new, opts.agent, opts.meta
  if blocks then
    local list = vim.islist(text_or_blocks) and text_or_blocks or { text_or_blocks }
    args.text, args.blocks = nil, list
  end
  require('acp.delivery').prompt(n, args)
end

--- Answer an agent's own requests and hear its own notifications, those whose name starts with
--- `_` (`:help acp.on_extension()`). One handler a name; nil takes it away.
---@param name string
---@param handler acp.ExtensionHandler|nil
function M.on_extension(name, handler)
  require('acp.extensions').on(name, handler)
end

--- Cancel the running turn of a session (default: the current one).
---@param session? integer
function M.cancel(session)
  if vim.in_fast_event() then
    return require('acp.later')(M.cancel, session)
  end
  session = given(session)
  if not require('acp.args').good('cancel', session) then
    return
  end
  require('acp.command').cancel({ bang = false, session = session })
end

--- Answer a pending decision.
---@param id integer|string as in `state().sessions[n].permissions` or `.elicitations`
---@param choice? string an `optionId`, or 'accept' or 'decline'; nil means cancelled
---@param content? table<string, any> an elicitation's form values by name
function M.answer(id, choice, content)
  if vim.in_fast_event() then
    return require('acp.later')(M.answer, id, choice, content)
  end
  choice, content = given(choice), given(content)
  if not require('acp.args').good('answer', id, choice, content) then
    return
  end
  require('acp.host').notify('answer', { id = id, choice = choice, content = content })
end

--- The snapshot of `:help acp-state`, from a cache: never blocks, never starts Python.
---@return acp.State
function M.state()
  return require('acp.state').snapshot()
end

--- Agent, state, pending permissions and context used, for a statusline. Never starts Python.
---@return string
function M.statusline()
  return require('acp.statusline').text()
end

return M
