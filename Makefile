# cynet: what a developer types. `make help` lists the targets.
#
# Everything runs in .venv, which is made with the first Python >= 3.10 found (PYTHON=... chooses one).
# Nothing is done twice: .venv/.train and .venv/.dev say what is installed, .venv/.built what is compiled.

SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
SOURCES := setup.py pyproject.toml $(shell find cynet cynet_cuda_cpu -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.cc')
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.14 python3.11 python3.10; do \
	$$p -c '$(USABLE)' 2>/dev/null && command -v $$p && break; done)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes; each compiles 300 files of Python where none may keep the result.
export PYTHONDONTWRITEBYTECODE :=
ifneq ($(shell command -v ccache),)
  ifeq ($(origin CC),default)
    export CC := ccache gcc
    export CXX := ccache g++
  endif
endif

# Tests of ranks, servers and loaders wait for their processes: another one uses that time.
AT_ONCE = $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))

.PHONY: help train test check test-gpu stress fuzz packages array-api mutants build docs site lint bench bench-peers check-cuda asan tsan wheels smoke clean

help:  ## what each target does
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(PY):
	@test -n "$(PYTHON)" || { echo "cynet needs Python >= 3.10 with the venv module" \
		"(Debian, Ubuntu: apt-get install python3-venv python3-dev g++)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip setuptools cython numpy scipy-openblas32

# Without build isolation Cython stays the same, and only what has changed is compiled.
INSTALL := $(PY) -m pip install -q --no-build-isolation -e

$(VENV)/.train: $(SOURCES) | $(PY)
	$(INSTALL) .
	@touch $@

# pip resolves the packages of tests and tools when pyproject.toml changes; a source is only compiled.
$(VENV)/.dev: pyproject.toml | $(PY)
	$(INSTALL) '.[test,dev]'
	@touch $@ $(VENV)/.train $(VENV)/.built

$(VENV)/.built: $(SOURCES) $(VENV)/.dev
	$(INSTALL) . --no-deps
	@touch $(VENV)/.train $@

train: $(VENV)/.train  ## train LeNet on MNIST (or on the bundled digits) in a few minutes
	@mkdir -p build/train
	$(PY) examples/image_classification/train_mnist.py --network lenet --batch-size 64 --lr 0.05 \
		--num-epochs 6 --lr-step-epochs 4,5 --model-prefix build/train/lenet

test: $(VENV)/.built  ## run all tests, in a process more than there are cores (JOBS=N: in N)
	$(PY) -m pytest -q -n $(or $(JOBS),$(AT_ONCE)) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.built  ## lint and test what you have changed since main, in 90 s (SINCE=HEAD, FILES=, ARGS=--list)
	$(PY) -m tests.check.run $(FILES) $(if $(SINCE),--since $(SINCE)) $(ARGS)

test-gpu: $(VENV)/.built  ## the GPU suite on this machine's GPUs (GPU=simulated: on the simulated driver)
	CYNET_TEST_GPU=$(or $(GPU),device) $(PY) -m pytest -q tests/gpu

stress: $(VENV)/.built  ## the long tests of the engine, custom operators, random shapes, networks in full size
	CYNET_STRESS_ITERATIONS=50000 CYNET_STRESS_SHAPES=10000 CYNET_STRESS_KILLS=300 CYNET_STRESS_LOADERS=200 CYNET_STRESS_REQUESTS=10000 $(PY) -m pytest -q --durations=0 \
		tests/operator/custom/test_custom_stress.py tests/operator/custom/test_custom_gradients.py \
		tests/engine/test_stress.py tests/engine/test_fork.py tests/test_random_shapes.py tests/operator/test_threads.py \
		tests/module/test_kills.py tests/gluon/data/test_kills.py tests/module/test_steady_memory.py tests/examples/test_symbols.py \
		tests/graph/passes/test_fuse_elementwise.py tests/graph/test_random_networks.py tests/onnx/test_backend_suite.py \
		tests/onnx/test_models.py tests/tools/test_convert.py tests/examples/test_train_mnist.py tests/examples/test_topics.py tests/serving/test_v2_clients.py tests/distributed tests/launch
	$(PY) -m tests.fuzz.programs --cases 20000

fuzz: $(VENV)/.built  ## random calls of every operator, wrong ones of all else, damaged files and graphs, hostile requests (CYNET_FUZZ_CASES=100000 each)
	$(PY) -m tests.fuzz.files --cases $(or $(CYNET_FUZZ_CASES),100000)
	$(PY) -m tests.fuzz.calls --cases $(or $(CYNET_FUZZ_CASES),100000)
	$(PY) -m tests.fuzz.graphs --cases $(or $(CYNET_FUZZ_CASES),100000)
	$(PY) -m tests.fuzz.public --cases $(or $(CYNET_FUZZ_CASES),100000)
	$(PY) -m tests.fuzz.requests --cases $(or $(CYNET_FUZZ_CASES),100000)

packages: $(VENV)/.built  ## packages written for MXNet, downloaded and run unmodified: writes docs/packages.md (NAMES=: some of them)
	$(PY) -m tests.packages.run $(NAMES)

array-api: $(VENV)/.built  ## the array API's own suite on mx.np (ARRAY_API_TESTS=a clone of data-apis/array-api-tests, ARGS=--max-examples=100)
	$(PY) tests/numpy/run_array_api.py $(ARGS)

mutants: $(VENV)/.built  ## plant small faults, tell those that no test notices (FILES=, SINCE=revision, SEED=, ARGS=--help)
	$(PY) -m tests.mutants.run $(FILES) $(if $(SINCE),--since $(SINCE)) $(if $(SEED),--seed $(SEED)) $(ARGS)

build:  ## compile in place what has changed, and write the type stubs of operators
	@$(MAKE) -sq $(VENV)/.built && echo "nothing to compile" || $(MAKE) -s $(VENV)/.built
	@$(PY) scripts/make_stubs.py

docs: $(VENV)/.built  ## the site, into build/docs/html; a warning is an error
	$(PY) -c 'import furo, myst_parser, numpydoc, sphinx_copybutton' 2>/dev/null || $(INSTALL) '.[docs]'
	$(PY) -W error::UserWarning:numpydoc.docscrape -m sphinx -W --keep-going -q -b html docs build/docs/html
	@echo "open build/docs/html/index.html"

site: docs  ## read the site in headless Chromium, run its notebooks, drop an image on the served page
	$(PY) -c 'import playwright, nbclient, ipykernel' 2>/dev/null || $(PY) -m pip install -q playwright nbclient ipykernel
	CYNET_SITE=build/docs/html $(PY) -m pytest -q tests/site

lint: export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
lint: $(VENV)/.built  ## ruff (rules and format), cython-lint, clang-format and mypy
	ruff check --no-cache .
	ruff format --no-cache --check .  # `ruff format .` mends what it names
	cython-lint cynet cynet_cuda_cpu examples tests/operator/pyx/simple_ops.pyx
	git ls-files '*.h' '*.c' '*.cc' '*.cpp' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror  # -i mends
	mypy  # the files that pyproject.toml names, strictly

bench: $(VENV)/.built  ## print the table of benchmarks/ (MXNET=python of MXNet 1.x: beside it)
	$(PY) benchmarks/run.py $(if $(MXNET),--mxnet $(MXNET))

bench-peers: $(VENV)/.built  ## beside PyTorch and MXNet 1.9.1: writes benchmarks/README.md (an hour)
	benchmarks/peers/setup.sh build/peers
	env -u CC -u CXX $(PY) benchmarks/peers/run.py --torch build/peers/torch/bin/python \
		--mxnet build/peers/mxnet/bin/python

check-cuda: $(VENV)/.built  ## compile every CUDA kernel with nvcc for sm_80, sm_90, sm_100, if there is one
	$(PY) -m tests.cuda.check_nvcc $(if $(NVCC),--nvcc $(NVCC))

asan: $(VENV)/.built  ## the operator tests and the short fuzz under AddressSanitizer (half an hour)
	tests/asan/run.sh

tsan: $(VENV)/.built  ## stress of kernels' threads, engine and storage under ThreadSanitizer
	tests/tsan/run.sh

wheels:  ## an sdist and a wheel for each Python that is here, into dist/, then try the wheels (PYTHONS="3.11 3.13"; ARCH=aarch64: one for ARM, under an emulator)
ifeq ($(ARCH),aarch64)
	scripts/aarch64.sh wheel
else
	scripts/wheels.sh $(PYTHONS)
	tests/smoke/run.sh dist/*.whl
endif

smoke:  ## install into fresh environments (Python 3.13 + NumPy 2, 3.10 + NumPy 2.1) and try them
	tests/smoke/run.sh

clean:  ## remove .venv and everything built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache
	find cynet cynet_cuda_cpu tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
	find cynet cynet_cuda_cpu -name '*.so' -delete -o -name '*.cpp' -delete
	grep -rl '^# Written by scripts/make_stubs.py' --include='*.pyi' cynet | xargs rm -f
