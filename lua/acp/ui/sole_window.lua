--- A window of ours that is the last one of its tab page: there is no other to edit in, so it lets
--- any buffer in, and is the user's as soon as one of his is there.
local M = {}

local group ---@type integer?

---@param tab integer
---@return integer[] windows of a tab page that are no floats
local function windows(tab)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_config(win).relative == ''
  end, vim.api.nvim_tabpage_list_wins(tab))
end

---@param win integer
---@param value boolean
local function fix(win, value)
  if vim.wo[win].winfixbuf ~= value then
    vim.api.nvim_set_option_value('winfixbuf', value, { scope = 'local', win = win })
  end
end

--- A window closes: what is left alone has to let in what the next word of the same command line
--- opens. Whether it really closes is looked at afterwards.
---@param closing integer
local function left_by(closing)
  if not vim.api.nvim_win_is_valid(closing) then
    return
  end
  local left = vim.tbl_filter(function(win)
    return win ~= closing
  end, windows(vim.api.nvim_win_get_tabpage(closing)))
  if #left == 1 and vim.w[left[1]].acp then
    fix(left[1], false)
  end
end

--- Windows came or went: those of ours are fixed unless they are alone.
local function look()
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    local all = windows(tab)
    for _, win in ipairs(all) do
      if vim.w[win].acp then
        fix(win, #all > 1)
      end
    end
  end
end

--- Another buffer is in a window: where it is none of ours the window is none of ours either.
---@param bufnr integer
local function entered(bufnr)
  local win = vim.api.nvim_get_current_win()
  local name = vim.api.nvim_buf_get_name(bufnr)
  if not vim.w[win].acp or vim.wo[win].winfixbuf or vim.startswith(name, 'acp://') then
    return
  end
  if vim.api.nvim_win_get_buf(win) == bufnr then
    vim.w[win].acp = nil
    vim.wo[win].winfixwidth, vim.wo[win].winfixheight = false, false
  end
end

--- Look after windows from now on.
function M.watch()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup('acp.lone', {})
  local look_soon = vim.schedule_wrap(look)
  vim.api.nvim_create_autocmd({ 'WinClosed', 'WinNew' }, {
    group = group,
    callback = function(args)
      if args.event == 'WinClosed' then
        left_by(tonumber(args.match) or -1)
      end
      look_soon()
    end,
  })
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    callback = function(args)
      entered(args.buf)
    end,
  })
end

return M
