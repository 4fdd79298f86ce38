# One way in: every target makes the virtual environment by itself.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
STAMP   = $(VENV)/.installed

.PHONY: demo test check coverage mutation format bench eval servers soak docs clean
.DEFAULT_GOAL := demo

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[serve,dev]'
	touch $@

demo: $(STAMP)  ## index the sample stream and show its stories
	$(BIN)/esdedup demo

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest -n 2 -m "not servers"
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m servers

check: $(STAMP)  ## format, lint, types, docs in step with code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_docs.py

coverage: $(STAMP)  ## the whole suite, with the lines of esdedup/ that it runs: at least 92 %
	$(BIN)/python -m pytest -q -n 2 -m "not servers" --cov --cov-report=
	$(BIN)/python -m pytest -q -m servers --cov --cov-append --cov-report=term:skip-covered --cov-fail-under=92

mutation: $(STAMP)  ## small mistakes in methods, verify and decide: do the tests notice 80 %?
	$(BIN)/python -m tests.mutation

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## ratios against peers, in one run
	$(BIN)/python -m tests.bench

eval: $(STAMP)  ## detection quality on the labelled sets
	$(BIN)/python -m tests.eval.gate
	$(BIN)/python -m tests.eval.ner

servers: $(STAMP)  ## real Elasticsearch and OpenSearch on loopback until Ctrl-C
	$(BIN)/python -m tests.servers both

soak: $(STAMP)  ## several writers at once, 10 seeds on both products
	$(BIN)/python -m tests.soak

docs: $(VENV)/.docs  ## the documentation as a site in site/, which loads nothing from elsewhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
