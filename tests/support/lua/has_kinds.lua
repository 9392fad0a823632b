local want, found = ..., vim.empty_dict()
for _, edit in ipairs(require('acp').state().sessions[1].edits or {}) do
  found[vim.fs.basename(edit.path):gsub('%.txt$', '')] = edit.kind
end
return vim.deep_equal(found, vim.tbl_extend('force', vim.empty_dict(), want))
