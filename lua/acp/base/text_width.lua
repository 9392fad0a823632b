--- Cells that a text takes on one row, with each tab as wide as can be. |strdisplaywidth()| would
--- count what the current window adds where it wraps.
---@param text string
---@return integer
return function(text)
  local _, tabs = text:gsub('\t', '')
  return vim.api.nvim_strwidth(text) + 7 * tabs
end
