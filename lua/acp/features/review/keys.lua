--- Keys of pending hunks in a buffer, of the review tab and of its list of files.

local call = require('acp.ui.actions').call

--- Return an action with a number of steps, multiplied by the count of the key, as in `3]f`.
---@param module string
---@param steps 1|-1
local function step(module, name, steps)
  return function() require('acp.features.review.' .. module)[name](steps * vim.v.count1) end
end

local function act(...) return call('acp.features.review.actions', ...) end

local function decide(verb) return call('acp.features.review.hunk', 'decide', verb, 'hunk') end

--- Show the keys of the review, with the names of the compared texts.
local function help(window)
  return function()
    local shown = require('acp.features.review.tab').state()
    require('acp.ui.help').open(window, shown and shown.source.words)
  end
end

---@param window string
---@param more table<string, acp.Action>
local function of_review(window, more)
  return vim.tbl_extend('error', {
    next_file = { 'next file', step('actions', 'go', 1) },
    previous_file = { 'previous file', step('actions', 'go', -1) },
    accept_file = { 'accept the file', act('decide', 'accept') },
    reject_file = { 'reject the file', act('decide', 'reject') },
    close = { 'close the review', act('close') },
    help = { 'this list', help(window) },
  }, more)
end

return {
  edits = {
    next_hunk = { 'next hunk', step('hunk', 'jump', 1) },
    previous_hunk = { 'previous hunk', step('hunk', 'jump', -1) },
    accept_hunk = { 'accept the hunk', decide('accept') },
    reject_hunk = { 'reject the hunk', decide('reject') },
  },
  review = of_review('review', {
    obtain = { 'take the old text (reject this hunk); on the left, accept it', act('obtain') },
    put = {
      'put this text on the other side (accept this hunk); on the left, reject it',
      act('put'),
    },
  }),
  review_files = of_review('review_files', { open = { 'show the file', act('pick') } }),
}
