--- Composers by session number: their buffers, texts and drafts.
local M = {}

local attachments = require('acp.features.prompts.attachments')
local chips_of = require('acp.features.prompts.chips')

---@class acp.Composer
---@field bufnr integer
---@field walk acp.Walk
---@field chips acp.Chip[] lines attached to its text
---@field foreign string[] inserted texts with mentions or variables that the user did not type
---@field new boolean whether the next prompt opens a new session
---@field begun boolean whether its session has been requested

local composers = {} ---@type table<integer, acp.Composer>
local unloaded = {} ---@type table<integer, string[]> lines of unloaded buffers, by composer
local draft_ids = {} ---@type table<integer, integer> delivery ids of unsent prompts, by composer

--- Return a composer, nil if it was never opened.
---@return acp.Composer|nil
function M.get(n) return composers[n] end

--- Return all composers by number.
---@return table<integer, acp.Composer>
function M.all() return composers end

--- Return composer `n`, created if needed, with this buffer.
---@return acp.Composer
function M.set_buffer(n, bufnr)
  if not composers[n] then
    local walk = require('acp.features.prompts.earlier_prompts').walk()
    composers[n] =
      { bufnr = bufnr, walk = walk, chips = {}, foreign = {}, new = false, begun = false }
  end
  composers[n].bufnr = bufnr
  return composers[n]
end

--- Return the composer's buffer, nil if it was never opened.
---@return integer|nil
function M.bufnr(n)
  local composer = composers[n]
  return composer and vim.api.nvim_buf_is_valid(composer.bufnr) and composer.bufnr or nil
end

---@return string[]
function M.lines(bufnr) return vim.api.nvim_buf_get_lines(bufnr, 0, -1, false) end

--- Return whether lines contain only white space.
---@param lines string[]
function M.is_blank(lines) return table.concat(lines):match('^%s*$') ~= nil end

--- Return whether a composer's buffer contains only white space.
function M.is_empty(bufnr) return M.is_blank(M.lines(bufnr)) end

--- Put text into a buffer, which does not become 'modified'.
---@param last? integer number of lines to replace at the beginning; all by default
function M.set_text(bufnr, text, last)
  vim.api.nvim_buf_set_lines(bufnr, 0, last or -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[bufnr].modified = false
end

--- Remember a text with mentions or variables that the user did not type.
---@param composer acp.Composer
function M.add_foreign(composer, text)
  if text:find('[@{]') and not vim.tbl_contains(composer.foreign, text) then
    table.insert(composer.foreign, text)
  end
end

--- Return the text of composer `n`, also if its buffer is not loaded.
---@return string
function M.text(n)
  local composer = composers[n]
  local is_loaded = composer and vim.api.nvim_buf_is_loaded(composer.bufnr)
  return table.concat(is_loaded and M.lines(composer.bufnr) or unloaded[n] or {}, '\n')
end

--- Keep the text of a buffer that is being unloaded.
function M.save_lines(n, bufnr)
  local lines = M.lines(bufnr)
  unloaded[n] = not M.is_blank(lines) and lines or nil
end

--- Restore the text of a buffer that was unloaded.
function M.restore_lines(n, bufnr)
  if not unloaded[n] then return end
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, unloaded[n])
  unloaded[n] = nil
end

--- Copy the text of composer `n` to composer `m`, and move its walk through the history. If
--- composer `m` is in use, put the text and the drafts of the walk in front of its text instead.
function M.move_texts(n, m)
  local earlier = require('acp.features.prompts.earlier_prompts')
  local from, to, text = composers[n], composers[m], M.text(n)
  if M.is_empty(to.bufnr) and #earlier.unsent_texts(to.walk, '') == 0 then
    to.walk = from.walk
    M.set_text(to.bufnr, text)
  else
    for _, draft in vim.iter(earlier.unsent_texts(from.walk, text)):rev():enumerate() do
      M.set_text(to.bufnr, draft, 0)
    end
  end
  from.walk = earlier.walk()
  vim.list_extend(to.foreign, from.foreign)
  from.foreign = {}
end

--- Return the lines attached to the next prompt of composer `n`.
---@return acp.Chip[]
function M.chips(n)
  local composer = composers[n]
  return vim.list_extend(attachments.chips(n), composer and composer.chips or {})
end

--- Return the delivery id of the unsent prompt of composer `n`, nil if it has none.
---@return integer|nil
function M.draft_id(n) return draft_ids[n] end

--- Forget the delivery id, because the text of composer `n` is another prompt from now on.
function M.forget_draft_id(n) draft_ids[n] = nil end

--- Return the drafts of composer `n`: its text with the attachments, then the other drafts of the
--- walk through the history. An unchanged entry of the history is not a draft.
---@return acp.StoredPrompt[]
local function contents_of(n)
  local text, composer, paths = M.text(n), composers[n], attachments.list(n)
  local ranges = vim.tbl_map(chips_of.resolve, M.chips(n))
  local texts = { text }
  if composer then
    texts = require('acp.features.prompts.earlier_prompts').unsent_texts(composer.walk, text)
  end
  if #texts == 0 and (text:match('%S') or #paths > 0 or #ranges > 0) then texts = { text } end
  local drafts = vim.tbl_map(function(own) return { n = n, text = own } end, texts)
  local first = drafts[1]
  if first then
    first.paths, first.ranges = paths, ranges
    if first.text == text then
      draft_ids[n] = draft_ids[n] or require('acp.features.prompts.delivery').new_id()
      first.id = draft_ids[n]
    end
  end
  return drafts
end

--- Return the drafts of all composers.
---@return acp.StoredPrompt[]
function M.contents()
  local drafts, order = {}, vim.list_extend(vim.tbl_keys(composers), attachments.composers())
  table.sort(order)
  for _, n in ipairs(vim.fn.uniq(order)) do
    vim.list_extend(drafts, contents_of(n))
  end
  return drafts
end

return M
