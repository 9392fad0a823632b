--- Return the cells that a text takes on one row, counting 8 for each tab. |strdisplaywidth()|
--- would add the cells of wrapped lines in the current window.
---@param text string
---@return integer
return function(text)
  local _, tabs = text:gsub('\t', '')
  return vim.api.nvim_strwidth(text) + 7 * tabs
end
