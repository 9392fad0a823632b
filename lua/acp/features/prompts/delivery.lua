--- Delivery of prompts to the host. A prompt returns to its composer unless the host confirms it.
local M = {}

---@class acp.TrackedPrompt: acp.StoredPrompt
---@field id integer
---@field n integer
---@field sent? boolean whether it was sent to the agent

local MAX_CONFIRMED = 200 -- confirmed prompts to remember

--- Prompts that the host has not confirmed yet, oldest first.
local unconfirmed = {} ---@type acp.TrackedPrompt[]
--- The last prompts that the host has confirmed, oldest first.
local confirmed = {} ---@type acp.TrackedPrompt[]
local last_id = 0
local waiting = {} ---@type fun()[] called once all prompts are confirmed

--- Return a prompt number that is unique in this Neovim.
---@return integer
function M.new_id()
  last_id = last_id + 1
  return last_id
end

local function run_waiting() require('acp.features.prompts.call_all')(waiting) end

--- Call `fn` once the host has confirmed all prompts and the snapshot contains them.
---@param fn fun()
function M.when_confirmed(fn)
  if #unconfirmed == 0 then return fn() end
  waiting[#waiting + 1] = fn
end

--- Frame operation: the host has confirmed a prompt. The snapshot reports its further state.
---@param id integer
function M.on_confirmed(id)
  unconfirmed = vim.tbl_filter(function(prompt)
    if prompt.id == id then confirmed[#confirmed + 1] = prompt end
    return prompt.id ~= id
  end, unconfirmed)
  while #confirmed > MAX_CONFIRMED do
    table.remove(confirmed, 1)
  end
  require('acp.base.signals').emit('unsent_changed')
  if #unconfirmed == 0 and #waiting > 0 then
    vim.schedule(run_waiting) -- the same frame updates the queue
  end
end

--- Record that the host has sent a prompt to its agent. The same text in a queue is then another
--- prompt, unless this one was returned to the queue.
---@param id integer
function M.on_sent(id)
  for _, list in ipairs({ confirmed, unconfirmed }) do
    for _, prompt in ipairs(list) do
      if prompt.id == id then prompt.sent = true end
    end
  end
end

--- Find the record of a queued prompt of session `n` and mark it in `used`. The snapshot has only
--- the text of the prompt.
---@param used table<integer, true> by number
---@return acp.StoredPrompt|nil
local function find_record(n, text, used)
  for _, sent in ipairs({ false, true }) do
    for _, prompt in ipairs(confirmed) do
      if prompt.text == text and (prompt.sent or false) == sent and not used[prompt.id] then
        used[prompt.id] = true
        return prompt
      end
    end
  end
  -- A prompt without words is listed as the names of its attachments, in brackets.
  return not text:match('^%[.*%]$') and { n = n, text = text } or nil
end

--- Return the prompts that no agent has received: those in the queues and those not yet confirmed.
---@return acp.StoredPrompt[]
function M.waiting()
  local prompts, used = {}, {}
  local sessions = require('acp.base.state').get().sessions
  for _, n in ipairs(require('acp.base.sorted_keys')(sessions)) do
    local session = sessions[n]
    for _, text in ipairs(not session.purpose and session.queue or {}) do
      prompts[#prompts + 1] = find_record(n, text, used)
    end
  end
  return vim.list_extend(prompts, unconfirmed)
end

---@param file string|{ path: string } an entry of `attach` in the verb `prompt`
local function path_of(file) return type(file) == 'table' and file.path or file end

---@param n integer its composer
---@param args table of the verb `prompt`
---@return acp.TrackedPrompt
local function record_of(n, args)
  return {
    id = args.delivery,
    n = n,
    text = args.text,
    ranges = args.ranges or (args.range and { args.range }) or nil,
    paths = args.attach and vim.tbl_map(path_of, args.attach),
  }
end

--- Return a prompt to its composer, with its attachments. Its mentions of files are in the text.
---@param prompt acp.TrackedPrompt
local function return_to_composer(prompt)
  local cwd = require('acp.base.places').cwd()
  local mentioned = require('acp.base.text.mentions').all(prompt.text, cwd).paths
  local paths = vim.tbl_filter(
    function(path) return not vim.tbl_contains(mentioned, path) end,
    prompt.paths or {}
  )
  local emit = require('acp.base.signals').emit
  emit('prompt_comes_back', prompt.n, prompt.text, paths, prompt.ranges)
end

--- Return unconfirmed prompts to their composers after the host has ended. The queued prompts,
--- which are older, are put in front of them.
function M.on_host_exit()
  local lost = unconfirmed
  unconfirmed = {}
  for i = #lost, 1, -1 do
    return_to_composer(lost[i])
  end
  if #waiting > 0 then vim.schedule(run_waiting) end
end

local function on_state()
  local host = require('acp.base.state').get().host
  if host ~= 'running' and host ~= 'starting' then M.on_host_exit() end
end

local is_stored = true -- whether the unsent texts are stored

local function store_drafts()
  if is_stored then return end
  is_stored = true
  require('acp.base.signals').emit('unsent_changed')
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.delivery')
  on('User', on_state, { pattern = 'AcpState' })
  on('VimLeavePre', store_drafts)
end)

--- Return the open session that a prompt goes to, which has its own directory; nil if the prompt
--- needs a new session.
---@param args table of the verb `prompt`
---@return integer|nil n the session
local function existing_session(args)
  local state = require('acp.base.state').get()
  local n = args.session or state.current
  local session = n and not args.new and state.sessions[n]
  local is_open = session and session.id and session.status ~= 'closed'
  return is_open and (args.agent == nil or args.agent == session.agent) and n or nil
end

--- Remember a prompt until the host confirms it. Store it after the host was started, or when
--- Neovim exits before that. The first signal loads the declarations of all features, which would
--- delay the first prompt.
---@param args table of the verb `prompt`
local function track(n, args)
  if not args.text then return end
  watch()
  unconfirmed[#unconfirmed + 1] = record_of(n, args)
  is_stored = false
  vim.schedule(store_drafts)
end

--- Send a prompt to the host and clear the attachments of composer `n`. If the host does not
--- confirm the prompt, its text returns to the composer.
---@param args table of the verb `prompt`
---@return boolean sent
function M.send(n, args)
  if
    args.cwd == ''
    and not existing_session(args)
    and not require('acp.base.places').cwd_or_error()
  then
    return false
  end
  args.delivery = args.delivery or M.new_id()
  local files = package.loaded['acp.buffers.disk_changes']
  args.files = files and files.before_prompt(existing_session(args))
  local sent = require('acp.base.host').notify('prompt', args)
  if args.files then files.after_prompt(args.files) end
  if not sent then return false end
  track(n, args)
  vim.schedule(function() require('acp.base.signals').emit('prompt_goes') end)
  local attachments = package.loaded['acp.features.prompts.attachments']
  if attachments then attachments.clear(n) end
  return true
end

--- Hold prompts in the queue of session `n`, or of a new session, until the user runs the queue.
---@param prompts table[] arguments of the verb `prompt`
---@return boolean sent
function M.hold(n, prompts)
  local args = { session = n, action = 'hold', prompts = prompts }
  if not require('acp.base.host').notify('queue', args) then return false end
  for _, prompt in ipairs(prompts) do
    track(n, prompt)
  end
  return true
end

--- Send a prompt that was not written in a composer. If it cannot be sent, it goes to composer `n`
--- with its attachments, which include those of the composer.
---@param args table of the verb `prompt`
function M.prompt(n, args)
  if M.send(n, args) or not args.text then return end
  local attachments = package.loaded['acp.features.prompts.attachments']
  if attachments then attachments.clear(n) end
  return_to_composer(record_of(n, args))
end

---@class acp.OwnPromptOpts: acp.PromptOpts options of the plugin itself
---@field lines? acp.Chip lines to attach
---@field foreign? string[] texts that the user did not write

--- Return whether a preset needs a new session: session `n`, or else the current one, has another
--- preset.
---@param n integer|nil
local function needs_session(preset, n)
  local session = n and require('acp.base.state').session(n)
    or require('acp.base.valid_names').session()
  return not session or session.preset ~= preset
end

--- Send a text or ACP content blocks from the Lua API, or from another feature.
---@param text_or_blocks string|table[]
---@param opts acp.OwnPromptOpts
function M.write(text_or_blocks, opts)
  local n = opts.session or require('acp.base.state').default_session()
  local is_text = type(text_or_blocks) == 'string'
  local text = is_text and text_or_blocks or '' --[[@as string]]
  local paths = vim.tbl_map(require('acp.base.paths').expand_home, opts.attach or {})
  local context = require('acp.features.prompts.context')
  local args = context.prompt(text, { opts.lines }, n, paths, opts.foreign)
  args.session, args.agent, args.meta = opts.session, opts.agent, opts.meta
  args.preset, args.new = opts.preset, opts.new
  if opts.preset and needs_session(opts.preset, opts.session) then args.new = true end
  if not is_text then
    args.text = nil
    args.blocks = vim.islist(text_or_blocks) and text_or_blocks or { text_or_blocks }
  end
  M.prompt(n, args)
end

return M
