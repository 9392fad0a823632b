--- The buffer of a file, made where there is none. Below the current directory it is named relative
--- to that, as |:edit| does: statusline, tabline and |:ls| show the name.
---@param path string absolute
---@return integer bufnr
return function(path)
  local name = vim.fn.fnamemodify(path, ':.')
  local odd = name:find('^~') or name:find('://', 1, true) -- more than a name
  return vim.fn.bufadd(odd and path or name)
end
