--- The user's unsent texts on disk: drafts in composers, queued prompts, comments. They are
--- written when typing pauses, restored by the next Neovim that uses the plugin in the same
--- directory, and removed when they are sent.
---
--- A prompt has a number from its first draft on. The host records the numbers of sent prompts
--- beside the drafts (`sent.py`). So a sent prompt does not return, even if Neovim was killed
--- before it could remove the draft.
local M = {}

local draft_file = require('acp.features.prompts.draft_file')

local PAUSE_MS, LONGEST_MS = 300, 2000
local RETRY_MS, LAST_RETRY_MS = 2000, 300000 -- first and longest delay after a failure

local on_disk = {} ---@type table<string, string> path -> text
--- Files of earlier Neovims, deleted once this Neovim's own files contain their texts.
local leftover = {} ---@type string[]
--- Drafts that were moved to the history, by directory.
local earlier = {} ---@type table<string, acp.StoredPrompt[]>
local recalled = {} ---@type table<string, true> directories
local last_cwd = {} ---@type table<integer, string> by composer
local is_writing, is_due = false, false -- is_due: whether to write again after that
local is_waiting = false -- whether the timer for the next write is running
local is_retrying = false -- whether the timer for a retry is running
local retry_ms = RETRY_MS
local is_exiting = false -- whether Neovim is exiting, so that later changes are ignored
local first_change, last_change = 0, 0
local last_problem ---@type string|nil last problem that was shown

local function report_problem(why)
  if why ~= last_problem then
    last_problem = why
    require('acp.base.notify').show('warn', 'drafts_not_saved', why)
  end
end

--- Return the directory of a composer's session or, without a session, the current directory.
local function cwd_of(n)
  local session = n and require('acp.base.state').get().sessions[n]
  local cwd = session and session.cwd or require('acp.base.places').cwd()
  if cwd == '' then -- it was deleted
    cwd = n and last_cwd[n] or ''
  end
  if n then last_cwd[n] = cwd end
  return cwd
end

---@return acp.StoredDrafts
local function no_texts(cwd)
  return {
    version = draft_file.VERSION,
    cwd = cwd,
    sent = vim.fs.basename(draft_file.sent_path()),
    current = require('acp.base.state').current(),
    drafts = {},
    queue = {},
    earlier = {},
    remarks = {},
  }
end

--- Return the wanted contents of each file of this Neovim, which has one for each directory.
---@return table<string, acp.StoredDrafts> path -> texts
local function contents()
  local by_path = {} ---@type table<string, acp.StoredDrafts>
  local function of(cwd)
    local path = draft_file.path(cwd)
    by_path[path] = by_path[path] or no_texts(cwd)
    return by_path[path]
  end
  if package.loaded['acp.features.prompts.attachments'] then -- by a composer or its attachments
    for _, draft in ipairs(require('acp.features.prompts.composer.composers').contents()) do
      table.insert(of(cwd_of(draft.n)).drafts, draft)
    end
  end
  for _, prompt in ipairs(require('acp.features.prompts.delivery').waiting()) do
    table.insert(of(cwd_of(prompt.n)).queue, prompt)
  end
  for _, prompt in ipairs(require('acp.features.prompts.held_prompts').list()) do
    table.insert(of(prompt.cwd).queue, prompt)
  end
  for cwd, list in pairs(earlier) do
    vim.list_extend(of(cwd).earlier, list)
  end
  for cwd, remarks in pairs(require('acp.base.signals').emit('remarks_to_store') or {}) do
    of(cwd).remarks = remarks
  end
  return by_path
end

--- Return the files to write, then those to delete. The last file written names the files of
--- earlier Neovims, since all their texts are on disk then, unless a write has failed.
---@param earlier_files string[]
---@return acp.FileJob[]
local function jobs(earlier_files)
  local wanted, list, last = contents(), {}, nil
  for path, stored in pairs(wanted) do
    local text = vim.json.encode(stored)
    if on_disk[path] ~= text then
      list[#list + 1] = { path = path, text = text }
      last = stored
    end
  end
  if last and #earlier_files > 0 then
    last.replaces = vim.tbl_map(vim.fs.basename, earlier_files)
    list[#list].text_if_complete = vim.json.encode(last)
  end
  for path in pairs(on_disk) do
    if not wanted[path] then list[#list + 1] = { path = path } end
  end
  return list
end

---@param done acp.FileJob[]
local function record_results(done)
  local why
  for _, job in ipairs(done) do
    if not job.err then on_disk[job.path] = job.text end
    why = why or job.err
  end
  if why then
    report_problem(why)
  else
    last_problem, retry_ms = nil, RETRY_MS
  end
end

--- Return the jobs that delete the files of earlier Neovims.
---@param earlier_files string[]
---@return acp.FileJob[]
local function removals(earlier_files)
  return vim.tbl_map(function(path) return { path = path } end, earlier_files)
end

local flush

local function retry()
  if is_retrying then return end
  is_retrying = true
  vim.defer_fn(function()
    is_retrying = false
    flush()
  end, retry_ms)
  retry_ms = math.min(2 * retry_ms, LAST_RETRY_MS)
end

local function end_writing()
  is_writing = false
  if is_due then
    is_due = false
    flush()
  end
end

function flush()
  if is_exiting then
    return
  elseif is_writing then
    is_due = true
    return
  end
  local earlier_files = vim.list_slice(leftover)
  local list = jobs(earlier_files)
  if #list == 0 and #earlier_files == 0 then return end
  is_writing = true
  if next(on_disk) == nil then draft_file.prepare() end
  local on_removed = vim.schedule_wrap(function(removed)
    record_results(removed)
    leftover = vim.list_slice(leftover, #earlier_files + 1)
    end_writing()
  end)
  local on_written = vim.schedule_wrap(function(written)
    record_results(written)
    if not last_problem then return draft_file.start(removals(earlier_files), on_removed) end
    retry()
    end_writing()
  end)
  draft_file.start(list, on_written)
end

--- Write all texts before Neovim exits.
function M.write_on_exit()
  is_exiting = true
  vim.wait(1000, function() return not is_writing end, 5)
  earlier = {} -- this Neovim has shown them in its history
  local list = jobs(leftover)
  if #list > 0 and next(on_disk) == nil then draft_file.prepare() end
  record_results(draft_file.run(list))
  if not last_problem then draft_file.run(removals(leftover)) end
  if next(on_disk) == nil then
    vim.uv.fs_unlink(draft_file.sent_path())
    local directory = draft_file.directory()
    vim.uv.fs_rmdir(directory) -- fails if other Neovims have files there
    vim.uv.fs_rmdir(vim.fs.dirname(directory))
  end
end

local queues = {} ---@type table<integer, string[]> queues of the last snapshot, by session

--- Write the texts if a queue has changed in the snapshot.
local function on_state()
  local changed, seen = false, {}
  for n, session in pairs(require('acp.base.state').get().sessions) do
    seen[n] = session.queue
    changed = changed or session.queue ~= queues[n]
  end
  queues = seen
  require('acp.features.prompts.held_prompts').move_to_sessions()
  if changed then M.save_now() end
end

local watch = require('acp.base.once')(function()
  local on = require('acp.base.autocmds').group('acp.drafts')
  on('VimLeavePre', M.write_on_exit)
  on('User', on_state, { pattern = 'AcpState' })
end)

local function now() return vim.uv.hrtime() / 1e6 end

local function save_later(ms)
  is_waiting = true
  vim.defer_fn(function()
    is_waiting = false
    local rest = math.min(last_change + PAUSE_MS, first_change + LONGEST_MS) - now()
    if rest > 0 then
      save_later(rest)
    else
      flush()
    end
  end, math.ceil(ms))
end

--- Write the texts when changes pause.
function M.save_later()
  watch()
  last_change = now()
  if not is_waiting then
    first_change = last_change
    save_later(PAUSE_MS)
  end
end

--- Write the texts at once, after a prompt was sent or queued.
function M.save_now()
  if vim.v.exiting ~= vim.NIL and not is_exiting then return M.write_on_exit() end
  watch()
  vim.schedule(flush)
end

-- Restoring ---------------------------------------------------------------------------------------

--- Return the drafts of all files, the newest file first. Within a file, the draft of the current
--- session is first.
---@param stored acp.StoredDrafts[] the oldest first
---@return acp.StoredPrompt[]
local function by_use(stored)
  local list = {}
  for i = #stored, 1, -1 do
    local file = stored[i]
    table.sort(file.drafts, function(a, b)
      local first, second = a.n == file.current, b.n == file.current
      if first ~= second then return first end
      return (a.n or 0) < (b.n or 0)
    end)
    vim.list_extend(list, file.drafts)
  end
  return list
end

--- Add texts to the composer's history, and keep them on disk until this Neovim exits.
---@param list acp.StoredPrompt[] the first becomes the latest entry of the history
local function to_history(cwd, list)
  for i = #list, 1, -1 do
    if list[i].text:match('%S') then
      require('acp.features.prompts.earlier_prompts').add(list[i].text)
      earlier[cwd] = earlier[cwd] or {}
      table.insert(earlier[cwd], { text = list[i].text })
    end
  end
end

--- Return a message about restored drafts, prompts and comments.
---@param back boolean whether a draft was put into the composer
---@param old integer number of drafts in the history
---@param waiting integer number of queued prompts
---@param remarks integer number of comments
local function summary(back, old, waiting, remarks)
  if not back and old + waiting + remarks == 0 then return nil end
  local messages, parts = require('acp.base.messages'), {}
  local function add_count(count, one, many)
    if count > 0 then parts[#parts + 1] = count == 1 and one or many:format(count) end
  end
  if back then parts[1] = messages.part_draft_back end
  add_count(old, messages.part_old_draft, messages.part_old_drafts)
  add_count(waiting, messages.part_prompt_left, messages.part_prompts_left)
  add_count(remarks, messages.part_comment_left, messages.part_comments_left)
  -- The first part begins the sentence.
  return (table.concat(parts, '; '):gsub('^%l', string.upper))
end

---@param n integer composer
---@return boolean back whether a draft was put into the composer
local function restore_files(cwd, n)
  local stored, paths, problems, newer = draft_file.claim_and_read(cwd)
  local drafts, queue, old, remarks = by_use(stored), {}, {}, {}
  for _, kept in ipairs(stored) do
    vim.list_extend(remarks, kept.remarks)
    vim.list_extend(queue, kept.queue)
    vim.list_extend(old, kept.earlier)
  end
  vim.list_extend(leftover, paths)
  to_history(cwd, vim.iter(old):rev():totable())
  local back = drafts[1] ~= nil and require('acp.features.prompts.composer').restore(n, drafts[1])
  if back then table.remove(drafts, 1) end
  to_history(cwd, drafts)
  require('acp.features.prompts.held_prompts').add(cwd, queue)
  if #remarks > 0 then require('acp.base.signals').emit('remarks_restored', cwd, remarks) end
  if #paths > 0 then M.save_now() end
  for _, why in ipairs(problems) do
    report_problem(why)
  end
  if newer then require('acp.base.notify').show('warn', 'draft_newer', newer) end
  local words = summary(back, #drafts, #queue, #remarks)
  if words then require('acp.base.notify').echo('info', words) end
  return back
end

--- Restore the texts that earlier Neovims have stored for the current directory, once per
--- directory. A text in the composer is not replaced.
---@param n? integer composer; that of the current session by default
---@return boolean back whether a draft was put into the composer
function M.restore(n)
  local cwd = require('acp.base.places').cwd()
  if cwd == '' or recalled[cwd] then return false end
  recalled[cwd] = true
  return restore_files(cwd, n or require('acp.base.state').default_session())
end

return M
