# One way in: every target makes the virtual environment by itself.
# Versions are those of requirements/, which `make upgrade` writes from the ranges of pyproject.toml.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
BUILD   = $(VENV)/.build
RUN     = $(VENV)/.run
DEV     = $(VENV)/.dev
DOCS    = $(VENV)/.docs
# System certificates: pip uses those of a company as well, uv only when asked.
UV      = UV_SYSTEM_CERTS=1 $(BIN)/uv --quiet
INSTALL = $(UV) pip install --python $(BIN)/python --no-deps --no-build-isolation
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input
LOCK    = $(UV) pip compile --universal --python-version 3.11 --generate-hashes \
	--annotation-style line --custom-compile-command 'make upgrade' $(FRESH)
# Each file leaves out what those before it have, so that no two of them disagree.
without = $(foreach file,$(1),-c requirements/$(file).txt \
	$$(sed -n 's/^\([a-z0-9.-]*\)==.*/--no-emit-package \1/p' requirements/$(file).txt))

.PHONY: demo test test-newest check coverage mutation format bench eval servers simulate soak docs \
	lock upgrade clean
.DEFAULT_GOAL := demo

$(BUILD): requirements/build.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements/build.txt
	touch $@

$(RUN): $(BUILD) requirements/run.txt pyproject.toml
	$(INSTALL) -r requirements/run.txt -e .
	touch $@

$(DEV): $(RUN) requirements/dev.txt
	$(INSTALL) -r requirements/dev.txt
	touch $@

$(DOCS): $(DEV) requirements/docs.txt
	$(INSTALL) -r requirements/docs.txt
	touch $@

demo: $(RUN)  ## index the sample stream and show its stories
	$(BIN)/esdedup demo

test: $(DEV)  ## the whole test suite
	$(BIN)/python -m pytest -n 2 -m "not servers"
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m servers

check: $(DEV)  ## format, lint, types, layers, docs and requirements/ in step with code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_docs.py tests/test_requirements.py

coverage: $(DEV)  ## the whole suite, with the lines of esdedup/ that it runs: at least 92 %
	$(BIN)/python -m pytest -q -n 2 -m "not servers" --cov --cov-report=
	$(BIN)/python -m pytest -q -m servers --cov --cov-append --cov-report=term:skip-covered --cov-fail-under=92

mutation: $(DEV)  ## small mistakes in methods, verify and decide: do the tests notice 80 %?
	$(BIN)/python -m tests.mutation

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV)  ## ratios against peers, in one run
	$(BIN)/python -m tests.bench

eval: $(DEV)  ## detection quality on the labelled sets
	$(BIN)/python -m tests.eval.gate
	$(BIN)/python -m tests.eval.ner

servers: $(DEV)  ## real Elasticsearch and OpenSearch on loopback until Ctrl-C
	$(BIN)/python -m tests.servers both

simulate: $(DEV)  ## several writers, faults and crashes on a model of the engine: SIMULATE="--minutes 10"
	$(BIN)/python -m tests.simulation $(SIMULATE)

soak: $(DEV)  ## several writers at once, 10 seeds on both products
	$(BIN)/python -m tests.soak

docs: $(DOCS)  ## the documentation as a site in site/, which loads nothing from elsewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

NEWEST  = $(VENV)-newest
test-newest: $(BUILD)  ## the whole suite with the newest release of everything, in $(VENV)-newest
	$(UV) venv --clear --python $(BIN)/python $(NEWEST)
	$(UV) pip install --python $(NEWEST)/bin/python --upgrade -e '.[serve,parquet,eval,dev]'
	$(NEWEST)/bin/python -m pytest -n 2 -m "not servers" --ignore tests/test_requirements.py
	$(NEWEST)/bin/python -m pytest -n 3 --dist loadgroup -m servers

upgrade:  ## requirements/ with the newest releases that pyproject.toml allows
	$(MAKE) lock FRESH=--upgrade

lock: $(BUILD)  ## requirements/ in step with pyproject.toml; what still fits stays
	$(LOCK) --group build -o requirements/build.txt
	$(LOCK) pyproject.toml --extra serve -c requirements/build.txt -o requirements/run.txt
	$(LOCK) pyproject.toml --extra parquet --extra eval --extra dev $(call without,build run) \
		-o requirements/dev.txt
	$(LOCK) pyproject.toml --extra docs $(call without,build run dev) -o requirements/docs.txt

clean:
	rm -rf $(VENV) $(NEWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
