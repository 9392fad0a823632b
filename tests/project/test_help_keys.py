"""`:help acp` names exactly the keys that exist."""

from __future__ import annotations

import re

from tests.support.editor import ROOT, Editor


def test_the_help_names_every_default_key(editor: Editor) -> None:
    text = (ROOT / "doc/acp.txt").read_text(encoding="utf-8")
    section = re.search(r"\*acp-buffer-local-keys\*(.*?)\n=====", text, re.DOTALL)
    assert section is not None
    named = set(re.split(r"[\s,`]+", section[1])) | {str(n) for n in range(2, 9)}
    windows = editor.lua("return vim.tbl_map(vim.tbl_keys, require('acp.config').defaults.keymaps)")
    missing = {
        f"{window} {key}" for window, keys in windows.items() for key in keys if key not in named
    }
    assert missing == set()
