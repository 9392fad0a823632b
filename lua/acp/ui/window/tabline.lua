--- Neovim's own tabline, with the titles of acp windows in place of their buffers' names, which it
--- would shorten to `a//c/1`.
local M = {}

local api = vim.api
local literal, text_width = require('acp.ui.win').literal, require('acp.base.text.width')

local LINE = "%!v:lua.require'acp.ui.window.tabline'.text()"
local MIN_WIDTH = 6 -- cells of a label

--- Buffers without a name, by 'buftype'.
local UNNAMED = { nofile = '[Scratch]', prompt = '[Prompt]', quickfix = '[Quickfix List]' }

--- Kinds of buffers that are never written, so that their changes do not count.
local UNWRITTEN = { nofile = true, prompt = true, terminal = true }

--- Set 'tabline', unless the user uses it.
M.set = require('acp.base.once')(function()
  if vim.go.tabline == '' then vim.go.tabline = LINE end
end)

---@return string
local function name_in(win)
  local title = require('acp.ui.window.titles').in_window(win)
  if title then return require('acp.base.notify').one_line(title) end
  local bufnr = api.nvim_win_get_buf(win)
  local name = vim.fn.bufname(bufnr)
  if name == '' then return UNNAMED[vim.bo[bufnr].buftype] or '[No Name]' end
  return vim.fn.pathshorten(vim.fn.fnamemodify(name, ':~'))
end

--- Return the windows that Neovim counts in the label of a tab page.
---@return integer[]
local function counted_windows(tab)
  return vim.tbl_filter(function(win)
    local config = api.nvim_win_get_config(win)
    return config.relative == '' or config.focusable and not config.hide
  end, api.nvim_tabpage_list_wins(tab))
end

---@return boolean
local function is_modified(win)
  local buffer = vim.bo[api.nvim_win_get_buf(win)]
  return buffer.modified and not UNWRITTEN[buffer.buftype]
end

--- Return the label of a tab page. A name that is too long loses its beginning.
---@param width integer cells
---@return string
local function label(tab, width)
  local group = tab == api.nvim_get_current_tabpage() and '%#TabLineSel#' or '%#TabLine#'
  local windows = counted_windows(tab)
  local count = #windows > 1 and tostring(#windows) or ''
  local mark = vim.iter(windows):any(is_modified) and '+' or ''
  local blank = (count .. mark) ~= '' and ' ' or ''
  local name = name_in(api.nvim_tabpage_get_win(tab))
  local room = math.max(width - 2 - #(count .. mark .. blank), 0)
  while text_width(name) > room do
    name = vim.fn.strcharpart(name, 1)
  end
  local counted = count ~= '' and ('%%#Title#%s%s'):format(count, group) or ''
  return ('%s %s%s%s%s '):format(group, counted, mark, blank, literal(name))
end

--- Return the value for 'tabline'.
---@return string
function M.text()
  local tabs, parts = api.nvim_list_tabpages(), {}
  local width = math.max(math.floor((vim.o.columns - 1 + math.floor(#tabs / 2)) / #tabs), MIN_WIDTH)
  for i, tab in ipairs(tabs) do
    parts[i] = ('%%%dT%s'):format(i, label(tab, width))
  end
  local close = #tabs > 1 and '%=%#TabLine#%999XX' or ''
  return table.concat(parts) .. '%T%#TabLineFill#' .. close
end

return M
