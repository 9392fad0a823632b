--- Login in a terminal: the agent's program interacts with the user, and its exit code shows
--- whether it succeeded.
local M = {}

---@class acp.Login
---@field title string
---@field cmd string[]
---@field env table<string, string> added to the environment
---@field cwd string

--- Run a program in the terminal of buffer `bufnr`.
---@param login acp.Login
---@param on_exit fun(code: integer)
---@return boolean started
---@return string|nil why
local function run(bufnr, login, on_exit)
  local opts = {
    cwd = login.cwd,
    env = login.env,
    on_exit = function(_, code) on_exit(code) end,
  }
  local function start() return require('acp.base.compat').start_terminal(login.cmd, opts) end
  local ok, job = pcall(vim.api.nvim_buf_call, bufnr, start)
  if ok and job > 0 then return true end
  return false, ok and require('acp.base.messages').why_not_executable or tostring(job)
end

--- Frame operation: run the program in a window at the bottom, which closes if the login succeeds.
--- The answer is the verb `login_done {id, code}`.
---@param id integer
---@param login acp.Login
function M.open(id, login)
  local bufnr = vim.api.nvim_create_buf(false, true)
  local win
  local function done(code)
    require('acp.base.host').notify('login_done', { id = id, code = code })
    if code == 0 then require('acp.ui.window').close(win) end
  end
  local enter = require('acp.ui.report').may_take_focus()
  win = require('acp.ui.window').open_beside(bufnr, { layout = 'bottom', enter = enter })
  local started, why = run(bufnr, login, done)
  if not started then
    require('acp.base.notify').show('error', 'cannot_start', login.cmd[1], why)
    require('acp.ui.window').close(win)
    done(-1)
  elseif enter and win == vim.api.nvim_get_current_win() then
    vim.cmd.startinsert()
  else
    require('acp.base.notify').show('info', 'log_in_below', login.title)
  end
end

return M
