local found = {}
for _, edit in ipairs(require('acp').state().sessions[1].edits or {}) do
  found[#found + 1] = vim.fs.basename(edit.path)
end
table.sort(found)
return vim.deep_equal(found, ...)
