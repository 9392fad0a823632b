--- Decoration of composers: attachments below the text, the placeholder, and the winbar.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.composer')
local attachments = require('acp.features.prompts.attachments')
local chips_of = require('acp.features.prompts.chips')
local composers = require('acp.features.prompts.composer.composers')
local places = require('acp.base.places')
local suggestions = require('acp.features.prompts.composer.suggestions')

--- Placeholders of an empty composer: the signs that open a completion menu.
local TEXTS = {
  'Ask anything. @ file  / command  { context  # prompt',
  'Ask anything. @ file  / command  { context',
  '@ file  / command  { context  # prompt',
  '@ file  / command  { context',
  '@ file  / command',
}

--- Return the longest placeholder that fits.
---@param width integer cells
---@return string
local function placeholder(width)
  for _, text in ipairs(TEXTS) do
    if #text < width then return text end
  end
  return ''
end

--- Return the width of a window that shows the buffer, or of the screen if there is none.
local function width_of(bufnr)
  local win = vim.fn.win_findbuf(bufnr)[1]
  return win and vim.api.nvim_win_get_width(win) or vim.o.columns
end

--- Return labels of the context sent with the prompt of composer `n`: mentioned files, attachments,
--- ranges.
---@return string[]
local function context_labels(n)
  local composer = composers.get(n) --[[@as acp.Composer]]
  local text = table.concat(composers.lines(composer.bufnr), '\n')
  local mentioned = text:find('@', 1, true)
      and require('acp.base.text.mentions').all(text, places.cwd())
    or { paths = {}, ranges = {} }
  attachments.append_new(mentioned.paths, attachments.list(n))
  local listed = vim.tbl_map(attachments.label, mentioned.paths)
  vim.list_extend(listed, vim.tbl_map(places.label, mentioned.ranges))
  return vim.list_extend(listed, chips_of.labels(composers.chips(n)))
end

--- Update the winbar of composer `n`.
function M.update_bar(n)
  local composer = composers.get(n) --[[@as acp.Composer]]
  require('acp.features.prompts.composer.bar').update(
    n,
    composer.bufnr,
    composer.begun,
    context_labels(n)
  )
end

--- Draw the attachments below the text, the placeholder of an empty composer, and the winbar.
function M.draw(n)
  local composer = composers.get(n)
  if not composer or not vim.api.nvim_buf_is_loaded(composer.bufnr) then return end
  M.update_bar(n)
  vim.api.nvim_buf_clear_namespace(composer.bufnr, ns, 0, -1)
  local below = {}
  local function add(label) below[#below + 1] = { { '  + ' .. label, 'AcpAttachment' } } end
  vim.iter(chips_of.labels(composers.chips(n))):each(add)
  vim.iter(attachments.list(n)):map(attachments.label):each(add)
  local count = vim.api.nvim_buf_line_count(composer.bufnr)
  if #below > 0 then
    vim.api.nvim_buf_set_extmark(composer.bufnr, ns, count - 1, 0, { virt_lines = below })
  end
  suggestions.bind(n, composer.bufnr, table.concat(composers.lines(composer.bufnr), '\n'))
  if count == 1 and composers.lines(composer.bufnr)[1] == '' then
    local width = width_of(composer.bufnr)
    local words = suggestions.ghost_text(n, width) or placeholder(width)
    vim.api.nvim_buf_set_extmark(composer.bufnr, ns, 0, 0, {
      virt_text = { { words, 'AcpPlaceholder' } },
      virt_text_pos = 'overlay',
    })
  end
end

return M
