--- The language server of the sample project (`acp_nvim/tutor/language_server.py`): for copies of
--- that project alone.
local M = {}

--- Serve the Python files of a copy of the sample, those that are open and those to come.
---@param directory string
function M.serve(directory)
  local python = require('acp.base.python')
  local program = vim.fs.joinpath(python.root(), 'acp_nvim', 'tutor', 'language_server.py')
  local root = vim.uv.fs_realpath(directory) or directory
  local function start(bufnr)
    local path = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(bufnr)) or ''
    if vim.fs.dirname(path) ~= root or not vim.endswith(path, '.py') then return end
    local argv = python.argv(python.find(), '-I', '-S', program)
    vim.lsp.start({ name = 'till', cmd = argv, root_dir = root }, { bufnr = bufnr })
  end
  vim.api.nvim_create_autocmd('FileType', {
    pattern = 'python',
    callback = function(args) start(args.buf) end,
  })
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) then start(bufnr) end
  end
end

return M
