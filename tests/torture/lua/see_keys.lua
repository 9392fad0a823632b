--- Return window, mode, cursor, the texts of files and composers, internal errors (`faults`) and
--- options of the plugin in windows of the user (`wrong`). Draw the screen and clear the messages.
local work = ...
local PATTERNS =
  { 'traceback', 'Traceback', 'Error executing', 'Error in ', 'lua/acp', 'acp_nvim', 'E5108' }
local CLEAN = {
  winhighlight = '',
  statuscolumn = '',
  winfixheight = false,
  winfixwidth = false,
  foldmethod = 'manual',
  conceallevel = 0,
  signcolumn = 'auto',
  previewwindow = false,
}

local function kind(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if name:find('^acp://composer/') then return 'composer' end
  if vim.startswith(name, work) and vim.bo[buffer].buftype == '' then return 'file' end
  return 'view'
end

vim.cmd.redraw()
local seen = { faults = {}, wrong = {}, texts = vim.empty_dict() }
seen.windows = vim.api.nvim_list_wins()
seen.window = vim.api.nvim_get_current_win()
seen.mode = vim.api.nvim_get_mode().mode
seen.kind = kind(0)
seen.cursor = vim.api.nvim_get_current_line() .. vim.api.nvim_win_get_cursor(0)[2]
seen.line = vim.api.nvim_get_current_line()
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_is_loaded(buffer) and kind(buffer) ~= 'view' then
    local name = vim.api.nvim_buf_get_name(buffer)
    seen.texts[name] = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  end
end
for _, window in ipairs(seen.windows) do
  local buffer = vim.api.nvim_win_get_buf(window)
  if kind(buffer) == 'file' and not vim.wo[window].diff then
    for name, clean in pairs(CLEAN) do
      if vim.wo[window][name] ~= clean then
        local value = vim.inspect(vim.wo[window][name])
        table.insert(seen.wrong, ('%s=%s in %s'):format(name, value, vim.fn.bufname(buffer)))
      end
    end
    if vim.startswith(vim.bo[buffer].filetype, 'acp') then table.insert(seen.wrong, 'filetype') end
  end
end
local said = vim.fn.execute('messages') .. '\n' .. vim.v.errmsg
vim.cmd('messages clear')
vim.v.errmsg = ''
seen.faults, _G.faults = _G.faults, {}
for line in vim.gsplit(said, '\n') do
  for _, pattern in ipairs(PATTERNS) do
    if line:find(pattern) and not line:find('^acp: ') then
      table.insert(seen.faults, said)
      return seen
    end
  end
end
return seen
