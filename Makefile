# Everything that is done with a checkout. It needs python3 (3.11, 3.12 or 3.13), git and make, no more.
# Another interpreter: make demo PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Compiles what Numba compiles, once, so that the first upload does not wait for it.
WARM_UP = $(BIN)/python -c 'from ner_pipeline.inference.compiled.kernels import warm_up; warm_up()'

.PHONY: help demo up test proof bench lint constraints clean

help:  ## List what there is to make
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: $(VENV)/.for-demo  ## From upload to entities on this machine, once, with a table at the end
	@$(BIN)/ner-pipeline demo

up: $(VENV)/.for-demo  ## S3, Dagster and its UI on this machine, until Ctrl-C
	@$(BIN)/ner-pipeline up

# Most of the time goes by in waiting for services, so four at a time are no load for two cores.
test: $(VENV)/.for-dev  ## Run the tests
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

proof: $(VENV)/.for-dev  ## Run every proof in its full size, about an hour, and write benchmarks/PROOF.md
	@$(INSTALL) -e '.[local,dev,train]'
	$(BIN)/python -m benchmarks.proof

bench: $(VENV)/.for-dev  ## Measure everything beside spaCy itself, 12 minutes on two cores: .local/bench.json
	$(BIN)/python -m benchmarks

lint: $(VENV)/.for-dev  ## Check style, formatting, types and import walls
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# uv resolves for every supported Python and platform at once, which pip cannot. It lives apart from the
# environment that it pins. The extra trf is left out: it would pin gigabytes of torch for everybody.
constraints: $(VENV)/.interpreter  ## Pin the newest versions anew in constraints.txt
	rm -rf .local/uv && mkdir -p .local && $(BIN)/python -m venv .local/uv
	.local/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	.local/uv/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --upgrade \
		--extra local --extra gpu --extra train --extra dev \
		--no-annotate --no-emit-index-url --custom-compile-command "make constraints" -o constraints.txt
	rm -rf .local/uv

clean:  ## Remove the environment, local data and caches
	rm -rf $(VENV) .local build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: what is installed for them is installed again only when the requirements change.
$(VENV)/.for-demo: $(VENV)/.interpreter pyproject.toml constraints.txt
	@echo "Installing into $(VENV), a few minutes the first time …"
	@$(INSTALL) -e '.[local]'
	@$(WARM_UP)
	@touch $@

$(VENV)/.for-dev: $(VENV)/.interpreter pyproject.toml constraints.txt
	@echo "Installing into $(VENV), a few minutes the first time …"
	@$(INSTALL) -e '.[local,dev]'
	@$(WARM_UP)
	@touch $(VENV)/.for-demo $@

# An environment that is there is used as it is, whatever PYTHON says.
$(VENV)/.interpreter:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit( \
		"ner_pipeline needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.12 …" % v)'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) has no venv module. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@
