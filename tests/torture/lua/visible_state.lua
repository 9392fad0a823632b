local found = {}
for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
  local name = vim.api.nvim_buf_get_name(bufnr)
  if vim.api.nvim_buf_is_loaded(bufnr) and name ~= '' and vim.bo[bufnr].buftype == '' then
    found[name] = {
      lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, true),
      eol = require('acp.buffers.text').ends_with_newline(bufnr),
      modified = vim.bo[bufnr].modified,
      bufnr = bufnr,
      change = vim.api.nvim_buf_call(bufnr, vim.fn.changenr),
      conflict = require('acp.buffers.save').in_conflict(bufnr),
    }
  end
end
local inline, hunks = package.loaded['acp.features.review.inline'], {}
for i = 1, inline and 60 or 0 do
  local name, files = debug.getupvalue(inline.set, i)
  for path, file in pairs(name == 'files' and files or {}) do
    hunks[path] = vim.tbl_map(
      function(hunk) return { hunk.first, hunk.last, hunk.removed } end,
      file.hunks
    )
  end
end
local edits = {}
for n, session in pairs(require('acp').state().sessions) do
  for _, edit in ipairs(session.edits or {}) do
    edits[#edits + 1] = vim.tbl_extend('error', edit, { session = n })
  end
end
return { found, edits, hunks }
