--- Prompt composer, `acp://composer/{n}`: an ordinary buffer that `:w` sends. No text is lost: a
--- sent text returns unless the host confirms it, and drafts survive `:bdelete` and `:edit`.
---
--- The buffer is never 'modified', so that `:wall` cannot send half a prompt and `:qall` is not
--- stopped by one.
local M = {}

local ns = vim.api.nvim_create_namespace('acp.composer')
local attachments, state = require('acp.features.prompts.attachments'), require('acp.base.state')
local chips_of = require('acp.features.prompts.chips')
local candidates = require('acp.features.prompts.composer.candidates')
local context, places = require('acp.features.prompts.context'), require('acp.base.places')
local placeholder = require('acp.features.prompts.composer.placeholder')
local suggestions = require('acp.features.prompts.composer.suggestions')

---@class acp.Composer
---@field bufnr integer
---@field walk acp.Walk
---@field chips acp.Chip[] lines attached to its text
---@field foreign string[] inserted texts with mentions or variables that the user did not type
---@field new boolean whether the next prompt opens a new session
---@field begun boolean whether its session has been requested

local composers = {} ---@type table<integer, acp.Composer>
local drafts = {} ---@type table<integer, string[]> lines of unloaded buffers, by composer
local draft_ids = {} ---@type table<integer, integer> delivery ids of unsent prompts, by composer

local function name_of(n) return 'acp://composer/' .. n end

--- Return the composer's buffer, nil if it was never opened.
---@return integer|nil
function M.bufnr(n)
  local it = composers[n]
  return it and vim.api.nvim_buf_is_valid(it.bufnr) and it.bufnr or nil
end

local function lines_of(bufnr) return vim.api.nvim_buf_get_lines(bufnr, 0, -1, false) end

--- Put text into a buffer, which does not become 'modified'.
---@param last? integer number of lines to replace at the beginning; all by default
local function set_text(bufnr, text, last)
  vim.api.nvim_buf_set_lines(bufnr, 0, last or -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[bufnr].modified = false
end

--- Remember a text with mentions or variables that the user did not type.
---@param it acp.Composer
local function add_foreign(it, text)
  if text:find('[@{]') and not vim.tbl_contains(it.foreign, text) then
    table.insert(it.foreign, text)
  end
end

local function blank(lines) return table.concat(lines):match('^%s*$') ~= nil end

--- Return the width of a window that shows the buffer, or of the screen if there is none.
local function width_of(bufnr)
  local win = vim.fn.win_findbuf(bufnr)[1]
  return win and vim.api.nvim_win_get_width(win) or vim.o.columns
end

--- Return the lines attached to the next prompt of composer `n`.
---@return acp.Chip[]
local function own_chips(n)
  local it = composers[n]
  return vim.list_extend(attachments.chips(n), it and it.chips or {})
end

--- Return labels of the context sent with the prompt of composer `n`: mentioned files, attachments,
--- ranges.
---@return string[]
local function context_labels(n)
  local it = composers[n]
  local text = table.concat(lines_of(it.bufnr), '\n')
  local mentioned = text:find('@', 1, true)
      and require('acp.base.text.mentions').all(text, places.cwd())
    or { paths = {}, ranges = {} }
  attachments.append_new(mentioned.paths, attachments.list(n))
  local found = vim.tbl_map(attachments.label, mentioned.paths)
  vim.list_extend(found, vim.tbl_map(places.label, mentioned.ranges))
  return vim.list_extend(found, chips_of.labels(own_chips(n)))
end

--- Draw the attachments below the text, the placeholder of an empty composer, and the winbar.
function M.decorate(n)
  local it = composers[n]
  if not it or not vim.api.nvim_buf_is_loaded(it.bufnr) then return end
  require('acp.features.prompts.composer.bar').update(n, it.bufnr, it.begun, context_labels(n))
  vim.api.nvim_buf_clear_namespace(it.bufnr, ns, 0, -1)
  local below = {}
  local function add(label) below[#below + 1] = { { '  + ' .. label, 'AcpAttachment' } } end
  vim.iter(chips_of.labels(own_chips(n))):each(add)
  vim.iter(attachments.list(n)):map(attachments.label):each(add)
  local count = vim.api.nvim_buf_line_count(it.bufnr)
  if #below > 0 then
    vim.api.nvim_buf_set_extmark(it.bufnr, ns, count - 1, 0, { virt_lines = below })
  end
  suggestions.bind(n, it.bufnr, table.concat(lines_of(it.bufnr), '\n'))
  if count == 1 and lines_of(it.bufnr)[1] == '' then
    local width = width_of(it.bufnr)
    local words = suggestions.ghost_text(n, width) or placeholder.text(width)
    vim.api.nvim_buf_set_extmark(it.bufnr, ns, 0, 0, {
      virt_text = { { words, 'AcpPlaceholder' } },
      virt_text_pos = 'overlay',
    })
  end
end

--- Update the decoration and reset 'modified' after every change of the buffer.
local function watch(n, bufnr)
  local decorate_later = require('acp.base.schedule_once')(function()
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.bo[bufnr].modified = false
      M.decorate(n)
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
  if drafts[n] then
    vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, drafts[n])
    drafts[n] = nil
  end
  vim.bo[bufnr].modified = false
  local on = require('acp.base.autocmds').group('acp.composer.' .. n)
  -- By buffer, not by name, so that `:w other` is handled too.
  on({ 'BufWriteCmd', 'FileWriteCmd' }, function(args) M.write(n, args) end, { buffer = bufnr })
  require('acp.features.prompts.composer.popup').watch(
    n,
    bufnr,
    on,
    function(text) add_foreign(composers[n], text) end
  )
  watch(n, bufnr)
  require('acp.features.prompts.composer.exits').watch(
    bufnr,
    on,
    function() return not blank(lines_of(bufnr)) end
  )
  require('acp.ui.keymaps').attach('composer', bufnr, n)
  vim.bo[bufnr].filetype = 'acpcomposer'
end

---@return acp.Composer
local function record(bufnr)
  local walk = require('acp.features.prompts.earlier_prompts').walk()
  return { bufnr = bufnr, walk = walk, chips = {}, foreign = {}, new = false, begun = false }
end

--- Record the composer's buffer in new sessions, and update the winbars and suggestions.
local function on_state()
  for n, it in pairs(composers) do
    local session = state.get().sessions[n]
    if vim.api.nvim_buf_is_valid(it.bufnr) then
      if session and session.composer_bufnr ~= it.bufnr then
        state.set_buffer(n, 'composer_bufnr', it.bufnr)
      end
      require('acp.features.prompts.composer.bar').update(n, it.bufnr, it.begun, context_labels(n))
      if suggestions.changed(n) then M.decorate(n) end
    end
  end
end

local function on_resized()
  for n in pairs(composers) do
    M.decorate(n)
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
  on('BufWinEnter', M.decorate) -- the placeholder depends on the window's width
  on('BufUnload', function(n, args)
    local lines = lines_of(args.buf)
    drafts[n] = not blank(lines) and lines or nil
  end)
  on('BufReadCmd', function(n, args)
    composers[n] = composers[n] or record(args.buf)
    composers[n].bufnr = args.buf
    set_up(n, args.buf)
    M.decorate(n)
  end)
end

--- Return the buffer of composer `n`, creating it if needed. The session need not exist yet.
---@return integer bufnr
function M.ensure(n)
  require('acp.ui.highlights').define()
  local it = composers[n]
  if it and vim.api.nvim_buf_is_loaded(it.bufnr) then return it.bufnr end
  if next(composers) == nil then register() end
  local bufnr = vim.fn.bufadd(name_of(n))
  composers[n] = it or record(bufnr)
  composers[n].bufnr = bufnr
  require('acp.ui.current').watch()
  require('acp.features.prompts.composer.dropped').watch()
  if vim.api.nvim_buf_is_loaded(bufnr) then -- after :source of a session file
    set_up(n, bufnr)
    M.decorate(n)
  end
  vim.fn.bufload(bufnr) -- fires BufReadCmd
  on_state()
  return bufnr
end

--- Return the session arguments of the verb `prompt`: this session, or a new one if it does not
--- exist.
local function target(n)
  local it, sessions = composers[n], state.get().sessions
  if it.begun or sessions[n] and not it.new then return { session = n } end
  return { new = (it.new or next(sessions) ~= nil) or nil }
end

--- Send lines `first` to `last` (all by default) of composer `n` and remove them from it.
---@param first? integer 1-based
---@param last? integer 1-based, inclusive
---@param now? boolean whether to send it before all queued prompts
function M.send(n, first, last, now)
  local it = composers[n]
  local lines = vim.api.nvim_buf_get_lines(it.bufnr, (first or 1) - 1, last or -1, false)
  if blank(lines) then return require('acp.base.notify').show('info', 'nothing_to_send') end
  local text = table.concat(lines, '\n')
  local args =
    vim.tbl_extend('error', context.prompt(text, it.chips, n, nil, it.foreign), target(n))
  args.composer = n
  args.now = now
  local whole = (first or 1) <= 1 and (last or #lines) >= vim.api.nvim_buf_line_count(it.bufnr)
  args.delivery = whole and draft_ids[n] or nil
  if not require('acp.features.prompts.delivery').send(n, args) then return end
  draft_ids[n] = nil
  require('acp.base.signals').emit('prompt_written', n, text)
  require('acp.features.prompts.earlier_prompts').add(text)
  local draft = it.walk.at > 0 and it.walk.written[0] or ''
  it.walk, it.new = require('acp.features.prompts.earlier_prompts').walk(), false
  it.chips = {}
  if whole then it.foreign = {} end
  require('acp.features.prompts.composer.popup').leave(it.bufnr)
  vim.api.nvim_buf_set_lines(it.bufnr, (first or 1) - 1, last or -1, false, {})
  vim.bo[it.bufnr].modified = false
  if draft:match('%S') then M.return_prompt(n, draft) end
end

--- Send the composer's text at once, or the first queued prompt if it is empty. A running turn is
--- cancelled first, unless the agent takes prompts while it works (protocol 2).
---@param n integer
function M.send_now(n)
  if composers[n] and not blank(lines_of(composers[n].bufnr)) then
    return M.send(n, nil, nil, true)
  end
  if not require('acp.base.host').is_running() then
    return require('acp.base.notify').show('info', 'nothing_to_send')
  end
  require('acp.base.host').notify('send', { session = n })
end

--- Send the text and close the window, as `ZZ` does with a file.
function M.finish(n)
  if not blank(lines_of(composers[n].bufnr)) then M.send(n) end
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

--- Put an undelivered prompt in front of the composer's text.
---@param paths? string[] its attached files
---@param ranges? { path: string, first: integer, last: integer }[] its attached lines
function M.return_prompt(n, text, paths, ranges)
  local bufnr = M.ensure(n)
  set_text(bufnr, text, not blank(lines_of(bufnr)) and 0 or nil)
  add_foreign(composers[n], text)
  vim.list_extend(
    composers[n].chips,
    chips_of.create_all(chips_of.without_mentioned(ranges or {}, text))
  )
  attachments.restore(n, paths or {})
  -- Without a host, the error about the host is the more important message.
  if state.get().host == 'running' and not require('acp.ui.window').showing(bufnr) then
    require('acp.base.notify').show('info', 'prompt_is_back')
  end
end

local function text_of(n)
  local it = composers[n]
  local is_loaded = it and vim.api.nvim_buf_is_loaded(it.bufnr)
  return table.concat(is_loaded and lines_of(it.bufnr) or drafts[n] or {}, '\n')
end

--- Return the drafts of composer `n`: its text with the attachments, then the other drafts of the
--- walk through the history. An unchanged entry of the history is no draft.
---@return acp.StoredPrompt[]
local function contents_of(n)
  local text, it, paths = text_of(n), composers[n], attachments.list(n)
  local ranges = vim.tbl_map(chips_of.resolve, own_chips(n))
  local texts = it and require('acp.features.prompts.earlier_prompts').unsent_texts(it.walk, text)
    or { text }
  if #texts == 0 and (text:match('%S') or #paths > 0 or #ranges > 0) then texts = { text } end
  local found = vim.tbl_map(function(own) return { n = n, text = own } end, texts)
  if found[1] then
    found[1].paths, found[1].ranges = paths, ranges
    if found[1].text == text then
      draft_ids[n] = draft_ids[n] or require('acp.features.prompts.delivery').new_id()
      found[1].id = draft_ids[n]
    end
  end
  return found
end

--- Return the drafts of all composers.
---@return acp.StoredPrompt[]
function M.contents()
  local found, order = {}, vim.list_extend(vim.tbl_keys(composers), attachments.composers())
  table.sort(order)
  for _, n in ipairs(vim.fn.uniq(order)) do
    vim.list_extend(found, contents_of(n))
  end
  return found
end

--- Put a draft of an earlier Neovim into composer `n`. Return false if the composer is not empty.
---@param draft acp.StoredPrompt
---@return boolean
function M.restore(n, draft)
  local bufnr = M.ensure(n)
  if not blank(lines_of(bufnr)) then return false end
  set_text(bufnr, draft.text)
  add_foreign(composers[n], draft.text)
  vim.list_extend(composers[n].chips, vim.tbl_map(chips_of.from_saved, draft.ranges or {}))
  attachments.restore(n, draft.paths or {})
  return true
end

--- Insert the next suggestion into an empty composer, or in place of another suggestion.
function M.take_suggestion(bufnr)
  local n = candidates.composer(bufnr)
  local text = n and suggestions.next(n, table.concat(lines_of(bufnr), '\n'))
  if not text then return end
  set_text(bufnr, text)
  add_foreign(composers[n], text)
  local lines = lines_of(bufnr)
  vim.api.nvim_win_set_cursor(0, { #lines, #lines[#lines] })
end

--- Put an entry of the history into the composer as a new prompt. The cursor moves to its end.
local function insert_entry(n, it, text)
  draft_ids[n] = nil
  set_text(it.bufnr, text)
  if it.walk.at > 0 then add_foreign(it, text) end
  local win = require('acp.ui.window').showing(it.bufnr)
  if win then vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(it.bufnr), 0 }) end
end

--- Walk to an earlier (`by` > 0) or later prompt, keeping the present text.
---@param by integer steps
---@return boolean found
local function walk(by, n)
  local it = composers[n]
  local present = table.concat(lines_of(it.bufnr), '\n')
  local text = require('acp.features.prompts.earlier_prompts').step(it.walk, by, present)
  if text then insert_entry(n, it, text) end
  return text ~= nil
end

--- Show an earlier (`by` = 1) or later (-1) prompt, keeping the present text.
---@param by integer prompts back
function M.browse(n, by)
  local steps, notify = by * vim.v.count1, require('acp.base.notify')
  if walk(steps, n) then
    return
  elseif by < 0 then
    return notify.show('info', 'no_later_prompt')
  end
  require('acp.features.prompts.earlier_prompts').when_complete(function()
    if not walk(steps, n) then notify.show('info', 'no_earlier_prompt') end
  end)
end

--- Let the user choose an earlier prompt.
function M.search(n)
  local history = require('acp.features.prompts.earlier_prompts')
  history.when_complete(function()
    local list, messages = history.list(), require('acp.base.messages')
    if #list == 0 then return require('acp.base.notify').show('info', 'no_earlier_prompt') end
    local items = vim.tbl_map(
      function(one) return { label = one.text, preview = vim.split(one.text, '\n') } end,
      list
    )
    require('acp.ui.pick').choose(
      messages.earlier_prompts,
      'prompt',
      items,
      function(index) walk(list[index].at - composers[n].walk.at, n) end
    )
  end)
end

local chosen_rows ---@type integer|nil height that the user gave the last composer window

--- Window options of a composer.
M.options = { fillchars = 'eob: ' }

--- Return the placement of the composer's window: below its chat, with at most half of the height.
---@return acp.OpenOpts
local function placement(n)
  local chat = require('acp.ui.window').showing(require('acp.ui.chats').bufnr(n))
  local half = chat and math.max(math.floor(vim.api.nvim_win_get_height(chat) / 2) - 1, 1)
  local rows = chosen_rows or require('acp.config').get().composer.height
  return {
    layout = 'bottom',
    size = math.min(half or rows, rows),
    under = chat,
    enter = true,
    options = M.options,
  }
end

--- Use the height that the user gives `win` for the next composer window.
local function remember_rows(win)
  local rows = require('acp.ui.window.rows')
  local first = vim.api.nvim_win_get_height(win)
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(win),
    once = true,
    callback = function()
      local last = rows.of(win)
      if last and last ~= first then chosen_rows = last end
    end,
  })
end

--- Start the agent and its session when the composer opens, so that commands and modes are known
--- before the first prompt. The winbar shows an error.
local function begin(n, it)
  local cwd, host = places.cwd(), require('acp.base.host')
  if it.begun or state.get().sessions[n] or cwd == '' or not host.is_usable() then return end
  it.begun = host.notify('begin', { n = n, cwd = cwd })
  it.new = it.new and not it.begun
end

--- Move the composer's window of this tab page below chat `n`, which has just been opened.
function M.join(n)
  local window = require('acp.ui.window')
  local win, where = window.showing(M.bufnr(n)), placement(n)
  if win and where.under then window.move_below(win, where.under, where.size) end
end

--- Frame operation: move the text of composer `n`, whose session has ended, to composer `m`.
---@param n integer
---@param m integer
function M.move(n, m)
  local it, window = composers[n], require('acp.ui.window')
  if not it or not vim.api.nvim_buf_is_loaded(it.bufnr) then return end
  local bufnr, current = M.ensure(m), vim.api.nvim_get_current_win()
  set_text(bufnr, text_of(n), blank(lines_of(bufnr)) and -1 or 0)
  vim.list_extend(composers[m].chips, it.chips)
  it.chips = {}
  attachments.restore(m, attachments.list(n), attachments.chips(n))
  composers[m].begun = true
  for _, win in ipairs(vim.fn.win_findbuf(it.bufnr)) do
    local cursor = vim.api.nvim_win_get_cursor(win)
    window.replace(win, bufnr, vim.tbl_extend('force', placement(m), { enter = win == current }))
    vim.api.nvim_win_set_cursor(win, cursor)
  end
  it.begun = nil
  attachments.clear(n)
  set_text(it.bufnr, '')
end

--- Return the current composer window if chat `n` has replaced the chat above it.
---@return integer|nil win
local function composer_of_replaced_chat(n)
  local window, chats = require('acp.ui.window'), require('acp.ui.chats')
  local win = vim.api.nvim_get_current_win()
  local other = candidates.composer(0)
  local above = other and vim.w[win].acp and window.showing(chats.bufnr(n))
  return above and not window.showing(chats.bufnr(other)) and win or nil
end

---@class acp.ComposeOpts
---@field session? integer
---@field new? boolean
---@field range? { bufnr: integer, first: integer, last: integer }
---@field insert? boolean

--- Go to the composer. Open its window below its chat, which opens too (option `chat.open`), or at
--- the bottom. Call this only for an action of the user.
---@param opts? acp.ComposeOpts
function M.open(opts)
  opts = opts or {}
  local n = opts.session or (opts.new and state.next()) or state.default_session()
  local bufnr = M.ensure(n)
  local it = composers[n]
  it.new = it.new or opts.new or false
  if opts.range then
    local range = opts.range
    table.insert(it.chips, chips_of.create(range.bufnr, range.first, range.last))
    require('acp.base.signals').emit('draft_changed')
  end
  local emit = require('acp.base.signals').emit
  local back = require('acp.base.notify').defer_messages(emit, 'composer_opens', n)
  local cwd = places.cwd()
  -- The start of git takes longer than everything else here: do it when the window is drawn.
  vim.defer_fn(function() require('acp.features.prompts.composer.files').warm(cwd) end, 0)
  begin(n, it)
  local window = require('acp.ui.window')
  window.when_free(function()
    emit('composer_shown', n)
    local win = window.showing(bufnr)
    local other = not win and composer_of_replaced_chat(n)
    if win then
      vim.api.nvim_set_current_win(win)
    elseif other then
      win = window.replace(other, bufnr, placement(n))
    else
      win = window.open_beside(bufnr, placement(n))
      if win then remember_rows(win) end
    end
    if back and win then
      local lines = lines_of(bufnr)
      vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
    end
    M.decorate(n)
    if opts.insert then vim.cmd.startinsert({ bang = true }) end
  end)
end

--- Show composer `n` below its chat. The focus does not move.
function M.show(n)
  local where = vim.tbl_extend('force', placement(n), { enter = false })
  local win = require('acp.ui.window').open_beside(M.ensure(n), where)
  if win then remember_rows(win) end
  M.decorate(n)
end

--- Go from a chat to its composer in Insert mode.
function M.open_insert(n)
  local session = n and state.get().sessions[n]
  -- A subagent takes no prompts; its parent session does.
  M.open({ session = session and session.parent or n, insert = true })
end

return M
