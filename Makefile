# Needs Python 3.11 or newer (with venv), make, and a Python package index. Everything else goes into .venv.

VENV ?= .venv
ARGS ?=
WORKERS ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
CODE := src tests benchmarks scripts .ci

.DEFAULT_GOAL := help
.PHONY: help demo test test-systems lint docs bench clean remake-venv

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

demo: $(VENV)/.has-local  ## Fetch a small model, audit a memory with it, write a report (ARGS="…" goes to vestige demo)
	@$(BIN)/vestige demo $(ARGS)

test: $(VENV)/.has-test  ## Run the whole test suite (ARGS="-k canary" selects)
	@$(BIN)/python -m pytest -n $(WORKERS) -rs $(ARGS)

test-systems: $(VENV)/.has-systems  ## Run the tests against real memory systems, each in an environment of its own
	@VESTIGE_AGENTS_DIR="$(CURDIR)/$(VENV)/agents" $(BIN)/python -m pytest -n $(WORKERS) -rs -m systems $(ARGS)

lint: $(VENV)/.has-dev  ## Check style, format and types
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@PYRIGHT_PYTHON_GLOBAL_NODE=0 PYRIGHT_PYTHON_IGNORE_WARNINGS=1 \
	  $(BIN)/python -m pyright --pythonpath $(BIN)/python

docs: $(VENV)/.has-docs  ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

bench: $(VENV)/.has-bench  ## Run the benchmarks (minutes)
	@failed=""; for file in benchmarks/*.py; do \
	  case "$$file" in benchmarks/_*) continue;; esac; \
	  echo "== $$file"; $(BIN)/python "$$file" || failed="$$failed $$file"; \
	done; \
	if [ -n "$$failed" ]; then echo "missed:$$failed" >&2; exit 1; fi

clean:  ## Remove .venv and everything that was built; runs/ stays
	@if [ -e "$(VENV)/.made-by" ]; then rm -rf "$(VENV)"; fi
	@rm -rf site dist .pytest_cache .ruff_cache .hypothesis
	@find src tests benchmarks scripts .ci -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.has-systems: $(VENV)/.has-test src/vestige/agents/adapters/mem0.txt src/vestige/agents/adapters/langgraph.txt
	@VESTIGE_AGENTS_DIR="$(CURDIR)/$(VENV)/agents" $(BIN)/vestige agents install mem0 >&2
	@VESTIGE_AGENTS_DIR="$(CURDIR)/$(VENV)/agents" $(BIN)/vestige agents install langgraph >&2
	@touch $@

# One stamp for each set of extras, redone when pyproject.toml changes.
$(VENV)/.has-local: EXTRAS := local
$(VENV)/.has-test: EXTRAS := local,test
$(VENV)/.has-dev: EXTRAS := local,test,bench,dev
$(VENV)/.has-docs: EXTRAS := docs
$(VENV)/.has-bench: EXTRAS := local,bench

$(VENV)/.has-%: $(VENV)/.made-by pyproject.toml
	@echo "Installing vestige[$(EXTRAS)] into $(VENV) …" >&2
	@$(PIP) install --editable '.[$(EXTRAS)]'
	@touch $@

# The environment is made again when its Python is gone or too old, or the checkout was moved.
ifneq ($(shell $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && cat $(VENV)/.made-by 2>/dev/null),$(CURDIR))
$(VENV)/.made-by: remake-venv
endif

$(VENV)/.made-by:
	@if [ -e "$(VENV)" ] && [ ! -e "$@" ]; then \
	  echo "$(VENV) exists and was not made by this Makefile: remove it, or choose another folder with VENV=…" >&2; exit 2; \
	fi
	@python=""; \
	for name in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python="$$name"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  found=$$($(or $(PYTHON),python3) --version 2>&1 || :); \
	  echo "Vestige needs Python 3.11 or newer; found: $$found. Install one, or name it with PYTHON=/path/to/python3.11" >&2; exit 2; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$python has no venv module. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 2; \
	fi; \
	rm -rf "$(VENV)" && mkdir -p "$(VENV)" && echo unfinished > "$@" && \
	"$$python" -m venv "$(VENV)" && echo "$(CURDIR)" > "$@"
