--- Differences between the supported versions of Neovim, 0.10 and later. Each comment names the
--- first version that does not need the workaround.
local M = {}

local is_011 = vim.fn.has('nvim-0.11') == 1

--- Compare two texts. 0.12 has renamed the function.
M.diff = vim.text and vim.text.diff or vim.diff

--- Value of `virt_lines_overflow` for virtual lines wider than the window (0.11).
M.virt_lines_overflow = is_011 and 'scroll' or nil

--- Whether `nvim_buf_set_text()` splits the fold around a change to several lines (0.11).
M.cuts_folds = not is_011

--- Whether `nvim_win_set_config()` moves a float above others (0.11).
M.raises_floats = is_011

--- Whether tree-sitter parsing can be split into time slices (0.11).
M.can_parse_in_slices = is_011

--- Return whether a language has a tree-sitter parser that matches its highlight query. An
--- installed parser may be older than Neovim. In 0.10, `add()` returns nil when it has loaded a
--- parser (0.11).
---@param lang string
---@return boolean
function M.has_parser(lang)
  local ok, added = pcall(vim.treesitter.language.add, lang)
  if not ok or added == false or (added == nil and is_011) then return false end
  local fits, query = pcall(vim.treesitter.query.get, lang, 'highlights')
  return fits and query ~= nil
end

--- Return an environment in the shape that `vim.system` takes with `clear_env`. 0.10 passes it
--- unchanged to libuv, which expects a list (0.11).
---@param env table<string, string>
---@return table
function M.whole_env(env)
  if is_011 then return env end
  return vim.iter(env):map(function(name, value) return name .. '=' .. value end):totable()
end

--- Write to the terminal in which Neovim runs (0.12).
---@param text string
function M.to_terminal(text)
  if vim.api.nvim_ui_send then
    vim.api.nvim_ui_send(text)
  else
    vim.api.nvim_chan_send(2, text)
  end
end

--- Start a program in the current buffer as a terminal (0.11).
---@param cmd string[]
---@param opts table options of jobstart()
---@return integer job
function M.start_terminal(cmd, opts)
  if not is_011 then return vim.fn.termopen(cmd, opts) end
  return vim.fn.jobstart(cmd, vim.tbl_extend('error', opts, { term = true }))
end

--- Return whether a language server supports a method for a buffer. `client:method()` works since
--- 0.11.
---@param client vim.lsp.Client
---@param method string
---@param bufnr integer
---@return boolean
function M.lsp_supports(client, method, bufnr)
  if is_011 then return client:supports_method(method, bufnr) end
  ---@diagnostic disable-next-line: missing-parameter, param-type-mismatch
  return client.supports_method(method, { bufnr = bufnr })
end

--- Send a request to a language server (0.11).
---@param client vim.lsp.Client
function M.lsp_request(client, ...)
  if is_011 then return client:request(...) end
  return client.request(...)
end

--- Cancel a request to a language server (0.11).
---@param client vim.lsp.Client
---@param id integer
function M.lsp_cancel(client, id)
  if is_011 then return client:cancel_request(id) end
  return client.cancel_request(id)
end

return M
