--- Commands of language servers. Their edits are returned instead of being applied.
local M = {}

local clients = require('acp.buffers.language.clients')

local LIMIT_MS = 5000
local METHOD = 'workspace/applyEdit'

---@class acp.CommandQuestion
---@field client integer
---@field path string
---@field session? integer
---@field command { command: string, arguments?: any[] }

local function knows(client, command)
  local known = vim.tbl_get(client.server_capabilities, 'executeCommandProvider', 'commands') or {}
  return vim.tbl_contains(known, command)
end

--- Collect the client's edits until the returned function is called.
local function capture(client, edits)
  local own = client.handlers[METHOD]
  client.handlers[METHOD] = function(_, params)
    edits[#edits + 1] = params.edit
    return { applied = true }
  end
  return function() client.handlers[METHOD] = own end
end

--- Run a command on a server and reply with the WorkspaceEdits that it sends while the command
--- runs.
---@param reply acp.Reply
---@param question acp.CommandQuestion
---@return fun()|nil cancel
function M.run(reply, question)
  local client = vim.lsp.get_client_by_id(question.client)
  if not client then return reply(nil, 'the language server has stopped') end
  local command = question.command
  if not knows(client, command.command) then
    return reply(nil, ('%s has no command %s'):format(client.name, command.command))
  end
  local bufnr, why = require('acp.buffers.language.hidden').buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  local edits = {}
  local release = capture(client, edits)
  local params = { command = command.command, arguments = command.arguments }
  local cancel = clients.ask(
    client,
    'workspace/executeCommand',
    params,
    bufnr,
    LIMIT_MS,
    function(err)
      release()
      reply(edits, err)
    end
  )
  return function()
    release()
    cancel()
  end
end

return M
