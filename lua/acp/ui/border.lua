--- The border of our floats: the user's 'winborder' where Neovim has it, else rounded.
---@return string
return function()
  local ok, border = pcall(function()
    return vim.o.winborder
  end)
  return ok and border ~= '' and border or 'rounded'
end
