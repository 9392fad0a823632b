local found = {}
for _, edit in ipairs(require('acp').state().sessions[1].edits or {}) do
  table.insert(found, edit.hunks)
end
return vim.deep_equal(found, { ... })
