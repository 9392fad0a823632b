--- Detection of changes that 'diffopt' hides: white space, blank lines or case.
local M = {}

--- Flags of 'diffopt' that hide changes, and the corresponding options of `vim.diff()`.
local FLAGS = {
  iblank = 'ignore_blank_lines',
  iwhite = 'ignore_whitespace_change',
  iwhiteall = 'ignore_whitespace',
  iwhiteeol = 'ignore_whitespace_change_at_eol',
}

local function text_of(bufnr)
  return table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), '\n') .. '\n'
end

--- Return the number of changed lines in both texts.
local function size(left, right, options)
  local lines = 0
  options.result_type = 'indices'
  for _, hunk in ipairs(require('acp.base.compat').diff(left, right, options)) do
    lines = lines + hunk[2] + hunk[4]
  end
  return lines
end

--- Return a note for the title of a comparison of two buffers if 'diffopt' hides some of its
--- changes.
---@param left integer
---@param right integer
---@return string?
function M.note(left, right)
  local options, case = {}, false
  for _, flag in ipairs(vim.opt.diffopt:get()) do
    if FLAGS[flag] then options[FLAGS[flag]] = true end
    case = case or flag == 'icase'
  end
  if not case and not next(options) then return nil end
  local old, new = text_of(left), text_of(right)
  local all = size(old, new, {})
  if case then
    old, new = old:lower(), new:lower()
  end
  return size(old, new, options) < all and "changes hidden by 'diffopt'" or nil
end

return M
