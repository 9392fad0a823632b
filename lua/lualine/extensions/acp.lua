--- Extension `acp` of lualine.nvim: windows of the plugin show their title in place of a file name.
local function title()
  local found = vim.w.acp_title or require('acp.ui.window.titles').of(vim.fn.bufname())
  return ((found or ''):gsub('%%', '%%%%'))
end

return {
  sections = {
    lualine_a = { 'mode' },
    lualine_c = { title },
    lualine_x = { 'acp' },
  },
  inactive_sections = { lualine_c = { title } },
  filetypes = {
    'acpchat',
    'acpcheckpoints',
    'acpcomposer',
    'acpform',
    'acplog',
    'acpoverview',
    'acppermission',
    'acpplan',
    'acpqueue',
    'acpreview',
    'acprules',
    'acpterminal',
  },
}
