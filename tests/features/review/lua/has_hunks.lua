local path, hunks = ...
for _, edit in ipairs(require('acp').state().sessions[1].edits or {}) do
  if edit.path == path then return edit.hunks == hunks end
end
return hunks == 0
