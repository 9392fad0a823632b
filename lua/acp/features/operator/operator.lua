--- `<Plug>(acp-operator)`: the composer asks for a prompt about the lines of a motion. `.` sends
--- the same prompt with other lines.
---
--- The text that the user types in the composer becomes the last change. Therefore the operator
--- runs once more, without effect, when the user is back in Normal mode in their buffer.
local M = {}

---@class acp.Operation
---@field bufnr integer
---@field motion string typed keys; '' after Visual mode
---@field rows integer number of lines

local FUNCTION = "v:lua.require'acp.features.operator.operator'.run"

-- Whether the next call to `run` begins an operation, or only makes `.` repeat the last one.
local starts, is_silent = false, false
local operation ---@type acp.Operation|nil operation whose prompt is being written
local text ---@type string|nil the last prompt
local typed = {} ---@type string[]
local ns = vim.api.nvim_create_namespace('acp.operator')

--- Set 'operatorfunc', and record the keys of the motion that follows.
function M.begin()
  starts, typed = true, {}
  vim.go.operatorfunc = FUNCTION
  vim.on_key(function(_, keys) typed[#typed + 1] = keys end, ns)
end

--- 'operatorfunc': ask for a prompt about the lines of the motion. When `.` repeats the operator,
--- send the last prompt with these lines instead.
function M.run()
  vim.on_key(nil, ns)
  if is_silent then return end
  local range = { vim.fn.line("'["), vim.fn.line("']") }
  if starts or not text then
    operation = {
      bufnr = vim.api.nvim_get_current_buf(),
      motion = table.concat(typed),
      rows = range[2] - range[1] + 1,
    }
    starts = false
    vim.cmd.AcpPrompt({ range = range })
  else
    vim.cmd.AcpPrompt({ range = range, args = { text } })
  end
end

--- Run the operator without effect, so that `.` repeats it.
---@param last acp.Operation
local function repeat_silently(last)
  local view = vim.fn.winsaveview()
  local function run(motion) vim.cmd.normal({ 'g@' .. motion, bang = true }) end
  is_silent = true
  run(last.rows > 1 and (last.rows - 1) .. 'j' or '_')
  if last.motion ~= '' then pcall(vim.cmd.normal, 'g@' .. last.motion) end
  is_silent = false
  vim.fn.winrestview(view)
end

--- Remember the prompt for `.`, and run the operator again once the user is back in Normal mode in
--- their buffer.
function M.on_prompt_written(_, prompt)
  if not operation then return end
  local last, on, group = operation, require('acp.base.autocmds').group('acp.operator')
  text, operation = prompt, nil
  on({ 'BufEnter', 'ModeChanged' }, function()
    local is_back = vim.api.nvim_get_current_buf() == last.bufnr
    if not is_back or vim.api.nvim_get_mode().mode ~= 'n' then return end
    vim.api.nvim_del_augroup_by_id(group)
    vim.schedule(function()
      if vim.api.nvim_get_current_buf() == last.bufnr then repeat_silently(last) end
    end)
  end)
end

return M
