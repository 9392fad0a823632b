--- Review of pending edits: updates from the host, and the actions of commands and keys.
local M = {}

local api = vim.api
local tab = require('acp.features.review.tab')
local sides = require('acp.features.review.sides')
local position = require('acp.features.review.position')
local request = require('acp.features.review.request')

local requested = {} ---@type table<string, true> files requested while the review was open
local refreshes = false -- whether the host has been asked for the bases of the files

local function key(action)
  local declared = vim
    .iter(require('acp.ui.keymaps').list('review'))
    :find(function(entry) return entry.action == action end)
  return declared and declared.key or ''
end

--- Return hints for the base's window and for the live one, where `do` and `dp` have opposite
--- effects.
---@param file acp.ReviewFile
---@return string left
---@return string right
local function hint(file, count)
  local is_decided = not file.conflict and not sides.is_undecided(file)
  local words = file.conflict and { ':w resolves' } or { 'do rejects', 'dp accepts' }
  if is_decided then words = {} end
  local next_file, help = key('next_file'), key('help')
  if count > 1 and next_file ~= '' then words[#words + 1] = next_file .. ' next file' end
  local close = require('acp.ui.keymaps').words('review', { close = 'closes' })
  if is_decided and close ~= '' then words[#words + 1] = close end
  if help ~= '' then words[#words + 1] = help .. ' keys' end
  local has_left = not file.conflict and not is_decided
  return has_left and 'dp rejects · do accepts' or '', table.concat(words, ' · ')
end

---@type acp.ReviewSource
local edits = {
  left = sides.left,
  right = sides.right,
  hint = hint,
  decide = function(verb, file)
    require('acp.features.review.hunk').remember()
    require('acp.base.host').notify(verb, { scope = 'file', path = file.path })
  end,
  closed = function()
    requested, refreshes = {}, false
  end,
  more = function(paths)
    local new = vim.tbl_filter(function(path) return not requested[path] end, paths)
    for _, path in ipairs(new) do
      requested[path] = true
    end
    if #new > 0 then require('acp.base.host').notify('review') end
  end,
}

--- Complete a file that the host has sent.
---@param file table
---@return acp.ReviewFile
local function to_review_file(file)
  for _, name in ipairs({ 'live', 'theirs', 'base' }) do
    if file[name] == vim.NIL then file[name] = nil end
  end
  file.base = file.base or {}
  file.base_eol = file.base_eol ~= false
  file.pending = true
  return file
end

--- Request the pending edits for `:Acp review`, or with the cursor on a pending permission the
--- edits that it would make.
---@param path? string file to show first
function M.ask(path)
  local id = not path and require('acp.base.signals').emit('question_here')
  if id then
    require('acp.features.review.proposal').ask(id)
  else
    request.expect(path)
    require('acp.base.host').notify('review', { path = path })
  end
end

--- Open or update the review.
---@param files table[]
function M.open(files)
  refreshes = false
  if not request.is_open() and tab.state() then
    tab.update(vim.tbl_map(to_review_file, files))
    for _, file in ipairs(files) do
      require('acp.features.review.base').set(file.path, file.base, file.base_eol)
    end
  elseif #files == 0 then
    require('acp.base.notify').show('info', 'no_edits')
  elseif request.may_open() then
    tab.present(vim.tbl_map(to_review_file, files), edits, request.path())
  end
end

--- Compute the base of a buffer from its text and hunks.
---@param hunks acp.Hunk[]
local function base_of(bufnr, hunks)
  local result, row = {}, 0
  for _, hunk in ipairs(hunks) do
    vim.list_extend(result, api.nvim_buf_get_lines(bufnr, row, hunk.first, false))
    vim.list_extend(result, hunk.removed)
    row = hunk.last
  end
  return vim.list_extend(result, api.nvim_buf_get_lines(bufnr, row, -1, false))
end

--- Request the files, because the base of one cannot be computed from its hunks.
local function refresh()
  if refreshes then return end
  refreshes = true
  require('acp.base.host').notify('review')
end

--- Update the left side of a file from its new hunks.
---@param bufnr integer buffer that the rows refer to
---@param hunks? acp.Hunk[] nil if some of them or of their removed lines are left out
function M.on_hunks_changed(path, bufnr, hunks)
  local review = tab.state()
  for _, file in ipairs(review and review.files or {}) do
    if file.path == path and file.kind ~= 'deleted' then
      if not hunks then return refresh() end
      file.base = base_of(bufnr, hunks)
      require('acp.features.review.base').set(path, file.base, file.base_eol)
    end
  end
end

-- Actions of keys ---------------------------------------------------------------------------------

--- Return the file that is shown, or in the list the one under the cursor.
---@return acp.ReviewFile|nil
function M.file()
  local review = tab.state()
  if not review then return nil end
  local win = api.nvim_get_current_win()
  return review.files[win == review.list and api.nvim_win_get_cursor(win)[1] or review.at]
end

local function save(bufnr)
  local outcome, why = require('acp.buffers.save').check(bufnr, true)
  if not outcome then
    local options = { autocmds = require('acp.config').get().files.autocmds }
    why = require('acp.buffers.write').write(bufnr, options).why
  end
  if outcome or why then require('acp.base.notify').show('warn', 'not_saved', why) end
end

--- Remove lines at the end of the other window that this one does not have. `dp` on the last line
--- ignores them, but `:diffget` in the other window does not.
---@param other integer window
local function put_end(other)
  local missing = vim.fn.diff_filler(vim.fn.line('$') + 1)
  if missing == 0 then return end
  api.nvim_win_call(other, function()
    local last = vim.fn.line('$')
    vim.cmd(('%d,%ddiffget'):format(last - missing + 1, last))
  end)
end

--- Run diff mode's `dp`, even at the end of the text.
---@param review acp.Review
local function put(review)
  local other = api.nvim_get_current_win() == review.live and review.base or review.live
  local bufnr = api.nvim_win_get_buf(other)
  local tick = api.nvim_buf_get_changedtick(bufnr)
  vim.cmd('normal! dp')
  local has_changed = api.nvim_buf_get_changedtick(bufnr) ~= tick
  if not has_changed and vim.fn.line('.') == vim.fn.line('$') then put_end(other) end
end

--- Run a key of diff mode with its count. For a deleted file, which has no text to change, accept
--- or reject the whole file instead.
---@param command 'do'|'dp'
local function diff_mode(command)
  local review, file = tab.state(), M.file()
  if review and file and file.kind == 'deleted' then
    local is_live = api.nvim_get_current_win() == review.live
    M.decide((command == 'do') == is_live and 'reject' or 'accept')
    return
  end
  local ok, why
  if review and command == 'dp' and vim.v.count == 0 then
    ok, why = pcall(put, review)
  else
    local count = vim.v.count > 0 and vim.v.count or ''
    ok, why = pcall(vim.cmd, ('normal! %s%s'):format(count, command))
  end
  if not ok then require('acp.base.notify').error(require('acp.buffers.save').reason(why)) end
end

--- Run diff mode's `do`, which puts the accepted text back into the live buffer and so rejects the
--- hunk. Option `files.save` decides whether to save then; `auto` saves if the buffer was
--- unmodified.
function M.obtain()
  local review = tab.state()
  local bufnr = api.nvim_get_current_buf()
  local tick, clean = api.nvim_buf_get_changedtick(bufnr), not vim.bo[bufnr].modified
  diff_mode('do')
  local is_live = review and bufnr == review.shown and vim.bo[bufnr].buftype == ''
  if is_live and tick ~= api.nvim_buf_get_changedtick(bufnr) then
    local policy = require('acp.config').get().files.save
    if policy == 'always' or (policy == 'auto' and clean) then save(bufnr) end
  end
end

--- Run diff mode's `dp`, which puts the live text into the base and so accepts the hunk.
function M.put() diff_mode('dp') end

--- Show the file under the list's cursor.
function M.pick()
  local review = tab.state()
  if review and api.nvim_get_current_win() == review.list then
    tab.show(api.nvim_win_get_cursor(review.list)[1])
    api.nvim_set_current_win(review.live)
  end
end

--- Accept or reject a whole file: the one that is shown, or in the list the one under the cursor.
---@param verb 'accept'|'reject'
function M.decide(verb)
  local file = M.file()
  local review = tab.state()
  if file and review then review.source.decide(verb, file) end
end

M.close = tab.close

M.go = position.go

return M
