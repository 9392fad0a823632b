--- Buffers and their files: loading, bringing up to date, saving, each without a prompt of Neovim's
--- (W10, W11, W12, W13, E325, hit-enter) and without a modeline's options.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv or vim.loop

local seen = {} ---@type table<integer, string> the file as it was when the clean buffer equalled it
local parted = {} ---@type table<integer, true> the file changed under unsaved edits

api.nvim_create_autocmd('BufWipeout', {
  group = api.nvim_create_augroup('acp.save', {}),
  callback = function(args)
    seen[args.buf], parted[args.buf] = nil, nil
  end,
})

--- Neovim's own words of an error, on one line.
function M.reason(err)
  local text = tostring(err):gsub('^.-(Vim%b():)', '%1'):gsub('^Vim%b():', '')
  return (text:gsub('\n.*', ''))
end

local function stamp(stat)
  return ('%d.%d.%d.%d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size, stat.ino)
end

local function file_of(bufnr)
  return uv.fs_stat(api.nvim_buf_get_name(bufnr))
end

--- Run `action` with options set to other values; `scope` is `vim.go` or `vim.bo[bufnr]`.
local function with(scope, values, action, ...)
  local old = {}
  for name, value in pairs(values) do
    old[name] = scope[name]
    scope[name] = value
  end
  local result = { pcall(action, ...) }
  for name, value in pairs(old) do
    pcall(function()
      scope[name] = value
    end)
  end
  return unpack(result, 1, 4)
end

--- Run an Ex command in the buffer. No message, no swap-file dialog, no modelines.
local function run(bufnr, command)
  local quiet = { shortmess = vim.go.shortmess .. 'A', confirm = false }
  return with(vim.go, quiet, function()
    local ok, err = with(vim.bo[bufnr], { modeline = false }, function()
      api.nvim_buf_call(bufnr, function()
        vim.cmd(command)
      end)
    end)
    assert(ok, err)
  end)
end

--- What `:file` says of the buffer, `[New]` and the like, in the user's language.
local function is_marked(bufnr, mark)
  local output = api.nvim_buf_call(bufnr, function()
    return api.nvim_exec2('file', { output = true }).output
  end)
  local name_end = output:find('"', 2, true) or 1
  return output:find(fn.gettext(mark), name_end, true) ~= nil
end

--- Whether Neovim finds the file changed under the buffer; `choice` is taken, its dialog not shown.
local function probe(bufnr, choice)
  local found = false
  local id = api.nvim_create_autocmd('FileChangedShell', {
    buffer = bufnr,
    callback = function()
      found = true
      vim.v.fcs_choice = choice
    end,
  })
  local ok, err = run(bufnr, 'silent checktime ' .. bufnr)
  pcall(api.nvim_del_autocmd, id)
  return found, ok, err
end

--- Reload a clean buffer. One whose file was created after it would ask (W13): it is edited anew.
local function reload(bufnr, stat)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  if is_marked(bufnr, '[New]') then
    run(bufnr, 'silent keepalt keepjumps edit!')
    return
  end
  local old = seen[bufnr]
  probe(bufnr, 'reload')
  local untold = old and old:match('^%d+%.%d+') == stamp(stat):match('^%d+%.%d+')
  if untold and api.nvim_buf_get_changedtick(bufnr) == tick then
    run(bufnr, 'silent keepalt keepjumps edit!') -- changed twice within the clock's grain
  end
end

--- Bring a clean buffer up to date with its file. One with unsaved edits is never touched.
function M.refresh(bufnr)
  local options = vim.bo[bufnr]
  if options.modified or options.buftype ~= '' then
    return
  end
  local stat = file_of(bufnr)
  local now = stat and stat.type == 'file' and stamp(stat) or nil
  if now == seen[bufnr] then
    return
  end
  if now then
    reload(bufnr, stat)
  end
  seen[bufnr], parted[bufnr] = now, nil
end

--- Load a file into a buffer nobody sees. A swap file of somebody else's is no question.
function M.load(name)
  local quiet = { shortmess = vim.go.shortmess .. 'A', modeline = false }
  local modeline = vim.go.modeline
  local stat = uv.fs_stat(name)
  local bufnr
  local ok, err = with(vim.go, quiet, function()
    bufnr = fn.bufadd(name)
    vim.bo[bufnr].modeline = false
    vim.cmd('silent call bufload(' .. bufnr .. ')')
  end)
  if bufnr and api.nvim_buf_is_loaded(bufnr) then
    vim.bo[bufnr].modeline = modeline
    seen[bufnr] = stat and stat.type == 'file' and stamp(stat) or nil
  end
  assert(ok, err)
end

--- The nearest directory above a file that exists, as `fs_stat` gives it, and its path.
local function existing_parent(name)
  for parent in vim.fs.parents(name) do
    local stat = uv.fs_stat(parent)
    if stat then
      return stat, parent
    end
  end
end

local function check_file(name, stat)
  if stat and stat.type ~= 'file' then
    return 'failed', 'is not a regular file'
  end
  if stat then
    local writable = bit.band(stat.mode, 146) ~= 0 and uv.fs_access(name, 'W') -- 0222
    return not writable and 'readonly' or nil, 'the file is write-protected'
  end
  local directory, path = existing_parent(name)
  if directory and directory.type == 'directory' and not uv.fs_access(path, 'W') then
    return 'readonly', ('the directory %s is write-protected'):format(path)
  end
end

local function check_dirty(bufnr, stat)
  if stat and not parted[bufnr] then
    parted[bufnr] = is_marked(bufnr, '[New]') or probe(bufnr, '') or nil
  end
  if parted[bufnr] then
    return 'conflict', 'the file changed on disk while its buffer has unsaved changes'
  end
end

--- Whether the buffer can be edited and, with `due`, saved: an outcome and why when it can't.
function M.check(bufnr, due)
  local options = vim.bo[bufnr]
  if options.buftype ~= '' then
    return 'failed', ("the buffer of this name has 'buftype' %s"):format(options.buftype)
  end
  if not options.modifiable then
    return 'readonly', "the buffer is not 'modifiable'"
  end
  if not due then
    return
  end
  if options.readonly then
    return 'readonly', "the buffer is 'readonly'"
  end
  local stat = file_of(bufnr)
  local outcome, why = check_file(api.nvim_buf_get_name(bufnr), stat)
  if outcome then
    return outcome, why
  end
  if stat and is_marked(bufnr, '[Not edited]') then
    return 'conflict', 'the buffer was renamed to a file that it has not read'
  end
  if options.modified then
    return check_dirty(bufnr, stat)
  end
  if (stat and stamp(stat) or nil) ~= seen[bufnr] then
    return 'moved'
  end
end

--- `:write!` after `M.check` found nothing against it. Returns true, nil, and whether autocommands
--- edited the text; or false and the error.
function M.write(bufnr, autocmds)
  local options = vim.bo[bufnr]
  local edited, over = false, false
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function()
      edited = edited or not over
      return true
    end,
    on_reload = function()
      edited = edited or not over
    end,
  })
  local fixeol = options.fixendofline
  if not options.endofline or options.endoffile then
    options.fixendofline = false -- the bytes are to be as the text says
  end
  local command = 'silent keepalt lockmarks %swrite! ++p'
  local ok, err = run(bufnr, command:format(autocmds and '' or 'noautocmd '))
  options.fixendofline = fixeol
  over = true
  if options.modified or not file_of(bufnr) then
    return false, ok and 'the buffer was not written' or err, edited
  end
  seen[bufnr], parted[bufnr] = nil, nil -- asked anew: its stamp may be of a later change
  return true, nil, edited
end

return M
