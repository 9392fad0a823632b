--- Installation of the Python environment.
---@type acp.Feature
return {
  subcommands = { install = { 'build or repair the Python environment', 'Help', 5 } },
  signals = { is_installing = { 'environment', 'is_running', if_loaded = true } },
}
