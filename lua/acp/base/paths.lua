--- Conversions of paths: absolute, as typed by the user, and as shown on one line.
local M = {}

local windows = vim.fn.has('win32') == 1

--- Pattern of the characters that a backslash quotes in a typed path. `\n` is a line break.
local QUOTED = windows and '\\([ \t])' or '\\([%p%sn])'

local function is_absolute(path)
  return path:sub(1, 1) == '/' or windows and path:match('^%a:[/\\]') ~= nil
end

--- Return the absolute, normalized form of a path. Nothing in it is expanded.
---@param cwd? string
---@return string
function M.absolute(path, cwd)
  if not is_absolute(path) then path = (cwd or vim.fn.getcwd()) .. '/' .. path end
  return vim.fs.normalize(path, { expand_env = false })
end

--- Return the absolute path of a name that may begin with `~`. Nothing else in it is expanded.
---@param cwd? string
---@return string
function M.expand_home(name, cwd)
  return M.absolute(vim.fs.normalize(name, { expand_env = false }), cwd)
end

--- Return whether a path is below one of these directories.
---@param roots string[]
---@return boolean
function M.is_below(path, roots)
  return vim
    .iter(roots)
    :any(function(root) return vim.startswith(path, (root:gsub('/+$', '')) .. '/') end)
end

--- Return a path on one line: each control or invisible character is spelled out.
---@return string
function M.on_one_line(path)
  local line = path:gsub('[\t\n\r]', { ['\t'] = '^I', ['\n'] = '^J', ['\r'] = '^M' })
  return require('acp.base.notify').one_line(line)
end

--- Return a path on one line, relative to the current directory or to the home directory.
---@return string
function M.display(path)
  local below = vim.fn.fnamemodify(path, ':.')
  if below:sub(1, 1) == '~' then return M.on_one_line('./' .. below) end
  return M.on_one_line(vim.fn.fnamemodify(path, ':~:.'))
end

--- Return the name of a file in a list: as `display`, but a file in the worktree of a session below
--- the name of that worktree, whose own path is long.
---@return string
function M.label(path)
  local name = M.display(path)
  if not is_absolute(name) and name:sub(1, 1) ~= '~' then return name end
  for _, session in pairs(require('acp.base.state').get().sessions) do
    local tree = session.worktree and session.worktree.path
    if tree and M.is_below(path, { tree }) then
      return M.on_one_line(vim.fs.basename(tree) .. path:sub(#tree + 1))
    end
  end
  return name
end

--- Replace each quoted character of a typed path with a NUL; `unmask` puts them back.
---@return string masked
---@return fun(text: string): string unmask
local function mask(word)
  local quoted = {}
  local masked = word:gsub(QUOTED, function(character)
    quoted[#quoted + 1] = character == 'n' and '\n' or character
    return '\0'
  end)
  return masked,
    function(text)
      local i = 0
      return (text:gsub('%z', function()
        i = i + 1
        return quoted[i]
      end))
    end
end

--- Replace each quoted character and its backslash with two NULs. Positions in the text stay the
--- same.
---@param text string
---@return string
function M.hide_quoted(text) return (text:gsub('\\[%p%s]', '\0\0')) end

--- Split a command line into words at blanks that no backslash quotes. The words stay quoted.
---@return string[]
function M.words(line)
  local words = {}
  local masked = M.hide_quoted(line)
  for first, last in masked:gmatch('()[^ \t\n]+()') do
    words[#words + 1] = line:sub(first, last - 1)
  end
  return words
end

--- Return a typed path without its backslashes.
---@return string
function M.unquote(word)
  local masked, unmask = mask(word)
  return unmask(masked)
end

--- Return a path quoted for use after `@` in a prompt.
---@return string
function M.quote_mention(path)
  local quoted = path:gsub('[%s\\]', '\\%0'):gsub('\n', 'n')
  return (quoted:gsub('^[~{]', '\\%0'))
end

--- Return a path as an argument of a command, quoted as by |fnameescape()|.
---@return string
function M.quote_argument(path)
  local argument = vim.fn.fnameescape(path):gsub('\\\n', '\\n')
  return (argument:gsub('^~', '\\~'))
end

--- Expand `%`, `#`, `#3` or `<cfile>` at the beginning of a path, with modifiers such as `:h`.
local function expand_special(path)
  local name = path:match('^[%%#]%d*') or path:match('^<cfile>')
  if not name then return path end
  local at = #name + 1
  local modifiers = path:match('^:[%a~.:]*', at) or ''
  local rest = path:sub(at + #modifiers)
  if rest ~= '' and rest:sub(1, 1) ~= '/' then return path end
  local expanded = vim.fn.expand(name .. modifiers)
  return expanded ~= '' and expanded .. rest or path
end

--- Expand `%`, `~` and `$NAME` in a typed path.
local function expand(masked)
  local path = expand_special(masked)
  if path ~= masked then return path end
  local user, rest = path:match('^(~[%w_.-]*)(.*)$')
  if user and (rest == '' or rest:sub(1, 1) == '/') then path = vim.fn.expand(user) .. rest end
  local function value(whole, name) return vim.env[name] or whole end
  return (path:gsub('(%${([%a_][%w_]*)})', value):gsub('(%$([%a_][%w_]*))', value))
end

--- Return the absolute path that a typed word names. A leading `%`, `#`, `<cfile>` or `~` and each
--- `$NAME` are expanded, unless a backslash quotes them or only the literal name exists.
---@return string
function M.resolve_typed(word)
  local masked, unmask = mask(word)
  local first_choice = M.absolute(unmask(expand(masked)))
  for _, path in ipairs({ first_choice, M.absolute(unmask(masked)), M.absolute(word) }) do
    if vim.uv.fs_lstat(path) then return path end
  end
  return first_choice
end

--- Return the names in a directory; those of directories end in `/`.
---@return string[]
local function names_in(folder)
  local scan, names = vim.uv.fs_scandir(folder), {}
  while scan do
    local name = vim.uv.fs_scandir_next(scan)
    if not name then break end
    local stat = vim.uv.fs_stat(folder .. '/' .. name)
    names[#names + 1] = stat and stat.type == 'directory' and name .. '/' or name
  end
  table.sort(names)
  return names
end

--- Return arguments of a command that complete a typed path.
---@param lead string
---@return string[]
function M.completions(lead)
  local masked = lead:gsub('\\.', '\0\0')
  local head = lead:sub(1, #(masked:match('^.*/') or ''))
  local start = M.unquote(lead:sub(#head + 1))
  local folder = head == '' and vim.fn.getcwd() or M.resolve_typed(head)
  local completions = {}
  for _, name in ipairs(names_in(folder)) do
    local is_hidden = name:sub(1, 1) == '.' and start:sub(1, 1) ~= '.'
    if not is_hidden and vim.startswith(name, start) then
      local argument = head == '' and M.quote_argument(name) or M.quote_argument('/' .. name):sub(2)
      completions[#completions + 1] = head .. argument
    end
  end
  return completions
end

return M
