local found = {}
for _, mode in ipairs({ 'n', 'x' }) do
  for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
    if (map.desc or ''):match('^acp: ') then found[mode .. ' ' .. map.lhs] = map.rhs end
  end
end
return found
