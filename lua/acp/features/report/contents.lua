--- Contents of a report that Neovim knows: versions, changed options, health.
local M = {}

local HEAD = {
  '# Report about acp.nvim',
  '',
  'Read this report, and remove lines that you do not want to share. It has no prompts,',
  'answers, file contents, values of environment variables, or texts of options.',
}
local LONGEST_WORD = 24 -- characters of a text that is shown

--- Return the value of an option without the user's texts: only numbers, switches and single words,
--- and for a command, only its program.
---@param path string[] names of the option, outermost first
local function redact(path, value)
  local kind, name = type(value), path[#path]
  local is_private = vim.tbl_contains(path, 'env') or vim.tbl_contains(path, 'headers')
  if kind == 'boolean' or kind == 'number' then return tostring(value) end
  if kind ~= 'string' then return ('(%s)'):format(kind) end
  local is_word = #value <= LONGEST_WORD and value:match('^[%w_-]+$')
  if is_word and not is_private and name ~= 'url' then return value end
  return ('(text, %d bytes)'):format(#value)
end

local function is_list(value) return type(value) == 'table' and vim.islist(value) and #value > 0 end

--- Collect the options that differ from their defaults.
---@param lines string[]
---@param path string[]
local function add_options(lines, path, value, default)
  if vim.deep_equal(value, default) then return end
  local label = table.concat(path, '.')
  if path[#path] == 'command' and is_list(value) then
    local program = vim.fs.basename(tostring(value[1]))
    lines[#lines + 1] = ('%s = %s, %d arguments'):format(label, program, #value - 1)
  elseif is_list(value) then
    lines[#lines + 1] = ('%s = (%d items)'):format(label, #value)
  elseif type(value) == 'table' then
    for _, key in ipairs(require('acp.base.sorted_keys')(value)) do
      local known = type(default) == 'table' and default or {}
      local inner = vim.list_extend({ unpack(path) }, { tostring(key) })
      add_options(lines, inner, value[key], known[key])
    end
  else
    lines[#lines + 1] = ('%s = %s'):format(label, redact(path, value))
  end
end

---@return string[]
local function options()
  local config, lines = require('acp.config'), {}
  add_options(lines, {}, config.get(), config.defaults)
  return #lines > 0 and lines or { 'All options have their defaults.' }
end

--- Run the checks of `:checkhealth acp`.
---@return string[]
local function health()
  local lines = {}
  local function line(mark)
    return function(text, advice)
      lines[#lines + 1] = mark .. text
      for _, hint in ipairs(type(advice) == 'table' and advice or { advice }) do
        lines[#lines + 1] = '  advice: ' .. hint
      end
    end
  end
  require('acp.base.installation.checks').run({
    start = line(''),
    ok = line('  ok: '),
    info = line('  '),
    warn = line('  warning: '),
    error = line('  ERROR: '),
  })
  return lines
end

---@return string[]
local function versions()
  local system, neovim = vim.uv.os_uname(), vim.fn.split(vim.fn.execute('version'), '\n')
  local terminal = vim.env.TERM_PROGRAM or vim.env.TERM or 'unknown'
  return {
    'acp.nvim ' .. require('acp.base.installation.version').line(),
    table.concat(vim.list_slice(neovim, 1, 3), ', '),
    ('%s %s %s'):format(system.sysname, system.release, system.machine),
    ('terminal %s%s'):format(terminal, vim.env.TMUX and ', in tmux' or ''),
  }
end

---@param lines string[]
---@param title string
---@param part string[]
local function add_part(lines, title, part)
  vim.list_extend(lines, { '', '## ' .. title, '', '```' })
  vim.list_extend(lines, part)
  lines[#lines + 1] = '```'
end

--- Return the lines of a report, without the host's part.
---@return string[]
function M.lines()
  local lines = vim.list_slice(HEAD)
  add_part(lines, 'Versions', versions())
  add_part(lines, 'Options that differ from the defaults', options())
  add_part(lines, 'Health', health())
  return lines
end

return M
