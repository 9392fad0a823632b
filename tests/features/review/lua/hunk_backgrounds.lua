local function of(name) return vim.api.nvim_get_hl(0, { name = name, link = false }) end
local normal = of('Normal').bg or (vim.o.background == 'dark' and 0x14161b or 0xe0e2ea)
local found = { normal }
for _, name in ipairs({ 'Add', 'Word', 'Remove', 'RemoveWord', 'Change' }) do
  table.insert(found, of('AcpHunk' .. name).bg)
end
return found
