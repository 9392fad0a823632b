# Every target works as the first command in a fresh clone: it builds what it needs, once.
# Only make, git and Python >= 3.11 are taken for granted; the work is done by the scripts in .ci/.

PY := .venv/bin/python
RUN := .venv/.stamp-run
DEV := .venv/.stamp-dev
CODE := $(wildcard .ci acp_nvim tests bench rplugin)
LUA := $(wildcard .ci/*.lua lua plugin build.lua tests/*/lua tests/*/*/lua bench/lua)
SHELLS := .ci/run .ci/env .ci/nvim .ci/tool .ci/try

.DEFAULT_GOAL := help
.PHONY: help try test test-own-hosts test-neovims test-portable check check-format check-lint check-types check-lua check-docs check-shell fmt bench pictures install test-agents release clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(RUN) ## build the plugin's Python environment in .venv

try: $(RUN) ## open Neovim on a small sample project with the embedded agent; NVIM_ARGS= adds arguments
	@.ci/try $(NVIM_ARGS)

test: $(DEV) ## the whole test suite, with a real Neovim, several at a time; ARGS= goes to pytest
	@$(PY) .ci/suite.py -n auto --dist worksteal --durations=10 --durations-min=5 $(ARGS)

test-own-hosts: $(DEV) ## the suite without the template of hosts: each is started as a user's
	@ACP_TEST_OWN_HOSTS=1 $(PY) .ci/suite.py -n auto --dist worksteal $(ARGS)

test-neovims: $(DEV) ## the suite on Neovim 0.10, 0.11 and 0.12, which are brought to .cache/neovims (Debian and its like)
	@$(PY) .ci/neovims.py $(ARGS)

test-portable: $(DEV) ## the suite without the functions that only Linux has, such as /proc and inotify
	@ACP_TEST_PORTABLE=1 $(PY) .ci/suite.py -n auto --dist worksteal $(ARGS)

check: check-format check-lint check-types check-lua check-docs check-shell ## all checks that must pass before a commit (-k shows all that fail)

check-format: $(DEV)
	$(PY) -m ruff format --check --quiet $(CODE)

check-lint: $(DEV)
	$(PY) -m ruff check $(CODE)

check-types: $(DEV)
	$(PY) -m mypy $(CODE)

check-lua: $(DEV)
	stylua=$$(.ci/tool stylua) && "$$stylua" --check $(LUA)
	luacheck=$$(.ci/tool luacheck) && "$$luacheck" --quiet $(LUA)

check-docs: $(DEV)
	$(PY) .ci/vimdoc.py

check-shell:
	for script in $(SHELLS); do sh -n "$$script" || exit 1; done

fmt: $(DEV) ## format Python and Lua
	$(PY) -m ruff format $(CODE)
	$(PY) -m ruff check --fix --exit-zero --quiet $(CODE)
	stylua=$$(.ci/tool stylua) && "$$stylua" $(LUA)

bench: $(DEV) ## the benchmark: one table, and bench/results.json
	@$(PY) -m bench $(ARGS)

pictures: $(DEV) ## draw docs/gallery from real runs; ARGS= names a size, or story
	@$(PY) -m tests.pictures $(ARGS)

test-agents: $(DEV) ## tests with real agents and a scripted model, and docs/agents.md; AGENTS= names some for the page
	@$(PY) -m pytest -m agents $(ARGS); tests=$$?; $(PY) -m tests.real.matrix $(AGENTS) && exit $$tests

release: $(DEV) ## checks, wheel, rockspec, notes and tag of VERSION=; CHECKS= replaces .ci/run
	@$(PY) .ci/release.py "$(VERSION)" $(CHECKS)

clean: ## remove what the targets above built
	rm -rf .venv .cache .pytest_cache .hypothesis

$(RUN): pyproject.toml .ci/env
	@.ci/env
	@touch $@

$(DEV): pyproject.toml .ci/env
	@.ci/env test dev
	@touch $@ $(RUN)
