--- The subcommand `:Acp tutor`.
---@type table<string, acp.Subcommand>
local M = {}

--- A tour with the embedded agent in a separate tab page, on a copy of a sample project.
--- `:tabclose` ends it.
M.tutor = {
  run = function()
    local directory = require('acp.features.tutor.sample_copy').directory()
    local file = vim.fn.fnameescape(vim.fs.joinpath(directory, 'till.py'))
    vim.cmd.tabedit({ file, mods = { noswapfile = true } }) -- another Neovim may have it open
    vim.cmd.tcd({ vim.fn.fnameescape(directory), mods = { silent = true } })
    require('acp.features.tutor.keys') -- the host needs the user's keys
    require('acp.base.host').setup()
    require('acp.base.signals').emit('prompt_wanted', '/tour', { new = true, agent = 'tutor' })
  end,
}

return M
