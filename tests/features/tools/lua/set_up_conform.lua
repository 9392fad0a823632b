vim.opt.runtimepath:prepend(...)
require('conform').setup({
  formatters = {
    upper = {
      format = function(_, _, lines, callback) callback(nil, vim.tbl_map(string.upper, lines)) end,
    },
  },
  formatters_by_ft = { text = { 'upper' } },
})
