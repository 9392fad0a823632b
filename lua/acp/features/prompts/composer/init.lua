--- Prompt composer, `acp://composer/{n}`: an ordinary buffer that `:w` sends. No text is lost: a
--- sent text returns unless the host confirms it, and drafts survive `:bdelete` and `:edit`.
---
--- The buffer is never 'modified', so that `:wall` cannot send half a prompt and `:qall` is not
--- stopped by one.
local M = {}

local attachments, state = require('acp.features.prompts.attachments'), require('acp.base.state')
local chips_of = require('acp.features.prompts.chips')
local candidates = require('acp.features.prompts.composer.candidates')
local context, places = require('acp.features.prompts.context'), require('acp.base.places')
local composers = require('acp.features.prompts.composer.composers')
local decoration = require('acp.features.prompts.composer.decoration')
local windows = require('acp.features.prompts.composer.window')
local suggestions = require('acp.features.prompts.composer.suggestions')

local function name_of(n) return 'acp://composer/' .. n end

--- Update the decoration and reset 'modified' after every change to the buffer.
local function watch(n, bufnr)
  local decorate_later = require('acp.base.schedule_once')(function()
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.bo[bufnr].modified = false
      decoration.draw(n)
    end
  end)
  vim.api.nvim_buf_attach(bufnr, false, {
    on_lines = function()
      vim.bo[bufnr].modified = false -- at once, since `:wa` may follow
      require('acp.base.signals').emit('draft_changed')
      decorate_later()
    end,
  })
end

local function set_up(n, bufnr)
  require('acp.ui.scratch').set_writable(bufnr, {
    omnifunc = "v:lua.require'acp.features.prompts.composer.completion'.omni",
    textwidth = 0,
  })
  composers.restore_lines(n, bufnr)
  vim.bo[bufnr].modified = false
  local on = require('acp.base.autocmds').group('acp.composer.' .. n)
  -- By buffer, not by name, so that `:w other` is handled too.
  on({ 'BufWriteCmd', 'FileWriteCmd' }, function(args) M.write(n, args) end, { buffer = bufnr })
  require('acp.features.prompts.composer.popup').watch(
    n,
    bufnr,
    on,
    function(text) composers.add_foreign(composers.get(n), text) end
  )
  watch(n, bufnr)
  require('acp.features.prompts.composer.exits').watch(
    bufnr,
    on,
    function() return not composers.is_empty(bufnr) end
  )
  require('acp.ui.keymaps').attach('composer', bufnr, n)
  vim.bo[bufnr].filetype = 'acpcomposer'
end

--- Record the composer's buffer in new sessions, and update the winbars and suggestions.
local function on_state()
  for n, composer in pairs(composers.all()) do
    local session = state.get().sessions[n]
    if vim.api.nvim_buf_is_valid(composer.bufnr) then
      if session and session.composer_bufnr ~= composer.bufnr then
        state.set_buffer(n, 'composer_bufnr', composer.bufnr)
      end
      decoration.update_bar(n)
      if suggestions.has_changed(n) then decoration.draw(n) end
    end
  end
end

local function on_resized()
  for n in pairs(composers.all()) do
    decoration.draw(n)
  end
end

--- Create the autocommands for all composers. Unloading a buffer saves its draft, and reading it
--- restores the draft.
local function register()
  local add = require('acp.base.autocmds').group('acp.composer')
  local function on(event, callback)
    add(event, function(args)
      local n = candidates.composer(args.buf)
      if n then callback(n, args) end
    end, { pattern = 'acp://composer/*' })
  end
  add('User', on_state, { pattern = 'AcpState' })
  add('WinResized', on_resized)
  on('BufWinEnter', decoration.draw) -- the placeholder depends on the window's width
  on('BufUnload', function(n, args) composers.save_lines(n, args.buf) end)
  on('BufReadCmd', function(n, args)
    composers.set_buffer(n, args.buf)
    set_up(n, args.buf)
    decoration.draw(n)
  end)
end

--- Return the buffer of composer `n`, creating it if needed. The session need not exist yet.
---@return integer bufnr
function M.ensure(n)
  require('acp.ui.highlights').define()
  local composer = composers.get(n)
  if composer and vim.api.nvim_buf_is_loaded(composer.bufnr) then return composer.bufnr end
  if next(composers.all()) == nil then register() end
  local bufnr = vim.fn.bufadd(name_of(n))
  composers.set_buffer(n, bufnr)
  require('acp.ui.current').watch()
  require('acp.features.prompts.composer.dropped').watch()
  if vim.api.nvim_buf_is_loaded(bufnr) then -- after :source of a session file
    set_up(n, bufnr)
    decoration.draw(n)
  end
  vim.fn.bufload(bufnr) -- fires BufReadCmd
  on_state()
  return bufnr
end

--- Return the session arguments of the verb `prompt`: this session, or a new one if it does not
--- exist.
local function target(n)
  local composer, sessions = composers.get(n), state.get().sessions
  if composer.begun or sessions[n] and not composer.new then return { session = n } end
  return { new = (composer.new or next(sessions) ~= nil) or nil }
end

--- Send lines `first` to `last` (all by default) of composer `n`, remove them from it and add them
--- to the history. If an earlier prompt was shown, restore the draft.
---@param first? integer 1-based
---@param last? integer 1-based, inclusive
---@param now? boolean whether to send it before all queued prompts
function M.send(n, first, last, now)
  local composer = composers.get(n)
  local lines = vim.api.nvim_buf_get_lines(composer.bufnr, (first or 1) - 1, last or -1, false)
  if composers.is_blank(lines) then
    return require('acp.base.notify').show('info', 'nothing_to_send')
  end
  local text = table.concat(lines, '\n')
  local args = vim.tbl_extend(
    'error',
    context.typed_prompt(text, composer.chips, n, composer.foreign),
    target(n)
  )
  args.composer = n
  args.now = now
  local is_whole = (first or 1) <= 1
    and (last or #lines) >= vim.api.nvim_buf_line_count(composer.bufnr)
  args.delivery = is_whole and composers.draft_id(n) or nil
  if not require('acp.features.prompts.delivery').send(n, args) then return end
  composers.forget_draft_id(n)
  require('acp.base.signals').emit('prompt_written', n, text)
  require('acp.features.prompts.earlier_prompts').add(text)
  local draft = composer.walk.at > 0 and composer.walk.written[0] or ''
  composer.walk, composer.new = require('acp.features.prompts.earlier_prompts').walk(), false
  composer.chips = {}
  if is_whole then composer.foreign = {} end
  require('acp.features.prompts.composer.popup').leave(composer.bufnr)
  vim.api.nvim_buf_set_lines(composer.bufnr, (first or 1) - 1, last or -1, false, {})
  vim.bo[composer.bufnr].modified = false
  if draft:match('%S') then M.return_prompt(n, draft) end
end

--- Send the composer's text at once, or the first queued prompt if it is empty. A running turn is
--- cancelled first, unless the agent takes prompts while it works (protocol 2).
---@param n integer
function M.send_now(n)
  if composers.get(n) and not composers.is_empty(composers.get(n).bufnr) then
    return M.send(n, nil, nil, true)
  end
  if not require('acp.base.host').is_running() then
    return require('acp.base.notify').show('info', 'nothing_to_send')
  end
  require('acp.base.host').notify('send', { session = n })
end

--- Send the text and close the window, as `ZZ` does with a file.
function M.finish(n)
  if not composers.is_empty(composers.get(n).bufnr) then M.send(n) end
  require('acp.ui.window').leave()
end

--- Handle a write: `:w` sends the text, `:2,3w!` sends these lines, `:w file` writes a file.
---@param args { buf: integer, match: string, file: string }
function M.write(n, args)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  if not vim.endswith(args.match, name_of(n)) then
    local lines = vim.api.nvim_buf_get_lines(args.buf, first - 1, last, false)
    vim.fn.writefile(lines, args.match)
    return
  end
  -- an automatic save must not send
  if not require('acp.buffers.automatic_saves').is_automatic() then M.send(n, first, last) end
end

--- Put an undelivered prompt in front of the text of composer `n`, or of the composer of a new
--- session (nil, |vim.NIL|).
---@param paths? string[] its attached files
---@param ranges? { path: string, first: integer, last: integer }[] its attached lines
function M.return_prompt(n, text, paths, ranges)
  n = type(n) == 'number' and n or state.default_session()
  local bufnr = M.ensure(n)
  composers.set_text(bufnr, text, not composers.is_empty(bufnr) and 0 or nil)
  composers.add_foreign(composers.get(n), text)
  vim.list_extend(
    composers.get(n).chips,
    chips_of.create_all(chips_of.without_mentioned(ranges or {}, text))
  )
  attachments.restore(n, paths or {})
  -- Without a host, the error about the host is the more important message.
  if state.get().host == 'running' and not require('acp.ui.window').showing(bufnr) then
    local session = state.get().sessions[n]
    -- A racer is the current session only until the next one begins.
    local is_elsewhere = session and (session.worktree or n ~= state.current())
    local message = is_elsewhere and 'prompt_is_there' or 'prompt_is_back'
    require('acp.base.notify').show('info', message, n)
  end
end

--- Put a draft from an earlier Neovim into composer `n`. Return false if the composer is not empty.
---@param draft acp.StoredPrompt
---@return boolean
function M.restore(n, draft)
  local bufnr = M.ensure(n)
  if not composers.is_empty(bufnr) then return false end
  composers.set_text(bufnr, draft.text)
  composers.add_foreign(composers.get(n), draft.text)
  vim.list_extend(composers.get(n).chips, vim.tbl_map(chips_of.from_saved, draft.ranges or {}))
  attachments.restore(n, draft.paths or {})
  return true
end

--- Insert the next suggestion into an empty composer, or in place of another suggestion.
function M.take_suggestion(bufnr)
  local n = candidates.composer(bufnr)
  local text = n and suggestions.next(n, table.concat(composers.lines(bufnr), '\n'))
  if not text then return end
  composers.set_text(bufnr, text)
  composers.add_foreign(composers.get(n), text)
  local lines = composers.lines(bufnr)
  vim.api.nvim_win_set_cursor(0, { #lines, #lines[#lines] })
end

--- Start the agent and its session when the composer opens, so that commands and modes are known
--- before the first prompt. The winbar shows an error.
local function begin(n, composer)
  local cwd, host = places.cwd(), require('acp.base.host')
  if composer.begun or state.get().sessions[n] or cwd == '' or not host.is_usable() then return end
  composer.begun = host.notify('begin', { n = n, cwd = cwd })
  composer.new = composer.new and not composer.begun
end

--- Frame operation: move the text and the attachments of composer `n`, whose session has ended, to
--- composer `m`, and show composer `m` in the same windows.
---@param n integer
---@param m integer
function M.move(n, m)
  local composer, window = composers.get(n), require('acp.ui.window')
  if not composer then return end
  M.ensure(n)
  local bufnr, current = M.ensure(m), vim.api.nvim_get_current_win()
  composers.move_texts(n, m)
  vim.list_extend(composers.get(m).chips, composer.chips)
  composer.chips = {}
  attachments.restore(m, attachments.list(n), attachments.chips(n))
  composers.get(m).begun = true
  for _, win in ipairs(vim.fn.win_findbuf(composer.bufnr)) do
    local cursor = vim.api.nvim_win_get_cursor(win)
    window.replace(
      win,
      bufnr,
      vim.tbl_extend('force', windows.placement(m), { enter = win == current })
    )
    vim.api.nvim_win_set_cursor(win, cursor)
  end
  decoration.draw(m)
  composer.begun = nil
  attachments.clear(n)
  composers.set_text(composer.bufnr, '')
end

---@class acp.ComposeOpts
---@field session? integer
---@field new? boolean
---@field range? { bufnr: integer, first: integer, last: integer }
---@field insert? boolean

--- Go to the composer. Open its window below its chat, which opens too (option `chat.open`), or at
--- the bottom. Call this only for a user action.
---@param opts? acp.ComposeOpts
function M.open(opts)
  opts = opts or {}
  local n = opts.session or (opts.new and state.next()) or state.default_session()
  local bufnr = M.ensure(n)
  local composer = composers.get(n)
  composer.new = composer.new or opts.new or false
  if opts.range then
    local range = opts.range
    table.insert(composer.chips, chips_of.create(range.bufnr, range.first, range.last))
    require('acp.base.signals').emit('draft_changed')
  end
  local emit = require('acp.base.signals').emit
  local back = require('acp.base.notify').defer_messages(emit, 'composer_opens', n)
  local cwd = places.cwd()
  -- The start of git takes longer than everything else here: do it when the window is drawn.
  vim.defer_fn(function() require('acp.features.prompts.composer.files').warm(cwd) end, 0)
  begin(n, composer)
  require('acp.ui.window').when_free(function()
    emit('composer_shown', n)
    local win = windows.enter(n, bufnr)
    if back and win then
      local lines = composers.lines(bufnr)
      vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
    end
    decoration.draw(n)
    if opts.insert then vim.cmd.startinsert({ bang = true }) end
  end)
end

--- Show composer `n` below its chat. The focus does not move.
function M.show(n)
  windows.show(n, M.ensure(n))
  decoration.draw(n)
end

--- Go from a chat to its composer in Insert mode.
function M.open_insert(n)
  local session = n and state.get().sessions[n]
  -- A subagent takes no prompts; its parent session does.
  M.open({ session = session and session.parent or n, insert = true })
end

return M
