# Everything runs in .venv, made from pinned versions; the stamp is remade when a pin or a dependency changes.
PYTHON ?= python3.11
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test test-all check bench pages docs clean

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py

# Tests start dozens of interpreters: bytecode is kept, so that each does not compile the package again.
test test-all: export PYTHONDONTWRITEBYTECODE =

test: check
	$(BIN)/python -m pytest -n auto --dist worksteal

# With the tests marked slow.
test-all: check
	$(BIN)/python -m pytest -n auto --dist worksteal -m ''

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED)
	$(BIN)/python -m paper bench all --suite standard --seconds 1 --repeats 10 --out build/bench.csv

# The pages and README tables that are made from results/ and benchmarks/results/.
pages: $(INSTALLED)
	$(BIN)/python -m benchmarks.pages
	$(BIN)/python -m benchmarks.bench_page

docs: $(INSTALLED)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/links.py docs/_build/html

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt torch triton -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist
