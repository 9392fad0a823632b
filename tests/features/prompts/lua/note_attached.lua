-- Note in `_G.attached` what a user's LspAttach may look at: name and root of the client, buffer.
vim.api.nvim_create_autocmd('LspAttach', {
  callback = function(args)
    local client = assert(vim.lsp.get_client_by_id(args.data.client_id))
    _G.attached = { client.name, client.workspace_folders[1].name, args.buf }
  end,
})
-- Count in `_G.attach_calls` how often the plugin attaches its server.
_G.attach_calls = 0
local server = require('acp.features.prompts.composer.server')
local attach = server.attach
server.attach = function(...)
  _G.attach_calls = _G.attach_calls + 1
  return attach(...)
end
