# Every target sets up what it needs: nothing is installed globally, and only
# Python 3.11 or newer (with venv and pip), make and git are assumed.

PYTHON  ?= python3
CLUSTER ?= process
ONCE    ?=
FUZZ    ?= 100000
FUZZ_OBJECTS ?= 1000000
WORKERS ?= 2
IMAGE   ?= berth:dev
IMAGE_PYTHON ?= 3.13
BASE_IMAGE   ?= python:$(IMAGE_PYTHON)-slim
RELEASE ?=

# Pinned, with its hashes, beside the lock: what reads the lock cannot stand in it.
UV_VERSION := $(shell sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements-uv.txt)
UV     := .tools/uv-$(UV_VERSION)/bin/uv
VENV   := .venv
READY  := $(VENV)/.ready
RUN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo profile test nightly fuzz test-quick test-units test-clusters test-alone test-nightly test-seconds oracle faults check check-text e2e bench bench-size bench-preemption bench-micro soak hostile image wheels notices chart manifests crds dashboards lock node-prerequisites clean

help: ## Print what the targets do
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## A local cluster, the operator, a profile, and pods it schedules (CLUSTER=process|kind|current, ONCE=1 to exit when they are bound)
	@$(RUN)/python -m examples.demo --cluster $(CLUSTER) $(if $(ONCE),--once) --image $(IMAGE)

test: $(READY) ## Every test this machine can run, but for make nightly: a quarter of an hour; says what it skipped and what that needs
	@FUZZ=5000 $(MAKE) --no-print-directory --keep-going test-units test-clusters test-alone

nightly: $(READY) ## What takes long: tests left out of make test, oracle, faults and fuzz at full size: about an hour
	@$(MAKE) --no-print-directory --keep-going test-nightly oracle faults fuzz

fuzz: $(READY) ## A million odd pods and nodes (FUZZ_OBJECTS=…), a hundred thousand other inputs (FUZZ=…): none may end anything, or cost much
	@FUZZ=$(FUZZ) FUZZ_OBJECTS=$(FUZZ_OBJECTS) $(RUN)/pytest -q -rP --numprocesses=2 --timeout=0 tests/fuzz

check: $(READY) ## Format, lint, types, import contracts, measures of the house, unit tests: about a minute
	@$(MAKE) --no-print-directory --jobs=2 --output-sync check-text test-quick

# Where bytecode is not kept, each of the workers, and each process that a test starts, compiles everything anew.
check-text test-quick test-units test-clusters test-alone test-nightly: export PYTHONDONTWRITEBYTECODE =

check-text:
	@$(RUN)/ruff format --check --quiet . || { echo "Run '$(RUN)/ruff format .' to mend the formatting."; exit 1; }
	@$(RUN)/ruff check --quiet .
	@$(RUN)/lint-imports --no-logo
	@$(RUN)/python -m tools.house --check
	@$(RUN)/mypy

# More workers than cores: these tests wait for more than half of their time.
test-quick:
	@$(RUN)/pytest -q --numprocesses=5 -m "not cluster and not nodes and not thorough and not nightly"

test-units:
	@$(RUN)/pytest -q --numprocesses=4 -m "not cluster and not nodes and not nightly"

# WORKERS=0: one after the other. What measures time follows alone.
test-clusters:
	@$(RUN)/pytest --numprocesses=$(WORKERS) --dist=loadfile --junitxml=build/clusters.xml \
	  -m "(cluster or nodes) and not alone and not nightly"

test-alone:
	@$(RUN)/pytest --junitxml=build/alone.xml -m "(cluster or nodes) and alone and not nightly"

test-nightly:
	@$(RUN)/pytest -m nightly

test-seconds: $(READY) ## Take over how long each file lasted in the last make test, so that workers end together
	@$(RUN)/python -m tests.support.sharing build/clusters.xml build/alone.xml

oracle: $(READY) ## Documents by the thousand and clusters by the hundred, judged as the real kube-scheduler of each version judges them (ORACLE_SEED=0, DECIDING_SEED=0)
	@ORACLE_DOCUMENTS=$(or $(ORACLE_DOCUMENTS),1000) DECIDING_FULL=1 $(RUN)/pytest tests/oracle

faults: $(READY) ## Thousands of pods while leaders are frozen and killed, and troubles that last: minutes
	@FAULTS_FULL=1 $(RUN)/pytest tests/integration/scheduler/faults

e2e: $(READY) ## The stories on real nodes, in containers (kind)
	@$(RUN)/pytest tests/e2e

bench: $(READY) ## Side by side with kube-scheduler (FULL=1 for everything, DOC=1 writes docs/performance.md, BENCH="SchedulingBasic --nodes 5000")
	@$(RUN)/python -m bench.side_by_side $(if $(FULL),--full) $(if $(DOC),--document) $(BENCH)

bench-size: $(READY) ## Memory, time to the first bind, longest pause (SIZE="--nodes 15000 --pods 150000")
	@$(RUN)/python -m bench.size $(SIZE)

bench-preemption: $(READY) ## Preemption in a crowd, beside kube-scheduler: evictions, requests, seconds (CROWD="--nodes 1000 --stay 0 --qps 5000")
	@$(RUN)/python -m bench.crowd $(CROWD)

bench-micro: $(READY) ## Decisions per second without a cluster, then pods per second with one
	@$(RUN)/python -m bench.micro $(MICRO)
	@$(RUN)/pytest -q -s -m rate tests/integration

bench-cost: $(READY) ## What pods and nodes with long lists cost, beside kube-scheduler: half an hour (COST="soft-spread anti-affinity")
	@$(RUN)/python -m bench.cost $(COST)
	$(if $(COST),,@$(RUN)/python -m bench.cost anti-affinity anti-affinity-keys term-namespace-selector \
	  labels-near labels-spread labels-selected resources-offered --nodes 200 --file dist/cost-200.jsonl)

soak: $(READY) ## Two schedulers under churn, bad documents and kills: nothing is lost, nothing grows (SOAK="--minutes 30 --nodes 1000")
	@$(RUN)/python -m bench.soak $(SOAK)

hostile: $(READY) ## Every attack of hostile tenants at once, beside honest pods (HOSTILE="--minutes 2 --attacks bombs")
	@$(RUN)/python -m bench.hostile_tenants $(HOSTILE)

profile: $(READY) ## Where a decision's time goes: the ten most expensive functions (MICRO="plain --nodes 5000")
	@$(RUN)/python -m bench.micro --profile $(MICRO)

image: wheels ## Build the container image IMAGE from BASE_IMAGE (RELEASE=1: refuses a BASE_IMAGE without a digest)
	@case '$(BASE_IMAGE)' in *@sha256:*) ;; *) \
	  echo "BASE_IMAGE $(BASE_IMAGE) is a tag, which may name another image tomorrow: for a release give name@sha256:…, as 'docker buildx imagetools inspect $(BASE_IMAGE)' prints it"; \
	  [ -z "$(RELEASE)" ] || exit 1 ;; esac
	docker build --build-arg BASE_IMAGE=$(BASE_IMAGE) -t $(IMAGE) .

notices: $(READY) ## Write THIRD_PARTY_NOTICES.md, the licences of what the image contains
	@$(RUN)/python -m tools.supply_chain.notices >build-notices && mv build-notices THIRD_PARTY_NOTICES.md || { rm -f build-notices; exit 1; }

wheels: $(READY) ## The wheels the image is made of, for Python IMAGE_PYTHON, in dist/wheels
	@UV=$(UV) PIP=$(dir $(UV))pip IMAGE_PYTHON=$(IMAGE_PYTHON) sh image/wheels.sh dist/wheels

manifests: $(READY) ## Write what is made from the chart: its values page and schema, tests/helm/golden, deploy/
	@$(RUN)/python -m tools.chart

chart: $(READY) ## Lint the chart and package it into dist/
	@helm=$$($(RUN)/devcluster bin helm) && $$helm lint --strict helm/berth && $$helm package helm/berth --destination dist

crds: $(READY) ## Write crds/ from the models, and the chart's permissions from the catalog
	@$(RUN)/python -m scheduler_operator.generate.crds
	@$(RUN)/python -m scheduler_operator.generate.chart

dashboards: $(READY) ## Write the chart's dashboards for Grafana from tools/dashboards
	@$(RUN)/python -m tools.dashboards

lock: $(UV) ## Resolve the dependencies anew into requirements.lock, and uv into requirements-uv.txt
	@$(UV) pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  --no-emit-package berth-operator --no-emit-package berth-runtime --no-emit-package berth-devcluster \
	  --group dev pyproject.toml --output-file requirements.lock
	@echo uv | $(UV) pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  - --output-file requirements-uv.txt

node-prerequisites: $(READY) ## What kind needs from Debian where there is no container engine (asks apt, needs root)
	@$(RUN)/python -m devcluster.kind prerequisites --install

clean: ## Remove what was made in this directory (built binaries stay in the user's cache: 'devcluster bin' prints where)
	rm -rf .venv .tools dist build .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(UV): requirements-uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Berth needs Python 3.11 or newer; '$(PYTHON)' is older or missing. Say which to use: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up .tools and .venv (once)"
	@rm -rf .tools && $(PYTHON) -m venv $(dir $(@D)) || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; rm -rf .tools; exit 1; }
	@$(@D)/pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r requirements-uv.txt || { echo "uv could not be installed with the hashes of requirements-uv.txt: see that the package index of pip's configuration can be reached and serves the files that everybody gets"; rm -rf .tools; exit 1; }

$(READY): $(UV) requirements.lock operator/pyproject.toml scheduler_runtime/pyproject.toml devcluster/pyproject.toml
	@$(RUN)/python -c '' 2>/dev/null || $(UV) venv --quiet --clear --no-python-downloads --python $(PYTHON) $(VENV)
	@$(UV) pip sync --quiet --compile-bytecode --require-hashes requirements.lock
	@$(UV) pip install --quiet --no-deps --no-build-isolation -e scheduler_runtime -e operator -e devcluster
	@touch $@
