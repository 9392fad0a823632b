_G.opened, _G.closed = {}, {}
local lists = {
  ['textDocument/didOpen'] = _G.opened,
  ['textDocument/didClose'] = _G.closed,
}
vim.api.nvim_create_autocmd('LspAttach', {
  callback = function(args)
    local rpc = vim.lsp.get_client_by_id(args.data.client_id).rpc
    local notify = rpc.notify
    rpc.notify = function(method, params)
      local uri = vim.tbl_get(params or {}, 'textDocument', 'uri')
      if lists[method] and vim.fn.bufexists(vim.uri_to_fname(uri)) == 0 then
        table.insert(lists[method], uri)
      end
      return notify(method, params)
    end
  end,
})
