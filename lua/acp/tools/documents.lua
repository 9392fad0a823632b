--- Loaded files as language servers know them, and what formats them.
local M = {}

local api, uv = vim.api, vim.uv
local hidden = require('acp.tools.hidden')

local function path_of(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  if name == '' or not api.nvim_buf_is_loaded(bufnr) or vim.bo[bufnr].buftype ~= '' then return end
  return uv.fs_realpath(name)
end

--- All loaded files by real path: changedtick, the version that servers were told last, and the ids
--- of those servers.
---@return table<string, { tick: integer, version?: integer, clients: integer[] }>
function M.loaded()
  local found = vim.empty_dict()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    local path = path_of(bufnr)
    if path then
      local clients = vim.lsp.get_clients({ bufnr = bufnr })
      found[path] = {
        tick = api.nvim_buf_get_changedtick(bufnr),
        version = #clients > 0 and vim.lsp.util.buf_versions[bufnr] or nil,
        clients = vim.tbl_map(function(client) return client.id end, clients),
      }
    end
  end
  return found
end

--- What servers have said about these rows of a file (0-based, the last one included), as they
--- said it.
---@return table[]
function M.diagnostics(path, first, last)
  local bufnr = hidden.buffer(path)
  local found = {}
  for _, it in ipairs(bufnr and require('acp.tools.uncopied').get(bufnr) or {}) do
    local said = vim.tbl_get(it, 'user_data', 'lsp')
    if said and it.lnum <= last and (it.end_lnum or it.lnum) >= first then
      found[#found + 1] = said
    end
  end
  return found
end

local function options(bufnr)
  local width = api.nvim_buf_call(bufnr, function() return vim.fn.shiftwidth() end)
  return { tabSize = width, insertSpaces = vim.bo[bufnr].expandtab }
end

--- The formatters that the user has for a file by conform.nvim; none where that is not loaded.
local function formatters(bufnr)
  local conform = package.loaded.conform
  if not conform or not conform.list_formatters_to_run then return {} end
  return (conform.list_formatters_to_run(bufnr))
end

--- What formats a file: options for a language server, formatters of conform.nvim, and the option
--- of the user that counts, as `option:value`. Nothing runs.
---@param reply acp.Reply
---@param question acp.FormatQuestion
function M.formatters(reply, question)
  local bufnr, why = hidden.buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  reply({
    options = options(bufnr),
    conform = vim.tbl_map(function(one) return one.name end, formatters(bufnr)),
    option = require('acp.tools.formatting').option(bufnr),
  })
end

---@class acp.FormatQuestion
---@field path string
---@field session? integer nil: the file is not loaded for it
---@field lines string[] the text
---@field range? integer[] first and last row, 0-based

--- Format a text as the user's formatters do; the buffer stays as it is. Answers, if there are
--- formatters, with `lines` and whether `ranged`: only the range was formatted.
---@param reply acp.Reply
---@param question acp.FormatQuestion
function M.format(reply, question)
  local bufnr, why = hidden.buffer(question.path, question.session)
  if not bufnr then return reply(nil, why) end
  local found = formatters(bufnr)
  if #found == 0 then return reply(vim.empty_dict()) end
  local range = question.range
    and {
      start = { question.range[1] + 1, 0 },
      ['end'] = { question.range[2] + 1, #(question.lines[question.range[2] + 1] or '') },
    }
  local how = { exclusive = false, dry_run = false, undojoin = false }
  require('conform.runner').format_lines_async(
    bufnr,
    found,
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
