"""Whatever is given to `setup()`: it never raises, and what it cannot take it says in one line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start

ODD = """{
  false, true, 0, -1, 0.5, 1 / 0, -1 / 0, 0 / 0, '', 'x', '\\nx', 'auto', {}, { 1 }, { 'x' },
  { {} }, { x = 1 }, { [2] = 'x' }, { [1.5] = {} }, { [true] = true }, vim.NIL, function() end,
  vim.empty_dict(),
}"""

PLACES = """
local config = require('acp.config')
local paths = { 'agents.mine', 'agents.mine.env', 'agents.mine.options', 'agents.mine.protocol',
  'agents.mine.system_prompt', 'agents.mine.system_prompt.mode', 'agents.mine.mcp_servers',
  'agents.mine.meta', 'agents.mine.command', 'agents.mine.cwd', 'permission.rules',
  'permission.rules.1', 'permission.rules.1.action', 'permission.rules.1.kind',
  'keymaps.chat.<CR>', 'keymaps.chat.<CR>.mode', 'agents_file', 'python', 'no.such.option', 'no' }
local function walk(defaults, prefix)
  for name, value in pairs(defaults) do
    paths[#paths + 1] = prefix .. name
    if type(value) == 'table' and not vim.islist(value) and name ~= 'agents' then
      walk(value, prefix .. name .. '.')
    end
  end
end
walk(config.defaults, '')
return paths
"""

AT_PLACE = f"""
local path = ...
local config, raised, many = require('acp.config'), {{}}, {{}}
local odd = {ODD}
for i = 1, 23 do
  local opts = odd[i]
  for _, name in ipairs(vim.fn.reverse(vim.split(path, '.', {{ plain = true }}))) do
    opts = {{ [tonumber(name) or name] = opts }}
  end
  local ok, err = pcall(config.setup, opts)
  if not ok then
    raised[#raised + 1] = ('%s, value %d: %s'):format(path, i, err)
  end
  for _, mistake in ipairs(config.mistakes) do
    if mistake:find('\\n') then
      many[#many + 1] = mistake
    end
  end
end
config.setup({{}})
return {{ raised, many }}
"""


@pytest.fixture
def front(edit: Start) -> Editor:
    return edit(init=HOST + RECORD_NOTIFY, screen=(100, 30))


def test_no_value_at_any_place_raises(front: Editor) -> None:
    places = front.lua(PLACES)
    assert len(places) > 100
    assert [front.lua(AT_PLACE, place) for place in places] == [[[], []]] * len(places)


def test_an_option_of_numbers_names_them(front: Editor) -> None:
    mistakes: list[Any] = front.lua(
        "require('acp').setup({ agents = { mine = { command = { 'x' }, protocol = 'two' } } })"
        " return require('acp.config').mistakes"
    )
    assert mistakes == ["Option 'agents.mine.protocol' should be one of '1', '2'"]


def test_no_size_or_time_is_without_end(front: Editor) -> None:
    mistakes: list[Any] = front.lua(
        "require('acp').setup({ chat = { size = 1 / 0 }, timeouts = { kill_s = 1 / 0 } })"
        " return require('acp.config').mistakes"
    )
    assert mistakes == [
        "Option 'chat.size' should be a number of 0.05 or more",
        "Option 'timeouts.kill_s' should be a number of 0 or more",
    ]
