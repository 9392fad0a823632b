--- Buffer `acp://report`: a report that the user can read and change. `:w` writes it to a file.
local M = {}

local api = vim.api

local NAME = 'acp://report'
local MODE = 384 -- 0600: only the user may read it
local PATIENCE_MS = 5000 -- for the host's part
local NOT_REDACTED = {
  'Python does not run here, so secrets were not searched for: read each line before you share it.',
  '',
}

local file ---@type string path that `:w` writes to
local waiting ---@type string[]? lines to which the host has not added its part yet

--- Show why the file cannot be written.
---@param problem string of libuv: code, reason, and the path
local function report_problem(problem)
  local reason = problem:match('^%w+: ([^:]+)') or problem
  -- An error in an autocommand would cause a hit-enter prompt.
  require('acp.base.notify').show('warn', 'report_not_written', reason)
end

--- Write a text to an open file.
---@return string? problem
local function write_all(handle, text)
  local done = 0
  while done < #text do
    local count, problem = vim.uv.fs_write(handle, text:sub(done + 1))
    if not count then return problem end
    done = done + count
  end
end

--- Write the buffer to the file. Without `!`, keep a file that exists.
local function write(bufnr)
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n') .. '\n'
  pcall(vim.fn.mkdir, vim.fs.dirname(file), 'p') -- if this fails, the next line has the reason
  local handle, problem = vim.uv.fs_open(file, vim.v.cmdbang == 1 and 'w' or 'wx', MODE)
  if not handle then return report_problem(problem) end
  vim.uv.fs_fchmod(handle, MODE)
  local why = write_all(handle, text)
  vim.uv.fs_close(handle)
  if why then
    if vim.v.cmdbang == 0 then vim.uv.fs_unlink(file) end -- a part of the report
    return report_problem(why)
  end
  vim.bo[bufnr].modified = false
  require('acp.base.notify').show('info', 'report_written', vim.fn.fnamemodify(file, ':~'))
end

---@return integer bufnr
local function ensure()
  local scratch = require('acp.ui.scratch')
  local bufnr, created = scratch.ensure_writable(NAME)
  if created then
    scratch.on_write(bufnr, function() write(bufnr) end)
    require('acp.ui.keymaps').attach('report', bufnr)
    scratch.set_filetype(bufnr, 'markdown')
  end
  return bufnr
end

local function open(bufnr, enter)
  local path = require('acp.ui.win').literal(vim.fn.fnamemodify(file, ':~'))
  local options = { winbar = (' %s %%<%s'):format(require('acp.base.messages').report_bar, path) }
  local where = { layout = 'bottom', size = 0.5, enter = enter, options = options }
  require('acp.ui.window').show(bufnr, where)
end

--- Frame operation: show a report in its own window. A report that comes late does not replace one
--- that the user has changed.
---@param lines string[]
function M.show(lines)
  waiting = nil
  local bufnr = ensure()
  if vim.bo[bufnr].modified then return end
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modified = false
  open(bufnr, require('acp.ui.report').may_take_focus())
end

--- Return lines with `~` for the home directory.
---@param lines string[]
local function without_home(lines)
  local home = vim.uv.os_homedir() or ''
  local paths = { home, (vim.uv.fs_realpath(home)) }
  table.sort(paths, function(a, b) return #a > #b end) -- one may contain the other
  for _, path in ipairs(paths) do
    path = path:gsub('/+$', '')
    -- not the beginning of another name, but perhaps the end of a sentence
    local pattern = vim.pesc(path) .. '(%.*)%f[^%w._-]'
    lines = path == '' and lines
      or vim.tbl_map(function(line) return (line:gsub(pattern, '~%1')) end, lines)
  end
  return lines
end

--- Show a report without the host's part. A separate Python process removes the secrets.
---@param lines string[]
local function show_without_host(lines)
  local python = require('acp.base.host.python')
  local argv = python.argv((python.find()), '-P', '-m', 'acp_nvim.features.report.redaction')
  local agents = require('acp.config').for_host().agents
  local opts = {
    stdin = vim.json.encode({ lines = lines, agents = agents }),
    cwd = python.root(),
    env = { PYTHONPATH = python.root() },
    timeout = PATIENCE_MS,
  }
  local function finish(result)
    local good, redacted = pcall(vim.json.decode, result.stdout or '')
    M.show(good and redacted or vim.list_extend(vim.list_slice(NOT_REDACTED), without_home(lines)))
  end
  local ok = pcall(vim.system, argv, opts, vim.schedule_wrap(finish))
  if not ok then finish({}) end
end

--- Let the host add its part. If it does not answer, show the report without it.
---@param lines string[]
local function ask_host(lines)
  waiting = lines
  require('acp.ui.subcommand').notify('report', { lines = lines })
  vim.defer_fn(function()
    if waiting == lines then show_without_host(lines) end
  end, PATIENCE_MS)
end

--- Make a report. The host adds its part, unless it is not running. A report that the user has
--- changed is shown again instead.
---@param path? string file that `:w` writes; by default one in stdpath('state')
function M.make(path)
  local old = require('acp.ui.scratch').find(NAME)
  if old and vim.bo[old].modified then return open(old, true) end
  file = path or vim.fs.joinpath(vim.fn.stdpath('state'), 'acp', os.date('report-%Y%m%d-%H%M%S.md'))
  local lines = require('acp.features.report.contents').lines()
  require('acp.ui.report').allow_focus()
  local is_running = require('acp.base.host').is_running()
  return (is_running and ask_host or show_without_host)(lines)
end

return M
