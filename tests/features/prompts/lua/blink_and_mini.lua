-- Stand-ins of completion plugins. `_G.line` is the line at the time blink.cmp closes its menu;
-- `_G.stopped` is the argument of `MiniCompletion.stop()`.
_G.blink = { buffer_events = { last_char = 'o' } }
function _G.blink.hide() _G.line = vim.api.nvim_get_current_line() end
package.loaded['blink.cmp.completion.trigger'] = _G.blink
package.loaded['mini.completion'] = { stop = function(what) _G.stopped = what end }
