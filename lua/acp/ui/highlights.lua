--- Highlight groups. Each links to a standard group by default or is blended from standard groups,
--- so that it fits any colour scheme.
local M = {}

--- Group -> group that it links to.
---@type table<string, string>
M.groups = {
  -- speakers
  AcpUser = 'Identifier',
  AcpUserRule = 'Identifier',
  AcpAgent = 'Statement',
  AcpThought = 'Comment',
  AcpThoughtHead = 'Comment',
  AcpMuted = 'Comment',
  AcpNotice = 'DiagnosticInfo',
  AcpWarning = 'DiagnosticWarn',
  AcpError = 'DiagnosticError',
  -- Markdown
  AcpHeading = 'Title',
  AcpCode = 'String',
  AcpCodeBlock = 'String', -- a tint with 'termguicolors'
  AcpFence = 'Comment',
  AcpListMarker = 'Special',
  AcpStrong = '@markup.strong',
  AcpEmphasis = '@markup.italic',
  AcpQuote = 'Comment',
  AcpTable = 'NonText',
  AcpRule = 'NonText',
  AcpLink = 'Underlined',
  -- tool calls
  AcpToolTitle = 'Function',
  AcpToolKind = 'Comment',
  AcpToolCode = '@none', -- the window's ordinary text
  AcpToolRunning = 'DiagnosticInfo',
  AcpToolCompleted = 'DiagnosticOk',
  AcpToolFailed = 'DiagnosticError',
  AcpCommand = 'String',
  -- colours of command output
  AcpRed = 'DiagnosticError',
  AcpGreen = 'DiagnosticOk',
  AcpYellow = 'DiagnosticWarn',
  AcpBlue = 'DiagnosticInfo',
  AcpMagenta = 'Statement',
  AcpCyan = 'Special',
  AcpPath = 'Directory',
  AcpResource = 'Directory',
  AcpAttachment = 'DiagnosticHint',
  -- diffs
  AcpAdded = 'Added',
  AcpRemoved = 'Removed',
  AcpDiffAdd = 'Added', -- these two are tints with 'termguicolors'
  AcpDiffRemove = 'Removed',
  AcpDiffContext = 'Comment',
  -- pending hunks in a buffer; tints with 'termguicolors' (`acp.ui.tints`)
  AcpHunkAdd = 'DiffAdd',
  AcpHunkChange = 'DiffChange',
  AcpHunkRemove = 'DiffDelete',
  AcpHunkWord = 'DiffText',
  AcpHunkRemoveWord = 'DiffText',
  AcpSignAdd = 'Added',
  AcpSignChange = 'Changed',
  AcpSignRemove = 'Removed',
  AcpConflict = 'DiagnosticError',
  AcpComment = 'DiagnosticInfo',
  AcpBlame = 'Comment',
  AcpEdit = 'DiagnosticInfo', -- inline edits that have not ended
  -- places where the agent is working, or that it shows
  AcpShown = 'Visual',
  AcpShownText = 'DiagnosticInfo',
  AcpFlash = 'IncSearch',
  AcpFollow = 'DiagnosticInfo',
  AcpFollowPaused = 'Comment',
  -- questions
  AcpPermission = 'DiagnosticWarn',
  AcpPermissionTitle = 'Title',
  AcpPermissionNormal = 'NormalFloat',
  AcpPermissionBorder = 'FloatBorder',
  AcpElicitation = 'DiagnosticWarn',
  AcpKey = 'Special',
  -- states in statuslines
  AcpStateFailed = 'DiagnosticError',
  AcpStateWaiting = 'DiagnosticWarn',
  AcpStateRunning = 'DiagnosticInfo',
  AcpStateReview = 'DiagnosticHint',
  AcpStateIdle = 'Comment',
  -- the plan
  AcpPlanHead = 'Title',
  AcpPlanDone = 'Comment',
  AcpPlanCurrent = 'DiagnosticInfo',
  -- acp windows
  AcpTitle = 'Title',
  AcpPlaceholder = 'Comment',
}

local GREY = 8 -- of 16 colours

local function has_cterm_screen()
  return vim.iter(vim.api.nvim_list_uis()):any(function(ui) return not ui.rgb end)
end

--- Return a grey for the placeholder if the colour scheme has none for the terminal, like Neovim's
--- own scheme without 'termguicolors'. The placeholder would look like typed text.
---@return vim.api.keyset.highlight|nil
local function placeholder()
  local comment = vim.api.nvim_get_hl(0, { name = M.groups.AcpPlaceholder, link = false })
  if comment.ctermfg or comment.cterm or not has_cterm_screen() then return nil end
  return { fg = comment.fg, ctermfg = GREY, default = true }
end

--- Define every group that the colour scheme does not define, now and after each change of scheme.
--- Later calls do nothing.
M.define = require('acp.base.once')(function()
  local function set()
    local grey = placeholder()
    if grey then vim.api.nvim_set_hl(0, 'AcpPlaceholder', grey) end
    require('acp.ui.tints').define(M.groups)
    for group, link in pairs(M.groups) do
      vim.api.nvim_set_hl(0, group, { link = link, default = true })
    end
  end
  set()
  local on = require('acp.base.autocmds').group('acp.highlights')
  on('ColorScheme', set)
  on('OptionSet', set, { pattern = { 'termguicolors', 'background' } })
end)

return M
