# Every target sets up what it needs. `make help` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
PKGS   := $(sort $(wildcard packages/*))
PYTEST := $(BIN)/python -m pytest
# End-to-end tests wait for processes as long as they use a core: one worker more than there are cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
SEEDS  ?= 1000
FIRST  ?= 0
# What the simulation runs over (memory, sqlite or postgres), and what it is about.
STORE  ?= memory
OF     ?= workflows charts
# How many random workflows of each kind are played against the naive model.
EXAMPLES ?= 2000
# Of the images.
TAG    ?= dev
SOAK   ?= 20
# uv trusts what the system trusts, as pip does.
export UV_SYSTEM_CERTS := 1
.DEFAULT_GOAL := help
.PHONY: help setup demo test soak sim lint types fmt bench bench-quick wheels images secrets compose-demo lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make the environment in .venv (the others do it by themselves)

$(STAMP): requirements-dev.lock $(wildcard packages/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9' 2>/dev/null || echo "uv is not available; pip does it (slower)"
	@if ! { test -x $(BIN)/uv \
	   && $(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements-dev.lock \
	   && $(BIN)/uv pip install -q --python $(BIN)/python --no-build-isolation --no-deps $(addprefix -e ,$(PKGS)); }; then \
	   echo "uv could not do it; pip does it (slower)"; \
	   $(BIN)/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements-dev.lock \
	   && $(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps $(addprefix -e ,$(PKGS)); \
	 fi
	@touch $@

demo: $(STAMP) ## run the main job on an embedded SQLite file, and show it
	@$(BIN)/python examples/demo.py

test: $(STAMP) ## all tests: in parallel first, then the compose stack, then those that measure time, alone
	$(PYTEST) -q -n $(WORKERS) --dist worksteal -m 'not timing and not compose'
	$(PYTEST) -q -m compose tests/integration/compose
	$(PYTEST) -q -m timing

soak: $(STAMP) ## on both databases supervisors and control planes die (SOAK=20 times what `make test` has)
	STATEOUS_SOAK=$(SOAK) $(PYTEST) -q -s tests/chaos

sim: $(STAMP) ## many seeds of the simulation (STORE=memory SEEDS=1000 FIRST=0), many examples against the model
	for of in $(OF); do \
	   $(BIN)/python -m tests.sim --of $$of --store $(STORE) --first $(FIRST) --seeds $(SEEDS) || exit; \
	 done
	STATEOUS_EXAMPLES=$(EXAMPLES) $(PYTEST) -q -n $(WORKERS) tests/property/test_engine_against_model.py

lint: $(STAMP) ## format, lint and import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

types: $(STAMP) ## strict types
	$(BIN)/mypy

fmt: $(STAMP) ## format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP) ## measure every target, beside a calibration of this machine (half an hour; bench/README.md has the parts)
	$(BIN)/python -m bench --out bench/out

bench-quick: $(STAMP) ## a smoke run of the benchmark, in some seconds
	$(BIN)/python -m bench --quick

wheels: $(STAMP) ## build the six wheels into dist/
	@rm -rf dist
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w dist $(addsuffix /,$(PKGS))

images: wheels ## build the images of control plane, supervisor and command (TAG=dev), and the example's
	@for image in controlplane supervisor cli; do \
	   echo "stateous-$$image:$(TAG)"; \
	   docker build -q -f images/$$image.Dockerfile -t stateous-$$image:$(TAG) \
	     --build-arg VERSION=$$($(BIN)/python -c "from importlib.metadata import version; print(version('stateous-$$image'))") \
	     --build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown) . >/dev/null || exit; \
	 done
	@echo "sdlc-supervisor:$(TAG)"
	@docker build -q -t sdlc-supervisor:$(TAG) --build-arg SUPERVISOR_IMAGE=stateous-supervisor:$(TAG) \
	   examples/sdlc-supervisor >/dev/null

secrets: secrets/database-url ## draw the database's password, once, for the compose file

# A container's user must read them, so they are open; the folder is not.
secrets/database-url:
	@mkdir -p -m 700 secrets
	@rm -f secrets/database-*
	@$(PYTHON) -c 'import secrets; print(secrets.token_hex(24), end="")' > secrets/database-password
	@printf 'postgresql://stateous:%s@database:5432/stateous' "$$(cat secrets/database-password)" > $@
	@chmod 444 secrets/database-*

compose-demo: images secrets ## the same as `make demo`, with Postgres and containers (needs Docker)
	@STATEOUS_TAG=$(TAG) examples/compose-demo.sh

lock: $(STAMP) ## write requirements-dev.lock, and the locks of the images, again
	$(BIN)/uv lock -q
	$(BIN)/uv export -q --no-emit-workspace --no-header --format requirements-txt -o requirements-dev.lock
	$(call image-lock,controlplane,--package stateous-cli --extra controlplane)
	$(call image-lock,supervisor,--package stateous-supervisor --extra scripts)
	$(call image-lock,cli,--package stateous-cli)
	@rm -f uv.lock

image-lock = $(BIN)/uv export -q $(2) --no-dev --no-emit-workspace --no-header --format requirements-txt -o images/$(1).lock

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
