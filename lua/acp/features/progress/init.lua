--- Progress of turns in the terminal's tab or taskbar and as progress messages (option `progress`).

--- Load the rest if the option is on.
local function watch()
  if require('acp.config').get().progress then require('acp.features.progress.progress').watch() end
end

---@type acp.Feature
return {
  signals = { host_starts = watch, options_changed = watch },
}
