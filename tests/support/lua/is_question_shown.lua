local seen = require('acp.features.permissions.answer_rule')
local oldest, here = seen.target(), require('acp.features.permissions.float').here()
local cards = require('acp.features.permissions.cards')
if here and not cards.options(here) then here = nil end -- it waits behind others
return oldest and seen.shown_ms(oldest) ~= nil and (not here or seen.shown_ms(here) ~= nil)
