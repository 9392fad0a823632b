"""The recipes of docs/recipes.md, with the real code of the plugins that they are for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import ROOT, Editor
from tests.support.git import repository as make_repository
from tests.support.lua import lua_chunk
from tests.support.plugins import add_plugins
from tests.support.traffic import Traffic
from tests.support.waiting import until

PAGE = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
RECIPES = {
    name: code
    for heading, code in re.findall(
        r"^### (.+?)\n.*?```lua\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL
    )
    for name in heading.split(", ")
}
COLOURS = lua_chunk(__file__, "statusline_colours")
WINDOWS = lua_chunk(__file__, "window_names")

Start = Callable[..., Editor]

REQUIRED = {"telescope.nvim": ["plenary.nvim"], "nvim-cmp": ["cmp-nvim-lsp"]}


def use(editor: Editor, name: str) -> None:
    """Run the recipe for a plugin. It may call `setup()`, which resets the options."""
    add_plugins(editor, *REQUIRED.get(name, []), name)
    if name == "blink.cmp":  # without its Rust library it shows a warning
        editor.lua("require('blink.cmp.config').merge_with({ fuzzy = { implementation = 'lua' } })")
    editor.lua(RECIPES[name])


def attached(editor: Editor, agent: Traffic) -> list[str]:
    """Send a prompt. Return the attachments as `path#lines`."""
    editor.turn("hi")
    blocks = agent.received("session/prompt")[-1]["params"]["prompt"][1:]
    uris = [(block.get("resource") or block)["uri"] for block in blocks]
    return sorted(uri.partition("/work/")[2] for uri in uris)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_runs(editor: Editor, name: str) -> None:
    use(editor, name)
    editor.lua("vim.cmd.redraw()")
    assert "rror" not in editor.messages()


@pytest.mark.parametrize("name", ["lualine.nvim", "heirline.nvim", "mini.statusline"])
def test_a_statusline_shows_the_state_in_its_colour(editor: Editor, name: str) -> None:
    use(editor, name)
    editor.agent("permission")
    assert "idle" not in editor.screen()[-2]
    editor.prompt("ask")
    editor.wait_event("AcpPermission")
    until(lambda: any("waiting for you" in row for row in editor.screen()[-2:]))
    assert editor.lua("return require('acp').statusline_group()") == "AcpStateWaiting"
    wanted = editor.lua("return vim.api.nvim_get_hl(0, { name = 'DiagnosticWarn' }).fg")
    assert wanted in editor.lua(COLOURS)
    if name == "lualine.nvim":
        editor.wait_screen("Scripted · chat")
        editor.cmd("AcpPrompt")
        editor.wait_screen("Scripted · composer")
        editor.keys("<Esc>:q<CR>")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    editor.wait("require('acp').statusline_group() == 'AcpStateIdle'")


def test_the_extension_of_lualine_knows_all_filetypes_of_the_plugin(editor: Editor) -> None:
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("lua/acp/**/*.lua")]
    used = {word for source in sources for word in re.findall(r"\bacp[a-z]{3,}\b", source)}
    assert editor.lua("return require('lualine.extensions.acp').filetypes") == sorted(used)


NO_DELAY = {
    "mini.clue": "require('mini.clue').config.window.delay = 0",
    "which-key.nvim": "require('which-key').setup({ delay = 0 })",
}


@pytest.mark.parametrize("name", sorted(NO_DELAY))
def test_the_keys_of_the_prefix_have_names(editor: Editor, name: str) -> None:
    add_plugins(editor, name)
    editor.lua("vim.g.mapleader = ' ' " + NO_DELAY[name])
    editor.lua(RECIPES[name])
    editor.wait("vim.fn.maparg(' ', 'n') ~= ''")  # the trigger of the plugin
    editor.keys(" ")
    editor.wait_screen("+agent")
    editor.keys("a")
    editor.wait_screen("acp: write a prompt")
    editor.keys("<Esc>")


def test_blink_lists_nothing_else_in_composers(editor: Editor) -> None:
    editor.write("a.py", "words of a buffer\n")
    editor.open("a.py")
    use(editor, "blink.cmp")
    editor.cmd("AcpPrompt")
    editor.wait("#require('acp').state().sessions[1].commands > 0")
    for key in "wo /":
        editor.keys(key)
    for key in "<C-u>", "/", "t":
        editor.keys(key)
    labels = "vim.tbl_map(function(it) return it.label end, require('blink.cmp').get_items())"
    until(lambda: editor.lua(f"return {labels}") == ["/tour"])
    editor.keys("<C-u>word")
    editor.wait("not require('blink.cmp').is_visible()")


def test_blink_lists_no_words_after_a_prompt_typed_ahead_of_the_screen(editor: Editor) -> None:
    add_plugins(editor, "blink.cmp")
    editor.lua("require('blink.cmp').setup({ fuzzy = { implementation = 'lua' } })")
    editor.open(editor.write("a.py", "words of a buffer\n"))
    agent = editor.agent("hello")
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.keys("some wo<C-s>")
    agent.wait("session/prompt", 1)
    assert editor.lua("return require('blink.cmp.completion.trigger').context") is None
    editor.keys("w")
    editor.keys("o")
    editor.wait("require('blink.cmp').is_visible()")


def test_nvim_cmp_lists_nothing_else_in_composers(editor: Editor) -> None:
    use(editor, "nvim-cmp")
    editor.lua(lua_chunk(__file__, "cmp_with_words"))
    editor.cmd("AcpPrompt")
    editor.wait("next(require('cmp').core.sources, 1) and vim.fn.mode() == 'i'")
    editor.wait("#require('acp').state().sessions[1].commands > 0")
    entries = lua_chunk(__file__, "cmp_entries")
    for key in "wo":
        editor.keys(key)
    for key in "<C-u>", "/", "t":
        editor.keys(key)
    until(lambda: editor.lua(entries) == ["/tour"])
    assert editor.lua("return _G.asked_for_words") is None
    editor.keys("<Esc>")
    editor.cmd("new")
    for key in "iwo":
        editor.keys(key)
    until(lambda: editor.lua(entries) == ["words"])


@pytest.fixture
def repository(editor: Editor) -> Editor:
    """Return an editor in a git repository, in a file with a change that is not committed."""
    path = editor.write("a.txt", "".join(f"local v{n} = {n}\n" for n in range(1, 31)))
    make_repository(editor.work)
    path.write_text(path.read_text().replace("v3 = 3", "v3 = 30"))
    return editor


def signs(editor: Editor) -> str:
    """Return the sign column of the rows with signs, such as `3┃ 20┃`."""
    editor.cmd("set number signcolumn=yes")
    rows = (re.match(r"(\S)\s+(\d+) ", row) for row in editor.screen())
    return " ".join(f"{found[2]}{found[1]}" for found in rows if found)


@pytest.mark.parametrize("name", ["gitsigns.nvim", "mini.diff"])
def test_hunks_of_an_agent_are_drawn_over_those_of_git(repository: Editor, name: str) -> None:
    editor = repository
    add_plugins(editor, name)
    editor.lua(
        "require('gitsigns').setup({ signs = { change = { text = '~' } } })"
        if name == "gitsigns.nvim"
        else "require('mini.diff').setup({ view = { style = 'sign', signs = { change = '~' } } })"
    )
    editor.cmd("nmap ]h <Cmd>let g:user_key = 1<CR>")
    editor.agent("script")
    path = editor.work / "a.txt"
    editor.open(path)
    until(lambda: signs(editor) == "3~")
    editor.turn(f"replace {path} 'local v20 = 20' 'local v20 = 21'")
    until(lambda: signs(editor) == "3~ 20┃")
    editor.keys("gg]h")
    assert editor.lua("return vim.api.nvim_win_get_cursor(0)[1]") == 20
    editor.cmd("Acp accept all")
    until(lambda: signs(editor) == "3~ 20~")
    editor.keys("]h")
    assert editor.lua("return vim.g.user_key") == 1
    editor.lua(RECIPES[name])  # other keys for hunks of agents


PICKERS = {
    "mini.pick": ("Pick files tool='fallback'", "Pick buffers", "<C-x>"),
    "telescope.nvim": ("Telescope find_files", "Telescope buffers", "<Tab>"),
    "fzf-lua": ("FzfLua files", "FzfLua buffers", "<Tab>"),
    "snacks.nvim": ("lua Snacks.picker.files()", "lua Snacks.picker.buffers()", "<Tab>"),
}


@pytest.mark.parametrize("name", sorted(PICKERS))
def test_a_picker_attaches_the_files_that_are_marked(editor: Editor, name: str) -> None:
    if name == "fzf-lua" and not shutil.which("fzf"):
        pytest.skip("no fzf")
    for file in ("a.py", "b.py", "sub/c.py"):
        editor.write(file, f"{file}\n")
    agent = editor.agent("hello")
    use(editor, name)
    files, buffers, mark = PICKERS[name]
    editor.rpc.notify("nvim_command", files)
    for text in ("a.py", "sub/c.py"):
        editor.wait_screen(text)
        editor.keys(text)
        until(lambda: not any("b.py" in row for row in editor.screen()))
        editor.keys(mark + "<BS>" * len(text))
        editor.wait_screen("b.py")  # snacks fails if it is closed before it has looked again
    editor.keys("<M-c>")
    editor.wait_screen("With your next prompt: ")
    assert attached(editor, agent) == ["a.py", "sub/c.py"]

    editor.open("b.py")
    editor.rpc.notify("nvim_command", buffers)
    until(lambda: sum("b.py" in row for row in editor.screen()) > 1)  # the statusline is one
    editor.keys("<M-c>")
    editor.wait_message("With your next prompt: b.py")
    assert attached(editor, agent) == ["b.py"]

    if name == "fzf-lua":
        editor.open("sub/c.py")
        editor.rpc.notify("nvim_command", "FzfLua blines")
        editor.wait_screen("1/1")
        editor.keys("<M-c>")
        editor.wait_message("With your next prompt: sub/c.py:1")

        editor.lua("require('fzf-lua').register_ui_select()")
        editor.rpc.notify("nvim_command", "Acp ask")
        editor.wait_screen("Prompt> ")  # the text that is typed comes next


def test_snacks_shows_the_preview_of_a_choice(editor: Editor) -> None:
    use(editor, "snacks.nvim")
    editor.rpc.notify("nvim_command", "Acp ask")
    editor.wait_screen("explain: ")
    editor.keys("expl")
    until(lambda: not any("review: " in row for row in editor.screen()))
    editor.wait_screen("│Explain this code")
    editor.keys("<Esc><Esc>")
    editor.wait("vim.fn.mode() == 'n'")
    editor.lua("vim.notify = require('snacks').notifier.notify")
    editor.lua("require('acp.base.notify').echo('info', 'pkg/__init__.py *changed*')")
    editor.wait_screen("pkg/__init__.py *changed*")  # no Markdown


def test_a_match_attaches_its_line(editor: Editor) -> None:
    editor.write("a.py", "one\ntwo\nthree\n")
    agent = editor.agent("hello", capabilities={"promptCapabilities": {"embeddedContext": True}})
    use(editor, "mini.pick")
    editor.rpc.notify(
        "nvim_exec_lua",
        "MiniPick.start({ source = { items = { 'a.py\\0' .. '2\\0001\\0two' } } })",
        [],
    )
    editor.wait_screen("a.py")
    editor.keys("<M-c>")
    editor.wait_message("With your next prompt: a.py:2")
    assert attached(editor, agent) == ["a.py#L2-L2"]


@pytest.mark.parametrize("how", ["mksession", "localoptions", "mini.sessions"])
def test_a_session_file_restores_no_chat_windows(edit: Start, tmp_path: Path, how: str) -> None:
    first, file = edit(), tmp_path / "Saved.vim"
    first.agent("hello")
    first.open(first.write("a.py", "one\n"))
    first.turn("hi")
    first.cmd("AcpPrompt")
    first.wait("vim.bo.filetype == 'acpcomposer'")
    first.keys("<Esc>")
    if how == "localoptions":
        first.cmd("set sessionoptions+=localoptions,globals")
    if how == "mini.sessions":
        add_plugins(first, how)
        first.lua(f"require('mini.sessions').setup({{ directory = '{tmp_path}' }})")
        first.lua("MiniSessions.write('Saved.vim', { force = true })")
    else:
        first.cmd(f"mksession {file}")
    assert "acp://" not in file.read_text(errors="replace")

    second = edit(work=first.work, env={"HOME": str(first.home)})
    if how == "mini.sessions":
        add_plugins(second, how)
        second.lua(f"require('mini.sessions').setup({{ directory = '{tmp_path}' }})")
        second.lua("MiniSessions.read('Saved.vim')")
    else:
        second.cmd(f"source {file}")
    names = second.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert not [name for name in names if name.startswith("acp://")]
    assert [Path(name).name for name in second.lua(WINDOWS)] == ["a.py"]

    # A session file that is loaded beside a chat leaves the chat alone.
    second.agent("hello")
    second.turn("hi")
    before = second.chat()
    second.cmd(f"source {file}")
    second.cmd("Acp chat")
    assert second.chat() == before
    assert any(name == "acp://chat/1" for name in second.lua(WINDOWS))


@pytest.mark.parametrize("options", ["", "localoptions"])
def test_a_session_file_restores_no_review(edit: Start, options: str) -> None:
    first = edit()
    first.agent("script")
    path = first.write("a.py", "one\n")
    first.open(path)
    first.turn(f"replace {path} one two")
    first.wait("#require('acp').state().sessions[1].edits == 1")
    first.cmd("Acp review")
    first.wait("vim.wo.diff")
    first.cmd(f"set sessionoptions+={options}")
    first.cmd("mksession Saved.vim")

    second = edit(work=first.work, env={"HOME": str(first.home)})
    second.cmd("source Saved.vim")
    second.wait("#vim.api.nvim_list_wins() == 1")
    assert second.lua(WINDOWS) == [str(path)]
    for name, value in {"diff": False, "foldmethod": "manual", "winbar": ""}.items():
        assert second.lua("return vim.wo[...]", name) == value


def test_windows_in_an_older_session_file_are_closed(editor: Editor) -> None:
    path = editor.write("Old.vim", "vsplit\nenew\nfile acp://chat/1\ndoautoall SessionLoadPost\n")
    editor.open(editor.write("a.py", "one\n"))
    editor.cmd(f"source {path}")
    assert [Path(name).name for name in editor.lua(WINDOWS)] == ["a.py"]
    assert editor.lua("return vim.fn.bufexists('acp://chat/1')") == 0
