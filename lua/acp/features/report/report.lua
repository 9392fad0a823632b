--- Buffer `acp://report`: a report that the user can read and change. `:w` writes it to a file.
local M = {}

local api = vim.api

local NAME = 'acp://report'
local MODE = 384 -- 0600: only the user may read it

local file ---@type string path that `:w` writes to

--- Show why the file cannot be written.
---@param problem string of libuv: code, reason, and the path
local function report_problem(problem)
  local reason = problem:match('^%w+: ([^:]+)') or problem
  local text = require('acp.base.messages').report_not_written:format(reason)
  require('acp.base.notify').echo('warn', text) -- an error in an autocommand needs a key
end

--- Write the buffer to the file. Without `!`, keep a file that exists.
local function write(bufnr)
  local messages, notify = require('acp.base.messages'), require('acp.base.notify')
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n') .. '\n'
  pcall(vim.fn.mkdir, vim.fs.dirname(file), 'p') -- if this fails, the next line has the reason
  local handle, problem = vim.uv.fs_open(file, vim.v.cmdbang == 1 and 'w' or 'wx', MODE)
  if not handle then return report_problem(problem) end
  local written, why = vim.uv.fs_write(handle, text)
  vim.uv.fs_fchmod(handle, MODE)
  vim.uv.fs_close(handle)
  if not written then return report_problem(why) end
  vim.bo[bufnr].modified = false
  notify.echo('info', messages.report_written:format(vim.fn.fnamemodify(file, ':~')))
end

---@return integer bufnr
local function ensure()
  local bufnr = vim.fn.bufadd(NAME)
  if api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == 'acwrite' then return bufnr end
  vim.fn.bufload(bufnr)
  require('acp.ui.scratch').set_writable(bufnr, { bufhidden = 'wipe' })
  require('acp.base.autocmds').in_buffer(bufnr, 'BufWriteCmd', function()
    if not require('acp.buffers.automatic_saves').is_automatic() then write(bufnr) end
  end)
  require('acp.ui.keymaps').attach('report', bufnr)
  require('acp.ui.scratch').set_filetype(bufnr, 'markdown')
  return bufnr
end

local function open(bufnr, enter)
  local path = require('acp.ui.win').literal(vim.fn.fnamemodify(file, ':~'))
  local options = { winbar = (' %s %%<%s'):format(require('acp.base.messages').report_bar, path) }
  local where = { layout = 'bottom', size = 0.5, enter = enter, options = options }
  require('acp.ui.window').show(bufnr, where)
end

--- Frame operation: show a report in a window of its own.
---@param lines string[]
function M.show(lines)
  local bufnr = ensure()
  api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modified = false
  open(bufnr, require('acp.ui.report').may_take_focus())
end

--- Make a report. The host adds its part; if it does not run, the report has none. A report that
--- the user has changed is shown again instead.
---@param path? string file that `:w` writes; by default one in stdpath('state')
function M.make(path)
  local old = require('acp.ui.scratch').find(NAME)
  if old and vim.bo[old].modified then return open(old, true) end
  file = path or vim.fs.joinpath(vim.fn.stdpath('state'), 'acp', os.date('report-%Y%m%d-%H%M%S.md'))
  local lines = require('acp.features.report.contents').lines()
  require('acp.ui.report').allow_focus()
  if require('acp.base.host').is_running() then
    require('acp.ui.subcommand').notify('report', { lines = lines })
  else
    local home = vim.pesc(vim.uv.os_homedir())
    M.show(vim.tbl_map(function(line) return (line:gsub(home, '~')) end, lines))
  end
end

return M
