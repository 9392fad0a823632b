--- Highlight groups: each links to a standard one by default, or is blended from some, so that any
--- colour scheme fits.
local M = {}

--- Group -> what it links to.
---@type table<string, string>
M.groups = {
  -- who speaks
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
  AcpCodeBlock = 'String', -- with all colours a tint
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
  AcpToolCode = 'Normal',
  AcpToolRunning = 'DiagnosticInfo',
  AcpToolCompleted = 'DiagnosticOk',
  AcpToolFailed = 'DiagnosticError',
  AcpCommand = 'String',
  -- colours of what commands print
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
  AcpDiffAdd = 'Added', -- with all colours these two are tints
  AcpDiffRemove = 'Removed',
  AcpDiffContext = 'Comment',
  -- pending hunks in a buffer; with all colours they are tints (`acp.ui.tints`)
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
  -- where the agent works, and what it shows
  AcpShown = 'Visual',
  AcpShownText = 'DiagnosticInfo',
  AcpFlash = 'IncSearch',
  AcpFollow = 'DiagnosticInfo',
  AcpFollowPaused = 'Comment',
  -- decisions
  AcpPermission = 'DiagnosticWarn',
  AcpPermissionTitle = 'Title',
  AcpPermissionNormal = 'NormalFloat',
  AcpPermissionBorder = 'FloatBorder',
  AcpElicitation = 'DiagnosticWarn',
  AcpKey = 'Special',
  -- the plan
  AcpPlanHead = 'Title',
  AcpPlanDone = 'Comment',
  AcpPlanCurrent = 'DiagnosticInfo',
  -- windows of ours
  AcpTitle = 'Title',
  AcpPlaceholder = 'Comment',
}

--- How a group looks: in a float the background of 'Normal' would be a patch.
---@param link string
---@return vim.api.keyset.highlight
local function look(link)
  if link ~= 'Normal' then return { link = link, default = true } end
  local normal = vim.api.nvim_get_hl(0, { name = link })
  return { fg = normal.fg, ctermfg = normal.ctermfg, default = true }
end

--- Define every group that the colour scheme has not; again for each new scheme. Later calls are
--- free.
M.define = require('acp.base.once')(function()
  local function set()
    local tints = require('acp.ui.tints')
    for group, link in pairs(M.groups) do
      if not tints.has(group) then vim.api.nvim_set_hl(0, group, look(link)) end
    end
    tints.define(M.groups)
  end
  set()
  local on = require('acp.base.autocmds').group('acp.highlights')
  on('ColorScheme', set)
  on('OptionSet', set, { pattern = { 'termguicolors', 'background' } })
end)

return M
