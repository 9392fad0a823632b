package.loaded['conform.runner'] = {
  format_lines_async = function(bufnr, _, range, lines, _, callback)
    _G.formatted = { bufnr = bufnr, range = range }
    vim.schedule(function()
      if _G.fails then return callback({ message = 'broken: line 1' }) end
      callback(nil, vim.tbl_map(vim.trim, lines), false)
    end)
  end,
}
package.loaded['conform'] = {
  list_formatters_to_run = function() return { { name = 'trim' } }, false end,
}
