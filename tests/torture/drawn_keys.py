"""Random steps of `tests/torture/keys.py`: keys, sizes of the screen, and acts of the agent."""

from __future__ import annotations

import json
import random


def _words(text: str) -> list[str]:
    return text.split()


ANCHOR = "anchor"
"""The agent adds its lines after those that end in this word."""
VIEWS = _words(
    """
    chat prompt plan review edits overview rules history checkpoints log report info queue
    permissions terminals sessions blame agent follow attach<Space>a.txt attach new allow deny
    refuse mode model accept reject accept<Space>all reject<Space>all unreject comment<Space>odd
    export<Space>x.md restore restore<Space>1 queue<Space>run cancel tutor preset option ask
    edit land land! land<Space>2 race race! race<Space>many_turns<Space>--<Space>run new! restart
    stop login logout trust trust<Space>edits trust<Space>off rewind rewind<Space>1
    refuse<Space>odd
    """
)
LEADS_TO = _words(
    """
    <C-w>w <C-w>p <C-w>t <C-w>b <C-w>h <C-w>l <C-w>j <C-w>k gt gT <C-w>W <C-w>P
    :wincmd<Space>w<CR> <LeftMouse><20,5> <LeftMouse><90,5>
    """
)
WINDOWS = _words(
    """
    <C-w>c <C-w>o <C-w>q <C-w>s <C-w>v <C-w>T <C-w>r <C-w>x <C-w>H <C-w>J <C-w>K <C-w>L <C-w>=
    <C-w>_ <C-w>| <C-w>+ <C-w>z <C-w>n :only<CR> :tabclose<CR> :tabonly<CR> :close<CR> :quit<CR>
    :hide<CR> :tab<Space>split<CR> :tabnew<CR> :copen<CR> :cclose<CR> :new<CR> :vsplit<CR>
    :windo<Space>set<Space>wrap<CR> :pclose<CR> :lclose<CR> :resize<Space>3<CR> :stopinsert<CR>
    """
)
BUFFERS = _words(
    """
    :bd<CR> :bd!<CR> :bwipeout<CR> :bwipeout!<CR> :e<CR> :e!<CR> :bnext<CR> :e<Space>a.txt<CR>
    :e<Space>b.txt<CR> :edit!<Space>c.txt<CR> :w<CR> :w!<CR> :wa<CR> <C-^> :enew<CR> :enew!<CR>
    :cnext<CR> :cprev<CR> :checktime<CR> :bprevious<CR> :tabe<Space>b.txt<CR>
    :sp<Space>a.txt<CR> :b1<CR> :update<CR> :file<Space>odd<CR> :bunload<CR> :diffoff!<CR>
    :diffthis<CR> :diffupdate<CR> :%bd!<CR> :view<CR>
    """
)
KEYS = _words(
    r"""
    <CR> <Esc> <Tab> <S-Tab> <BS> <Space> <C-c> <C-s> <C-x><C-s> q g? i a o O I A x X D C S s J
    ~ p P u <C-r> . dd yy yyp 3dd dG ggdG gg G 5j k w b 0 $ cc ciw dap yiw gv v V <C-v> Vj vG
    <C-v>jjIz<Esc> gJ y Y n N 1 2 3 4 c d do dp ]h [h \a \r \A \R \q ]f [f ]] [[ ]c [c gf gF
    <C-o> <C-i> '' ma `a zo zc za zR zM zf3j zz zt zd <C-d> <C-u> <C-e> <C-y> <C-f> qqixyz<Esc>q
    @q 3@q "ayy "ap "_dd /the<CR> * # ?a<CR> :s/a/b/<CR> :%s/e/E/g<CR> :g/x/d<CR>
    :norm<Space>dd<CR> :1,3d<CR> :m0<CR> :t.<CR> :undo<Space>0<CR> :earlier<Space>9<CR>
    :later<Space>9<CR> <C-p> <C-n> <C-x><C-o> <C-w> d : q: q/ g/ R gi gI <C-a> <C-x> >> == =G
    gq} gUU g~~ R<Esc> ZZ <C-l> <C-g> ga & U r e m f t :@:<CR> <LeftMouse><30,10>
    <2-LeftMouse><80,10> <2-LeftMouse><80,20> <RightMouse><80,12> <ScrollWheelDown><80,12>
    <ScrollWheelUp><80,12> <LeftDrag><9,9> :2,4Acp<Space>edit<Space>tidy<CR> :norm<Space>y<CR>
    qqyq 2y dy yn yY
    """
)
TEXTS = _words(
    """
    word{}<Space> @a.txt<Space>{}<Space> /help<Space>{} say<Space>{}<CR> ünï{} {}<Tab>
    line{}<C-o>o
    """
)
OPTIONS = _words(
    """
    wrap nowrap list virtualedit=all scrollbind noscrollbind cursorbind autochdir nohidden
    hidden lazyredraw modifiable cmdheight=0 cmdheight=2 winminheight=0 winheight=30 winwidth=70
    laststatus=3 laststatus=0 paste nopaste scrolloff=999 noequalalways splitbelow splitright
    textwidth=20 selection=exclusive noruler showtabline=2 foldenable expandtab readonly
    autowriteall switchbuf=useopen switchbuf=newtab startofline eventignore=all eventignore=
    number relativenumber confirm autoindent ignorecase magic undolevels=-1 undolevels=1000
    bufhidden=wipe winfixbuf nowinfixbuf shortmess=
    """
)
MOVES = frozenset(LEADS_TO + WINDOWS)
FILES = ("a.txt", "b.txt", "c.txt", "sub/d.txt")
SIZES = ((120, 40), (20, 6), (80, 24), (40, 12), (200, 60), (120, 10))
FORM = json.dumps({"name": {"type": "string"}, "sure": {"type": "boolean"}})
DIFF = {"content": [{"type": "diff", "path": "b.txt", "oldText": "b 1\n", "newText": "B 1\n"}]}

Step = tuple[str, ...]
"""`press` and keys, `resize` and a size, or `agent` and a scenario with its arguments. In these,
`WORK` is the project.
"""


def drawn(seed: int, count: int) -> list[Step]:
    """Return the steps of a history."""
    rng = random.Random(seed)
    return [_step(rng, n) for n in range(count)]


def _step(rng: random.Random, n: int) -> Step:
    roll = rng.random()
    if roll < 0.3:
        return ("agent", *_act(rng, n))
    if roll < 0.33:
        columns, rows = rng.choice(SIZES)
        return ("resize", str(columns), str(rows))
    kinds = [*[KEYS] * 8, *[LEADS_TO] * 3, *[WINDOWS] * 2, BUFFERS, *[TEXTS] * 3, OPTIONS, VIEWS]
    leave = ["<C-\\><C-n>"] if rng.random() < 0.6 else []
    if rng.random() < 0.35:
        leave.append(f":Acp<Space>{rng.choice(VIEWS)}<CR>")
    return ("press", *leave, *[_token(rng, rng.choice(kinds), n) for _ in range(rng.randint(1, 4))])


def _token(rng: random.Random, kind: list[str], n: int) -> str:
    token = rng.choice(kind)
    if kind is VIEWS:
        return f":Acp<Space>{token}<CR>"
    if kind is OPTIONS:
        return f":{rng.choice(['set', 'set', 'setlocal'])} {token}<CR>"
    return token.format(n) if kind is TEXTS else token


def _act(rng: random.Random, n: int) -> Step:
    path = f"WORK/{rng.choice(FILES)}"
    return rng.choice(
        [
            ("say", f"word {n}\\n\\n- one\\n- two\\n\\n```\\ncode\\n```\\n"),
            ("chunks", "40"),
            ("think", "deep", "thought", str(n)),
            *[("replace", path, f"{ANCHOR}\n", f"{ANCHOR}\nagent {n}\n")] * 3,
            ("runs", path, f"sed -i 's/{ANCHOR}$/&\\nagent {n}/' {path}"),
            *[("asks_about", f"q{n}", "{}")] * 3,
            ("asks_about", f"q{n}", json.dumps(DIFF)),
            ("takes_back", f"q{rng.randrange(n + 1)}"),
            ("plan", str(rng.randrange(4))),
            ("tool", f"t{n}"),
            ("tool_contents",),
            ("term_create", f"m{n}", json.dumps({"command": "echo", "args": [f"out {n}"]})),
            ("term_create", f"m{n}", json.dumps({"command": "sleep", "args": ["60"]})),
            ("term_embed", f"m{rng.randrange(n + 1)}"),
            ("elicit_form", FORM),
            ("elicit_taken_back",),
            ("title", f"title {n}"),
            ("end", rng.choice(["end_turn", "refusal", "max_tokens"])),
        ]
    )


def can_answer(token: str, buffer: str) -> bool:
    """Return whether a token may answer a permission request while this buffer is current."""
    if token.startswith("@"):
        return True  # a macro may go to the float first
    if token.startswith(":"):
        return any(word in token for word in ("allow", "deny", "refuse", "permissions", "@:"))
    return "Mouse" in token or (buffer != "file" and bool(set(token) & set("yYnN123456789c\r<")))
