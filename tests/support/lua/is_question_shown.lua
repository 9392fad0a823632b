local question, seen =
  require('acp.features.permissions.float'), require('acp.features.permissions.answer_rule')
local oldest, here = seen.target(), question.here()
if here and not require('acp.features.permissions.cards').options(here) then here = nil end -- it waits behind others
return oldest and seen.shown_ms(oldest) ~= nil and (not here or seen.shown_ms(here) ~= nil)
