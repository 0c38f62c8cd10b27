#!/bin/bash
# run.sh: stress tests of team, engine and storage under ThreadSanitizer; 0 when there is no report.
# PYTHON names an interpreter that has cython, numpy, setuptools and pytest (default: .venv's).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
[ -x "$(command -v "$python")" ] || python=python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Floors 0 and 1 and the resources alone: what is above them only calls them.
mkdir -p "$work/cynet" "$work/tests"
cd "$root"
cp setup.py pyproject.toml "$work"
cp cynet/{_typedefs.pxd,context.py} cynet/{_engine,_storage,_resource}.p[yx][xd] "$work/cynet"
for folder in base engine storage; do
    mkdir "$work/cynet/$folder"
    cp cynet/$folder/*.{py,pyx,pxd,h} "$work/cynet/$folder" 2>/dev/null || true  # not all have all
done
cp tests/{conftest,reporting,seconds,long_runs}.py tests/engine/test_{engine,stress}.py \
    tests/storage/test_storage.py "$work/tests"
cat > "$work/cynet/__init__.py" <<'PY'
"""The lower floors of cynet, under ThreadSanitizer."""
from . import base, engine, storage
from .base import config, errors
from .context import Context, cpu, gpu
PY
cd "$work"
CYNET_BUILD_SANITIZER=thread "$python" setup.py -q build_ext --inplace > build.log 2>&1 ||
    { cat build.log; exit 1; }

library=$(${CXX:-g++} -print-file-name=libtsan.so)
options="log_path=$work/report history_size=5"
options="$options suppressions=$root/tests/tsan/suppressions.txt"
status=0
${CXX:-g++} -std=c++17 -O1 -g -fsanitize=thread -pthread \
    -I"$root/cynet/kernels" "$root/tests/tsan/team.cpp" -o team
for arguments in "2 3 300" "4 4 100"; do
    TSAN_OPTIONS="$options" setarch -R ./team $arguments || status=$?
done
run() {  # without address randomisation, which old versions of the library cannot take
    LD_PRELOAD=$library PYTHONPATH=$work OPENBLAS_NUM_THREADS=1 TSAN_OPTIONS="$options" \
        setarch -R "$python" -m pytest -q -p no:cacheprovider --timeout=600 "$@" || status=$?
}
run tests/test_stress.py
# Left out: tests that start other processes.
run tests/test_engine.py \
    -k "not environment and not interpreter and not importing and not ctrl_c and not engine_type"
run tests/test_storage.py -k "native_threads or python_threads"
reports=$(cat report.* 2>/dev/null | grep -c 'WARNING: ThreadSanitizer' || true)
[ "$reports" = 0 ] || cat report.*
echo "ThreadSanitizer: $reports report(s), status $status"
[ "$reports" = 0 ] && [ "$status" = 0 ]
