# nodenet: `make help` lists the targets.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# Without bytecode on the disk each worker compiles every test module again, and each program of a test all of nodenet.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
DESTDIR ?= /
VENV := .venv
STAMP := $(VENV)/.stamp
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --quiet --disable-pip-version-check install

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: $(STAMP) ## set everything up, boot a node and show the main job (root)
	@$(RUN) tools/demo.py

# What booted nodes need is made beside lint, types and the pure tests. A lab boot waits for three quarters of its time, so
# three workers share a core. An emulated machine keeps a core busy: not beside real boots. Most seeds of the simulation
# run beside everything, while no other program wants the processor. mutations.py says which case notices each broken rule.
LAB_WORKERS ?= $$((3 * ($$(nproc) < 4 ? $$(nproc) : 4)))
BOOTED := tests/lab tests/vm
test: $(STAMP) ## set everything up and run all tests, real boots included (root)
	@mkdir -p build; failed=0; export NODENET_REQUIRE_LAB=1; \
	$(RUN) tools/simulate.py --first 2000 --seeds 18000 --when-idle >build/simulation.txt 2>&1 & simulated=$$!; \
	$(RUN) tools/prepare.py >build/prepare.txt 2>&1 & prepared=$$!; \
	trap 'for job in $$simulated $$prepared; do kill -- -$$job || kill $$job; done 2>/dev/null' EXIT; \
	$(RUN) -m ruff check . && $(RUN) -m ruff format --check . && $(RUN) -m mypy && $(RUN) tools/mutations.py || exit; \
	$(RUN) -m pytest -q $(BOOTED:%=--ignore=%) --numprocesses auto --dist worksteal || failed=$$?; \
	wait $$prepared || echo "tools/prepare.py: not everything could be made"; cat build/prepare.txt; \
	$(RUN) -m pytest -q tests/lab --numprocesses $(LAB_WORKERS) --dist worksteal || failed=$$?; \
	$(RUN) -m pytest -q tests/vm --numprocesses auto --dist worksteal || failed=$$?; \
	wait $$simulated || { failed=$$?; echo "FAILED tools/simulate.py"; }; cat build/simulation.txt; \
	exit $$failed

check: $(STAMP) ## lint, types and pure tests: no root, no lab, about two minutes
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(RUN) -m pytest -q $(BOOTED:%=--ignore=%) --numprocesses auto --dist worksteal

fmt: $(STAMP) ## format and mend what can be mended
	@$(RUN) -m ruff check --fix --quiet . || true
	@$(RUN) -m ruff format .

lab: $(STAMP) ## open a shell on a freshly booted node with the product installed (root)
	@$(RUN) tools/lab_shell.py

SEEDS ?= 1000
simulate: $(STAMP) ## boot SEEDS simulated nodes with faults and check what must always hold
	@$(RUN) tools/simulate.py --seeds $(SEEDS)

INPUTS ?= 1000000
fuzz: $(STAMP) ## attack each door: INPUTS documents of every kind, and as many messages on private buses (root)
	@$(RUN) tools/fuzz_documents.py --inputs $(INPUTS)
	@PYTHONPATH=daemon:tests:tools $(RUN) tools/fuzz_bus.py --messages $(INPUTS)

bench: $(STAMP) ## measure on a booted node and in namespaces, write docs/dev/benchmarks.md (root)
	@$(RUN) tools/bench/run.py
	@$(RUN) tools/bench/bridge.py
	@$(RUN) tools/bench/selection.py
	@$(RUN) tools/bench/lookups.py
	@$(RUN) tools/bench/hosted.py
	@$(RUN) tools/bench/hosted_dns.py
	@$(RUN) tools/bench/hosted_cluster.py
	@$(RUN) tools/bench/hosted_migration.py
	@$(RUN) tools/bench/day_one.py
	@$(RUN) tools/bench/persistent_ips.py
	@$(RUN) tools/bench/packages.py

install: ## install below DESTDIR (default: this machine)
	@$(PYTHON) packaging/install.py --destdir "$(DESTDIR)"

tree: ## install below DESTDIR with a Python of its own, for nodes that have none
	@$(PYTHON) packaging/install.py --destdir "$(DESTDIR)" --bundled

packages: $(STAMP) ## build the .deb, the .rpm and the system extension into build/packages
	@$(PYTHON) packaging/forms/build_packages.py --out build/packages

release: $(STAMP) ## make packages, wheel, sources, bill of materials, VEX, notes and sums in build/release
	@rm -rf build/release
	@$(RUN) packaging/forms/release.py --out build/release

uninstall: ## remove what install made; settings and state stay
	@$(PYTHON) packaging/install.py --destdir "$(DESTDIR)" --uninstall

wheel: ## build libnmstate's Python module, print the wheel's path
	@$(PYTHON) packaging/libnmstate/build_wheel.py

plugin: ## build the CNI plugin nodenet-ipam, print its path
	@$(PYTHON) packaging/cni/build_plugin.py

clean: ## remove what was made inside the repository
	@rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# The tools and the run-time dependencies, with the binding built from this repository.
BINDING := $(shell find packaging/libnmstate -type f -not -path '*/target/*' -not -name '*.pyc')
$(STAMP): packaging/host-packages packaging/requirements.txt packaging/requirements-dev.txt $(BINDING)
	@packaging/host-packages
	@echo "nodenet: setting up $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r packaging/requirements.txt -r packaging/requirements-dev.txt
	@wheel=$$($(PYTHON) packaging/libnmstate/build_wheel.py) && $(PIP) --force-reinstall "$$wheel"
	@touch $@

.PHONY: help demo test check fmt lab fuzz bench install tree packages release uninstall wheel plugin clean
