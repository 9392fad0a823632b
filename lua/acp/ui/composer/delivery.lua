--- A prompt on its way to the host is not lost: until the host says that it has it, it can come
--- back.
local M = {}

---@class acp.Delivered: acp.KeptPrompt
---@field id integer
---@field n integer
---@field sent? boolean the agent has it, or had it

local KNOWN = 200

--- Prompts that were sent and not confirmed by the host yet, oldest first.
local unconfirmed = {} ---@type acp.Delivered[]
--- The last prompts that the host has confirmed, oldest first.
local taken = {} ---@type acp.Delivered[]
local numbers = 0
local waiting = {} ---@type fun()[] called once nothing is on its way

--- A number that no other prompt of this Neovim has.
---@return integer
function M.reserve()
  numbers = numbers + 1
  return numbers
end

local function nothing_on_its_way() require('acp.base.call_all')(waiting) end

--- Call `fn` once the host has all prompts that were sent, and the snapshot tells of them.
---@param fn fun()
function M.when_taken(fn)
  if #unconfirmed == 0 then return fn() end
  waiting[#waiting + 1] = fn
end

--- Frame operation: the host has taken a prompt. What becomes of it is told as that of all others.
---@param id integer
function M.taken(id)
  unconfirmed = vim.tbl_filter(function(one)
    if one.id == id then taken[#taken + 1] = one end
    return one.id ~= id
  end, unconfirmed)
  while #taken > KNOWN do
    table.remove(taken, 1)
  end
  require('acp.base.signals').emit('draft_goes')
  if #unconfirmed == 0 and #waiting > 0 then
    vim.schedule(nothing_on_its_way) -- the queue is told in the same frame
  end
end

--- The host has sent a prompt to its agent. An equal text in a queue is another prompt, unless this
--- one came back.
---@param id integer
function M.sent(id)
  for _, list in ipairs({ taken, unconfirmed }) do
    for _, one in ipairs(list) do
      if one.id == id then one.sent = true end
    end
  end
end

--- Our record of a prompt in the queue of session `n`; the host gives its words only.
---@param used table<integer, true> by number
---@return acp.KeptPrompt|nil
local function known(n, text, used)
  for _, sent in ipairs({ false, true }) do
    for _, one in ipairs(taken) do
      if one.text == text and (one.sent or false) == sent and not used[one.id] then
        used[one.id] = true
        return one
      end
    end
  end
  -- Names of attachments stand in brackets where a prompt has no words.
  return not text:match('^%[.*%]$') and { n = n, text = text } or nil
end

--- The prompts that no agent has got yet: those in the queues, and those on their way to the host.
---@return acp.KeptPrompt[]
function M.waiting()
  local found, used = {}, {}
  local sessions = require('acp.base.state').get().sessions
  for _, n in ipairs(require('acp.base.sorted_keys')(sessions)) do
    for _, text in ipairs(sessions[n].queue or {}) do
      found[#found + 1] = known(n, text, used)
    end
  end
  return vim.list_extend(found, unconfirmed)
end

--- The host is gone: what it never took goes back into the composers. What it had is older, and is
--- put in front of that.
function M.host_gone()
  local lost = unconfirmed
  unconfirmed = {}
  for i = #lost, 1, -1 do
    require('acp.base.signals').emit('prompt_comes_back', lost[i].n, lost[i].text)
  end
  if #waiting > 0 then vim.schedule(nothing_on_its_way) end
end

local function on_state()
  local host = require('acp.base.state').get().host
  if host ~= 'running' and host ~= 'starting' then M.host_gone() end
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.delivery')
  on('User', on_state, { pattern = 'AcpState' })
end)

--- Whether a prompt goes to a session that is there already, in a directory of its own.
---@param args table of the verb `prompt`
---@return integer|nil n the session
local function housed(args)
  local state = require('acp.base.state').get()
  local n = args.session or state.current
  local session = n and not args.new and state.sessions[n]
  local open = session and session.id and session.status ~= 'closed'
  return open and (args.agent == nil or args.agent == session.agent) and n or nil
end

---@param file string|{ path: string } as the verb `prompt` carries it
local function path_of(file) return type(file) == 'table' and file.path or file end

--- Remember a prompt until the host says that it has it.
---@param args table of the verb `prompt`
local function track(n, args)
  if not args.text then return end
  watch()
  unconfirmed[#unconfirmed + 1] = {
    id = args.delivery,
    n = n,
    text = args.text,
    ranges = args.ranges or (args.range and { args.range }) or nil,
    paths = args.attach and vim.tbl_map(path_of, args.attach),
  }
  require('acp.base.signals').emit('draft_goes')
end

--- Hand over a prompt; its text comes to composer `n` unless the host takes it.
---@param args table of the verb `prompt`
---@return boolean sent
function M.send(n, args)
  if args.cwd == '' and not housed(args) and not require('acp.ui.composer.places').place() then
    return false
  end
  args.delivery = args.delivery or M.reserve()
  if require('acp.config').get().follow then require('acp.ui.follow').begin() end
  local files, home = package.loaded['acp.buffers.disk_changes'], housed(args)
  args.files = files and home and files.before_prompt(home)
  local sent = require('acp.base.host').notify('prompt', args)
  if args.files then files.after_prompt() end
  if not sent then return false end
  track(n, args)
  local attachments = package.loaded['acp.ui.attachments']
  if attachments then attachments.remove(n) end
  return true
end

--- Let prompts wait in the queue of session `n`, a new one where there is none, until the user
--- lets them go.
---@param prompts table[] as the verb `prompt` takes them
---@return boolean sent
function M.hold(n, prompts)
  local args = { session = n, action = 'hold', prompts = prompts }
  if not require('acp.base.host').notify('queue', args) then return false end
  for _, prompt in ipairs(prompts) do
    track(n, prompt)
  end
  return true
end

--- The same for one that was not written in a composer; a text that cannot be sent goes there.
---@param args table of the verb `prompt`
function M.prompt(n, args)
  if not M.send(n, args) and args.text then
    require('acp.base.signals').emit('prompt_comes_back', n, args.text)
  end
end

--- Send what no composer held: a text, or ACP content blocks.
---@param text_or_blocks string|table[]
---@param opts acp.PromptOpts
function M.write(text_or_blocks, opts)
  local context = require('acp.ui.composer.context')
  local n = opts.session or require('acp.base.state').meant()
  local blocks = type(text_or_blocks) == 'table'
  local text = blocks and '' or text_or_blocks --[[@as string]]
  local paths = vim.tbl_map(
    function(path)
      return require('acp.base.paths').absolute(vim.fs.normalize(path, { expand_env = false }))
    end,
    opts.attach or {}
  )
  local args = context.prompt(text, nil, n, paths)
  args.session, args.new, args.agent, args.meta = opts.session, opts.new, opts.agent, opts.meta
  if blocks then
    local list = vim.islist(text_or_blocks) and text_or_blocks or { text_or_blocks }
    args.text, args.blocks = nil, list
  end
  M.prompt(n, args)
end

return M
