--- Key of a pending question that asks for the reason for a refusal.
return {
  permission = {
    refuse = {
      'refuse and say why',
      function() require('acp.features.refuse.refuse').at_cursor() end,
    },
  },
}
