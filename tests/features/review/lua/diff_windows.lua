local found = { diff = true }
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
  if name ~= 'acp://review' then
    found.diff = found.diff and vim.wo[win].diff
    found[name:match('^acp://base/1//') and 'base' or 'live'] = name
  end
end
return found
