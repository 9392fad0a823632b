--- `:Acp tutor`: a tour with the embedded agent, on a fresh copy of the sample project in a tab
--- page of its own. Nothing of the user's is touched; `:tabclose` is the way back.
local M = {}

---@return string directory a copy that goes with this Neovim
local function sample()
  local from = vim.fs.joinpath(require('acp.base.python').root(), 'acp_nvim', 'tutor', 'sample')
  local to = vim.fs.joinpath(vim.fn.tempname(), 'sample')
  vim.fn.mkdir(to, 'p')
  for name, kind in vim.fs.dir(from) do
    if kind == 'file' then
      assert(vim.uv.fs_copyfile(vim.fs.joinpath(from, name), vim.fs.joinpath(to, name)))
    end
  end
  return to
end

--- Open the sample and send the prompt that starts the tour, in a new session there.
function M.start()
  local directory = sample()
  vim.cmd.tabedit(vim.fn.fnameescape(vim.fs.joinpath(directory, 'till.py')))
  vim.cmd.tcd({ vim.fn.fnameescape(directory), mods = { silent = true } })
  require('acp.ui.composer.delivery').write('/tour', { new = true, agent = 'tutor' })
end

return M
