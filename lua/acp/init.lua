--- What other plugins and a user's own configuration may call. Loads nothing else until used.
local M = {}

--- Options of `:help acp-options`. Every mistake is reported at once; what is wrong is ignored.
---@param opts? table
function M.setup(opts)
  require('acp.config').setup(opts)
end

--- Send a prompt; starts agent and session when there are none, and returns at once.
---@param text_or_blocks string|table[] text, or a list of ACP content blocks
---@param opts? acp.PromptOpts
function M.prompt(text_or_blocks, opts)
  opts = opts or {}
  local args = {
    session = opts.session,
    new = opts.new,
    agent = opts.agent,
    attach = opts.attach and require('acp.context').absolute(opts.attach) or nil,
    cwd = require('acp.context').cwd(),
  }
  args[type(text_or_blocks) == 'table' and 'blocks' or 'text'] = text_or_blocks
  require('acp.host').notify('prompt', args)
end

--- Cancel the running turn of a session (default: the current one).
---@param session? integer
function M.cancel(session)
  require('acp.command').cancel({ bang = false, session = session })
end

--- Answer a pending decision.
---@param id integer|string as in `state().sessions[n].permissions` or `.elicitations`
---@param choice? string an `optionId`, or 'accept' or 'decline'; nil means cancelled
---@param content? table<string, any> an elicitation's form values by name
function M.answer(id, choice, content)
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
