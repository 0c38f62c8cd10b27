#!/bin/bash
# run.sh [COMMAND ...]: the package under AddressSanitizer; without a command the operator tests and
# the short fuzz run; 0 when all pass without a report.
# The instrumented build stays in build/asan, so that only what has changed is compiled again.
# PYTHON names an interpreter that has what .venv has (default: .venv's).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
library=$(${CXX:-g++} -print-file-name=libasan.so)
[ -e "$library" ] || { echo "no libasan.so beside ${CXX:-g++}: AddressSanitizer cannot run"; exit 1; }
work=$root/build/asan
mkdir -p "$work"
cd "$root"
tar -c --exclude='*.so' --exclude='*.cpp' --exclude=__pycache__ setup.py pyproject.toml README.md \
    LICENSE cynet cynet_cuda_cpu tests | tar -x -C "$work"
cd "$work"
CYNET_BUILD_SANITIZER=address "$python" setup.py -q build_ext --inplace > build.log 2>&1 ||
    { tail -50 build.log; exit 1; }

# Leaks are Python's: it keeps what it has until it ends. Freed memory waits in no pool.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:handle_segv=0:max_allocation_size_mb=3000"
# With the C++ library, since exceptions that are thrown must find its functions.
export LD_PRELOAD="$library $(${CXX:-g++} -print-file-name=libstdc++.so.6)" PYTHONPATH=$work PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1
if [ $# -gt 0 ]; then
    exec "$@"
fi
# Left out: operators that are compiled while the tests run.
"$python" -m pytest -q -p no:cacheprovider --timeout=900 tests/operator tests/fuzz tests/test_runtime.py \
    --ignore=tests/operator/cuda --ignore=tests/operator/custom
