"""The language server `acp`, which completes prompts for all completion plugins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor, has_parser
from tests.support.front_without_host import (
    HOST,
    RECORD_NOTIFY,
    Start,
    composer,
    last,
    session,
)
from tests.support.git import repository
from tests.support.lua import lua_chunk
from tests.support.plugins import add_plugins, plugin
from tests.support.waiting import until

REPLY = lua_chunk(__file__, "completion_reply")
ACCEPT = lua_chunk(__file__, "accept")
LISTED = "select(2, require('acp.features.prompts.composer.files').list(vim.fn.getcwd()))"
REFERENCE = 18
SHOWN = "vim.fn.pumvisible() == 1"
WORDS = "return vim.tbl_map(function(it) return it.word end, vim.fn.complete_info().items)"


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host, with a session and a library of one prompt."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 40))
    editor.lua("require('acp').setup({ prompts = { tidy = 'Tidy {buffer}.\\nKeep names.' } })")
    session(editor)
    return editor


OMNI = """
local words = require('acp.features.prompts.composer.completion').omni(0, ...).words
return vim.tbl_map(function(item) return item.abbr end, words)
"""


def open_composer(front: Editor) -> None:
    """Open the composer and wait for LspAttach, in which a user enables completion."""
    front.cmd("autocmd LspAttach * lua _G.is_attached = true")
    front.cmd("AcpPrompt")
    front.wait(LISTED)
    front.wait("_G.is_attached")


def items(front: Editor, typed: str) -> list[dict[str, Any]]:
    """Replace the composer's text and return the completions at its end."""
    front.keys(f"<Esc>:%d _<CR>i{typed}")
    found: list[dict[str, Any]] = front.lua(REPLY)
    return found


def wait_item(front: Editor, text: str) -> None:
    """Wait for the menu whose first item is the best match of the server, with this filterText.

    A plugin asks again after each key, so an earlier menu may still be open.
    """
    front.wait(lua_chunk(__file__, "is_first_item"), text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_accepted_item_replaces_exactly_the_typed_word(front: Editor, encoding: str) -> None:
    front.write("src/größe 😀.py", "one\ntwo\n")
    front.write(f"src/{'deep/' * 20}größer 😀😀.py", "")
    open_composer(front)
    front.lua("vim.lsp.get_clients({ name = 'acp' })[1].offset_encoding = ...", encoding)
    first, second = items(front, "é😀 ß @gr")
    assert second["label"] == f"@src/{'deep/' * 2}deep…{'/deep' * 5}/größer 😀😀.py"
    preview = front.lua(ACCEPT, first)
    assert composer(front) == ["é😀 ß @src/größe\\ 😀.py"]
    assert preview == "```python\none\ntwo\n```"
    front.rpc.request("nvim_ui_try_resize", 80, 24)
    front.keys("<Esc>:%d _<CR>i@größer")
    (abbreviation,) = front.lua(OMNI, "@größer")
    assert len(abbreviation) < 32, "the menu ends at the edge of the screen"
    assert abbreviation.endswith("größer 😀😀.py")


def test_each_sign_completes_with_a_preview(front: Editor) -> None:
    path = front.write("a.py", "")
    front.open(path)
    front.keys("iprint(1)<Esc>")
    open_composer(front)
    command = items(front, "/in")[0]
    assert (command["label"], command["detail"]) == ("/init path", "d")
    assert front.lua(ACCEPT, command) == "/init path\n\nd"
    assert composer(front) == ["/init "]
    found = {item["label"]: item for item in items(front, "see {")}
    assert front.lua(ACCEPT, found["{buffer}"]) == (
        f"the current buffer\n\n```\n{path}\nprint(1)\n```"
    )
    prompt = next(item for item in items(front, "# #tid") if item["label"] == "#tidy")
    assert front.lua(ACCEPT, prompt) == "```markdown\nTidy {buffer}.\nKeep names.\n```"
    assert composer(front) == ["# Tidy {buffer}.", "Keep names."]
    assert items(front, "and/or") == []


def test_files_in_use_come_first_and_ignored_ones_only_if_open(front: Editor) -> None:
    for name in ("a.py", "b/used.py", "b/old.py", "b/unsaved.py", "z.py", "cache/x", "cache/open"):
        front.write(name, "one\n")
    front.write(".gitignore", "cache/\n")
    repository(front.work)
    front.lua("vim.v.oldfiles = { ... }", str(front.work / "b/old.py"))
    front.open(front.work / "b/unsaved.py")
    front.keys("inew<Esc>")
    for name in ("cache/open", "b/used.py"):
        front.open(front.work / name)
        second = front.lua("return vim.fn.localtime()")
        front.wait("vim.fn.localtime() > ...", second)  # their last use is known to the second
    open_composer(front)
    labels = [item["label"] for item in items(front, "@")]
    assert labels[:3] == ["@b/unsaved.py", "@b/used.py", "@cache/open"]
    rest = ["@b/old.py", "@.gitignore", "@a.py", "@b/", "@z.py"]
    assert [label for label in labels[3:] if "{" not in label] == rest
    front.lua(
        "for _, text in ipairs({ ... }) do"
        " require('acp.features.prompts.earlier_prompts').add(text) end",
        "look at @b/old.py:3-4, and @z.py",
        "no @nowhere.py",
        "again @b/old.py.",
    )
    labels = [item["label"] for item in items(front, "@")]
    assert labels[:5] == ["@b/unsaved.py", "@b/old.py", "@b/used.py", "@cache/open", "@z.py"]
    assert [item["label"] for item in items(front, "@us")] == ["@b/used.py", "@b/unsaved.py"]


def test_a_folder_typed_in_full_is_not_listed(front: Editor) -> None:
    """Accepting it would change nothing and open the menu again."""
    front.write("src/beta.py", "")
    front.write("a b/c.py", "")
    open_composer(front)
    assert [item["label"] for item in items(front, "see @src")] == ["@src/", "@src/beta.py"]
    assert [item["label"] for item in items(front, "see @src/")] == ["@src/beta.py"]
    assert [item["label"] for item in items(front, "see @a\\ b/")] == ["@a b/c.py"]
    front.lua("require('acp.features.prompts.earlier_prompts').add('look at @src/ again')")
    assert [item["label"] for item in items(front, "see @src/")] == ["@src/beta.py"]


def test_a_symbol_is_a_mention_of_its_lines(front: Editor) -> None:
    if not has_parser(front, "lua"):
        pytest.skip("no tree-sitter parser for Lua")
    path = front.write("my lib.lua", "local M = {}\nfunction M.load()\n  return 1\nend\n")
    front.open(path)
    open_composer(front)
    for key in "@lo":
        front.keys(key)
    front.wait(
        "vim.iter(vim.fn.complete_info().items):any(function(it) return it.abbr == '@M.load' end)"
    )
    symbol = next(item for item in items(front, "why @loa") if item["label"] == "@M.load")
    assert symbol["kind"] == REFERENCE, "plugins insert brackets after a function"
    assert front.lua(ACCEPT, symbol) == "```lua\nfunction M.load()\n  return 1\nend\n```"
    assert composer(front) == ["why @my\\ lib.lua:2-4"]
    front.wait_screen("+ my lib.lua:2-4")
    front.cmd("call setbufline('my lib.lua', 3, '  return 2')")
    front.keys("?<Esc><C-s>")
    lines = last(front)[1]["range"]
    assert (lines["path"], lines["first"], lines["last"]) == (str(path), 2, 4)
    assert lines["text"] == "function M.load()\n  return 2\nend"
    assert "attach" not in last(front)[1]


def test_the_client_changes_no_option_and_can_be_stopped(front: Editor) -> None:
    front.lua(lua_chunk(__file__, "note_attached"))
    open_composer(front)
    buffer = front.lua("return vim.api.nvim_get_current_buf()")
    assert front.lua("return _G.attached") == ["acp", str(front.work), buffer]
    ours = "v:lua.require'acp.features.prompts.composer.completion'.omni"
    assert front.lua("return vim.bo.omnifunc") == ours
    assert front.lua("return vim.bo.tagfunc .. vim.bo.formatexpr .. vim.fn.maparg('K', 'n')") == ""
    assert front.lua("return vim.diagnostic.count(0)") == []
    assert front.lua(lua_chunk(__file__, "has_servers")) is False
    front.lua("vim.lsp.stop_client(vim.lsp.get_clients())")
    front.wait("#vim.lsp.get_clients() == 0")
    front.keys("<Esc>i/in")
    assert [item["label"] for item in front.lua(REPLY)] == ["/init path"]
    assert front.lua("return _G.attach_calls") == 2, "when the composer opens, and in Insert mode"
    front.cmd("silent checkhealth vim.lsp")
    front.quit()


def test_native_completion_of_the_server(front: Editor) -> None:
    """The user enables it for all servers in LspAttach."""
    if not front.lua("return vim.lsp.completion ~= nil"):
        pytest.skip("this Neovim has no vim.lsp.completion")
    front.cmd("set completeopt=menuone,noselect")
    front.setup({"composer": {"popup": False}, "prompts": {"tidy": "Tidy {buffer}.\nKeep names."}})
    front.lua(lua_chunk(__file__, "enable_completion"))
    open_composer(front)
    front.keys("é #")
    front.wait(SHOWN)
    front.keys("ti")
    wait_item(front, "#tidy")
    front.keys("<C-n><C-y>")
    until(lambda: composer(front) == ["é Tidy {buffer}.", "Keep names."])
    front.keys("<Esc>:%d _<CR>i/in")
    front.lua("vim.lsp.completion.get()")
    wait_item(front, "/init ")
    front.keys("<C-n><C-y>")
    until(lambda: composer(front) == ["/init "])


def test_mini_completion_shows_the_candidates(front: Editor) -> None:
    add_plugins(front, "mini.nvim")
    front.lua("require('mini.completion').setup({ delay = { completion = 1, info = 1 } })")
    front.write("alpha.py", "")
    front.write("src/beta.py", "")
    open_composer(front)
    for key in "é 😀 @":
        front.keys(key)
    front.wait(SHOWN)
    assert front.lua(WORDS)[:3] == ["@alpha.py", "@src/", "@src/beta.py"]
    for key in "be":
        front.keys(key)
    wait_item(front, "@be @src/beta.py")
    assert front.lua(WORDS) == ["@src/beta.py"]
    front.keys("<C-n><C-y>")
    assert composer(front) == ["é 😀 @src/beta.py"]
    for key in " #ti":
        front.keys(key)
    wait_item(front, "#tidy")
    front.keys("<C-n><C-y>")
    until(lambda: composer(front) == ["é 😀 @src/beta.py Tidy {buffer}.", "Keep names."])

    # A plugin for pairs puts the `}` there before.
    front.lua("require('mini.pairs').setup()")
    front.keys("<CR>")
    for key in "{visi":
        front.keys(key)
    wait_item(front, "{visible}")
    front.keys("<C-n><C-y> it")
    assert composer(front)[2] == "{visible} it"


MENU = """
local list = require('blink.cmp.completion.list')
if not require('blink.cmp').is_visible() then return {} end
return vim.tbl_map(function(item) return item.label end, list.items)
"""


def test_blink_shows_the_candidates(front: Editor) -> None:
    add_plugins(front, "blink.cmp", "mini.nvim")
    front.lua("require('mini.pairs').setup()")
    front.lua("require('blink.cmp').setup({ fuzzy = { implementation = 'lua' } })")
    session(front, commands=[{"name": "zap", "description": "Zap"}])
    front.write("alpha.py", "text alphabet")
    front.write("src/beta.py", "")
    open_composer(front)

    def wait_first(*labels: str) -> None:
        until(lambda: front.lua(MENU)[: len(labels)] == list(labels), what=str(labels))

    front.keys("/")
    wait_first("/zap")  # before the folders of blink.cmp
    front.keys("<C-y>")
    until(lambda: composer(front) == ["/zap"])
    for key in " @be":
        front.keys(key)
    wait_first("@src/beta.py")
    front.keys("<C-y>")
    until(lambda: composer(front) == ["/zap @src/beta.py"])
    for key in " {":  # mini.pairs adds the `}`
        front.keys(key)
    until(lambda: "{visible}" in front.lua(MENU))
    for key in "visi":
        front.keys(key)
    wait_first("{visible}")
    front.keys("<C-y>")
    until(lambda: composer(front) == ["/zap @src/beta.py {visible}"])
    for key in " #ti":
        front.keys(key)
    wait_first("#tidy")
    front.keys("<C-y>")
    until(lambda: composer(front)[-1] == "Keep names.")


CMP_MENU = """
local cmp = require('cmp')
if not cmp.visible() then return {} end
return vim.tbl_map(function(entry) return entry.completion_item.label end, cmp.get_entries())
"""


def test_nvim_cmp_shows_the_candidates(front: Editor) -> None:
    folders = [str(plugin(name)) for name in ("nvim-cmp", "cmp-nvim-lsp")]
    front.lua(lua_chunk(__file__, "load_cmp_on_insert"), folders)
    session(front, commands=[{"name": "zap", "description": "Zap"}])
    front.write("z.py", "")
    front.open(front.write("src/beta.py", "text beta"))
    open_composer(front)

    def wait_first(*labels: str) -> None:
        until(lambda: front.lua(CMP_MENU)[: len(labels)] == list(labels), what=str(labels))

    front.keys("/")
    wait_first("/zap")
    front.keys("<C-n><C-y>")
    until(lambda: composer(front) == ["/zap"])
    for key in " @":
        front.keys(key)
    wait_first("@src/beta.py")  # not in the order of nvim-cmp, by kind and length
    front.keys("<C-n>")
    front.wait_screen("text beta")
    front.keys("<CR>")
    until(lambda: composer(front) == ["/zap @src/beta.py"])
    for key in " #ti":
        front.keys(key)
    wait_first("#tidy")
    front.keys("<CR>")
    until(lambda: composer(front)[-1] == "Keep names.")


def test_nvim_cmp_completes_a_word_typed_before_it_knows_the_server(front: Editor) -> None:
    add_plugins(front, "nvim-cmp", "cmp-nvim-lsp")
    front.lua("require('cmp').setup({ sources = { { name = 'nvim_lsp' } } })")
    front.write("src/beta.py", "")
    front.keys(":AcpPrompt<CR>see @be")
    until(lambda: front.lua(CMP_MENU) == ["@src/beta.py"])


def test_the_composer_opens_in_spite_of_an_error_in_lsp_attach(front: Editor) -> None:
    front.lua("vim.api.nvim_create_autocmd('LspAttach', { command = 'throw \"boom\"' })")
    front.errors_expected = True
    front.cmd("AcpPrompt")
    front.wait_screen("E605: Exception not caught: boom")
    front.keys("<CR>")
    front.wait("vim.bo.filetype == 'acpcomposer'")
    assert [item["label"] for item in items(front, "/in")] == ["/init path"]
