--- Return the width of a text on one row, in cells. A tab counts as 8. |strdisplaywidth()| would
--- add the cells of wrapped lines in the current window.
---@param text string
---@return integer
return function(text)
  local _, tabs = text:gsub('\t', '')
  return vim.api.nvim_strwidth(text) + 7 * tabs
end
