local names = {}
for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
  if vim.bo[bufnr].buftype == '' and vim.bo[bufnr].buflisted then
    names[#names + 1] = vim.fs.basename(vim.api.nvim_buf_get_name(bufnr))
  end
end
local tree = vim.fn.undotree()
return {
  names = names,
  current = vim.fs.basename(vim.api.nvim_buf_get_name(0)),
  alternate = vim.fs.basename(vim.fn.bufname('#')),
  lines = vim.api.nvim_buf_get_lines(0, 0, -1, false),
  modified = vim.bo.modified,
  readonly = vim.bo.readonly,
  fileformat = vim.bo.fileformat,
  fileencoding = vim.bo.fileencoding,
  marks = { vim.fn.getpos("'["), vim.fn.getpos("']"), vim.fn.getpos("'.") },
  cursor = vim.fn.getpos('.'),
  undo = { tree.seq_cur, tree.seq_last, tree.save_cur, tree.save_last },
  errmsg = vim.v.errmsg,
  last = vim.fn.execute('1messages'):gsub('%d+ seconds? ago', 'ago'),
  windows = #vim.api.nvim_list_wins(),
}
