--- Report: one redacted file for a bug report.
---@type acp.Feature
return {
  subcommands = { report = { 'a redacted file for a bug report', 'Help', 4 } },
  windows = { 'report' },
  frame = { report = { 'report', 'show' } },
}
