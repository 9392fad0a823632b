--- Operator: a prompt about the lines of a motion, which `.` repeats.
---@type acp.Feature
return {
  maps = { operator = { 'operator', 'begin' } },
  signals = { prompt_written = { 'operator', 'on_prompt_written', if_loaded = true } },
}
