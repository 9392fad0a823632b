--- Loaded files with their language server state, and their formatters.
local M = {}

local api = vim.api
local hidden = require('acp.buffers.language.hidden')

--- Return all loaded files by real path: changedtick, the version last sent to servers, and the ids
--- of those servers.
---@return table<string, { tick: integer, version?: integer, clients: integer[] }>
function M.loaded()
  local documents = vim.empty_dict()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local path = api.nvim_buf_is_loaded(bufnr) and require('acp.base.places').real_path(bufnr)
    if path then
      local clients = vim.lsp.get_clients({ bufnr = bufnr })
      documents[path] = {
        tick = api.nvim_buf_get_changedtick(bufnr),
        version = #clients > 0 and vim.lsp.util.buf_versions[bufnr] or nil,
        clients = vim.tbl_map(function(client) return client.id end, clients),
      }
    end
  end
  return documents
end

--- Return the diagnostics of servers for these rows of a file (0-based, inclusive), as LSP
--- diagnostics.
---@return table[]
function M.diagnostics(path, first, last)
  local bufnr = hidden.buffer(path)
  local originals = {}
  for _, diagnostic in
    ipairs(bufnr and require('acp.buffers.language.raw_diagnostics').get(bufnr) or {})
  do
    local original = vim.tbl_get(diagnostic, 'user_data', 'lsp')
    if
      original
      and diagnostic.lnum <= last
      and (diagnostic.end_lnum or diagnostic.lnum) >= first
    then
      originals[#originals + 1] = original
    end
  end
  return originals
end

local function options(bufnr)
  local width = api.nvim_buf_call(bufnr, function() return vim.fn.shiftwidth() end)
  return { tabSize = width, insertSpaces = vim.bo[bufnr].expandtab }
end

--- Return the user's formatters for a file in conform.nvim, if that is loaded.
local function formatters(bufnr)
  local conform = package.loaded.conform
  if not conform or not conform.list_formatters_to_run then return {} end
  return (conform.list_formatters_to_run(bufnr))
end

--- Reply with the formatters of a file without running them: options for a language server,
--- formatters of conform.nvim, and the user's formatting option as `option:value`.
---@param reply acp.Reply
---@param question acp.FormatQuestion
function M.formatters(reply, question)
  local bufnr, why = hidden.buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  reply({
    options = options(bufnr),
    conform = vim.tbl_map(function(formatter) return formatter.name end, formatters(bufnr)),
    option = require('acp.buffers.language.formatting').option(bufnr),
  })
end

---@class acp.FormatQuestion
---@field path string
---@field session? integer session that the file may be loaded for
---@field lines string[] text to format
---@field range? integer[] first and last row, 0-based

--- Format a text with the user's formatters, without changing the buffer. Reply with `lines` and
--- `ranged` (whether only the range was formatted), or an empty table if there are no formatters.
---@param reply acp.Reply
---@param question acp.FormatQuestion
function M.format(reply, question)
  local bufnr, why = hidden.buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  local usable = formatters(bufnr)
  if #usable == 0 then return reply(vim.empty_dict()) end
  local range = question.range
    and {
      start = { question.range[1] + 1, 0 },
      ['end'] = { question.range[2] + 1, #(question.lines[question.range[2] + 1] or '') },
    }
  local how = { exclusive = false, dry_run = false, undojoin = false }
  require('conform.runner').format_lines_async(
    bufnr,
    usable,
    range,
    question.lines,
    how,
    function(err, lines, ranged)
      if err then return reply(nil, err.message or 'the formatter failed') end
      reply({ lines = lines, ranged = range ~= nil and ranged })
    end
  )
end

return M
