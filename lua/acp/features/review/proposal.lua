--- Review of the edits that a requested call would make. The current text is on the left, the
--- proposal on the right. The user may edit the proposal; if they allow it here, the edited text is
--- written.
local M = {}

local api = vim.api
local sides = require('acp.features.review.sides')
local tab = require('acp.features.review.tab')

---@class acp.Proposal: acp.ReviewFile
---@field proposal string[]
---@field proposal_eol boolean
---@field marks acp.ProposalMark[] diagnostics of language servers
---@field bufnr? integer

--- A diagnostic: row of the proposal (0-based), severity and text.
---@alias acp.ProposalMark { [1]: integer, [2]: integer, [3]: string }

---@class acp.OpenProposal
---@field id integer|string of the permission
---@field files acp.Proposal[]
---@field options acp.PermissionOption[]
---@field is_over? boolean whether the question has ended

local open ---@type acp.OpenProposal|nil

---@param file acp.Proposal
local function lines_of(file)
  local bufnr = file.bufnr
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) then return file.proposal end
  return api.nvim_buf_get_lines(bufnr, 0, -1, false)
end

--- Return the proposals that the user has edited, by path, or nil if there are none.
---@return table<string, string>|nil
local function edited_proposals()
  local edited = {}
  for _, file in ipairs(open and open.files or {}) do
    local lines = lines_of(file)
    if not vim.deep_equal(lines, file.proposal) then
      edited[file.path] = table.concat(lines, '\n') .. (file.proposal_eol and '\n' or '')
    end
  end
  return next(edited) and edited or nil
end

--- Return a buffer with one side of a file. Its name ends in readable words because the tabline
--- shows only the tail.
---@param what string
---@param file acp.ReviewFile
---@param lines string[]
---@param modifiable? boolean
local function page(kind, what, file, lines, modifiable)
  local at = open and tab.position(open.files, file.path) or 0
  local tail = vim.fs.basename(file.path)
  local name = ('acp://%s/%s.%d/%s %s'):format(kind, open and open.id or 0, at, what, tail)
  local bufnr = sides.scratch(name, lines, sides.filetype(file), modifiable)
  vim.b[bufnr].acp_path = file.path
  return bufnr
end

---@param file acp.ReviewFile
local function left_page(file) return page('present', 'Current', file, file.base), 'Current' end

local namespace = api.nvim_create_namespace('acp.proposal')
local GROUPS = { 'DiagnosticVirtualTextError', 'DiagnosticVirtualTextWarn' }

--- Show the diagnostics as virtual text.
---@param file acp.Proposal
local function show_diagnostics(file)
  local bufnr = file.bufnr
  if not bufnr or not api.nvim_buf_is_loaded(bufnr) then return end
  api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
  local last = api.nvim_buf_line_count(bufnr) - 1
  for _, mark in ipairs(file.marks or {}) do
    api.nvim_buf_set_extmark(bufnr, namespace, math.min(mark[1], last), 0, {
      virt_text = { { '■ ' .. mark[3], GROUPS[mark[2]] } },
      virt_text_pos = 'eol',
    })
  end
end

---@param file acp.Proposal
local function right_page(file)
  if not file.bufnr or not api.nvim_buf_is_loaded(file.bufnr) then
    file.bufnr = page('proposal', 'Proposed', file, file.proposal, true)
    local bufnr = file.bufnr
    -- `:w` only marks the text as finished; it is sent with the answer.
    require('acp.ui.scratch').on_write(bufnr, function()
      vim.bo[bufnr].modified = false
      require('acp.base.notify').show('info', 'amended')
    end)
    show_diagnostics(file)
  end
  return file.bufnr, 'Proposed (editable)'
end

--- Return the first option of a kind.
---@return string|nil id
local function option(kind)
  local first = vim
    .iter(open and open.options or {})
    :find(function(candidate) return candidate.kind == kind end)
  return first and first.id
end

--- Answer the permission that is open here, with the edited proposals.
---@param verb 'accept'|'reject'
local function decide(verb)
  local choice = option(verb == 'accept' and 'allow_once' or 'reject_once')
  if not open or not choice then
    return require('acp.base.notify').show('error', 'no_answer_here')
  end
  if not require('acp.base.signals').emit('question_answerable', open.id) then return end
  require('acp.base.signals').emit('question_answered', open.id)
  require('acp.base.host').notify('choose', {
    id = open.id,
    option = choice,
    amended = verb == 'accept' and edited_proposals() or nil,
  })
  tab.close()
end

---@type acp.ReviewSource
local source = {
  left = left_page,
  right = right_page,
  hint = function()
    local words = { accept_file = 'allow', reject_file = 'deny', help = 'keys' }
    return require('acp.ui.keymaps').words('review', words), ''
  end,
  words = {
    accept_file = 'allow, with the text on the right',
    reject_file = 'deny',
    obtain = 'take the other side: on the right, the current text',
    put = 'put this text on the other side',
  },
  decide = decide,
  closed = function() open = nil end,
}

--- Return the edited proposals of a permission, for an answer that is given elsewhere.
---@param id integer|string
---@return table<string, string>|nil
function M.edited_texts(id) return open and open.id == id and edited_proposals() or nil end

--- Return whether the current tab page shows the review of a permission.
local function is_here()
  local review = tab.state()
  return open
    and review
    and review.source == source
    and api.nvim_get_current_tabpage() == review.tab
end

--- Return the pending permission that is open here if this is the current tab page.
---@return integer|string|nil id
function M.open_id() return is_here() and not open.is_over and open.id or nil end

--- Return whether the user has edited the proposal, or is doing so.
local function is_edited()
  local is_inserting = api.nvim_get_mode().mode:find('^[iR]') ~= nil
  return is_here() and (is_inserting or edited_proposals() ~= nil)
end

--- Close the review of a question that is over. If the user is in it, wait until late keys are no
--- longer expected.
---@param args { data?: { id?: integer|string, outcome?: string } }
local function on_done(args)
  local over, done = open, args.data or {}
  if not over or done.id ~= over.id then return end
  if done.outcome ~= 'cancelled' or not is_here() then return tab.close() end
  over.is_over = true
  require('acp.base.notify').show('warn', 'question_over')
  vim.defer_fn(function()
    if open == over and not is_edited() then tab.close() end
  end, require('acp.buffers.typed_keys').LATE_MS)
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.proposal')
  on('User', on_done, { pattern = 'AcpPermissionDone' })
end)

---@return acp.Proposal
local function to_proposal(file)
  file.base = type(file.base) == 'table' and file.base or {}
  file.proposal = #file.proposal > 0 and file.proposal or { '' }
  file.proposal_eol = file.proposal_eol ~= false
  file.kind = file.kind or (#file.base == 0 and 'created' or 'modified')
  file.hunks, file.label = 1, file.label or 'proposed'
  return file
end

--- Request the texts of a pending permission. The answer is the frame operation `propose`.
---@param id integer|string
function M.ask(id)
  require('acp.features.review.request').expect()
  require('acp.base.host').notify('review', { permission = id })
end

--- Set the diagnostics of a permission's proposals, if it is open here.
---@param id integer|string
---@param files { path: string, marks: acp.ProposalMark[] }[]
function M.set_marks(id, files)
  if not open or open.id ~= id then return end
  for _, file in ipairs(open.files) do
    local shown = vim.iter(files):find(function(known) return known.path == file.path end)
    file.marks = shown and shown.marks or {}
    show_diagnostics(file)
  end
end

--- Show the edits that a requested call would make.
---@param id integer|string
---@param files table[] `{path, base, proposal, proposal_eol, kind, label}`. `base` and `proposal`
---   are lines; a new file has no `base`; `kind` may be 'deleted'; `label` replaces 'proposed'
---@param options acp.PermissionOption[]
function M.open(id, files, options)
  if not require('acp.features.review.request').may_open() then return end
  if #files == 0 then return require('acp.base.notify').show('info', 'no_edits_shown') end
  watch()
  tab.close()
  open = { id = id, files = vim.tbl_map(to_proposal, files), options = options }
  tab.present(open.files, source)
end

return M
