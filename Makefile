# One command each, on a fresh machine too: `make demo` shows the tool at work, `make test` runs the tests.
PYTHON ?= python3
VENV ?= .venv
JOBS ?= auto
BENCH ?= build/bench
SIZE ?= 500
ROUNDS ?= 5

run := $(VENV)/bin/python -m
pip := $(run) pip --disable-pip-version-check --quiet

.PHONY: demo test lint docs bench clean

demo: $(VENV)/.installed
	$(VENV)/bin/triage classify fixtures/outage-weeks

test: $(VENV)/.installed-dev
	$(run) pytest -n $(JOBS)

lint: $(VENV)/.installed-dev
	$(run) ruff check .
	$(run) mypy --strict triage

docs: $(VENV)/.installed-dev
	$(run) docs.output

bench: $(VENV)/.installed
	$(run) benchmarks.startup
	$(run) benchmarks.make_logs $(BENCH)/clean.log --size $(SIZE) --kind clean
	$(run) benchmarks.scan $(BENCH)/clean.log --rounds $(ROUNDS)

clean:
	rm -rf $(VENV) build dist

# An editable install leaves our code uncompiled, and where PYTHONDONTWRITEBYTECODE is set every run would compile it anew.
# Stamps, so that a second run installs nothing and needs no network.
$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("triage needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.made
	$(pip) install --editable .
	$(run) compileall -q triage
	touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.made
	$(pip) install --editable '.[dev]'
	$(run) compileall -q triage
	touch $(VENV)/.installed $@
