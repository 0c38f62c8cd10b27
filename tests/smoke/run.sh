#!/usr/bin/env bash
# run.sh [WHEEL ...]: installs cynet into a fresh environment of each supported corner and runs the smoke tests there.
#
# With wheels: each of them, with its own Python and the newest NumPy; without: the checkout, in each corner (a Python
# and a NumPy). SMOKE_BESIDE names packages that are installed, too, and imported first (SMOKE_BESIDE=torch).
# Interpreters are looked for on PATH, under ~/.pyenv and in SMOKE_PYTHONS (a colon-separated list of folders). One that
# is missing is named at the end and the run fails, unless SMOKE_ALLOW_MISSING=1.
set -uo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
corners=("3.13 numpy>=2" "3.10 numpy==2.1.*")
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
source "$root/tests/smoke/pythons.sh"
export PIP_DISABLE_PIP_VERSION_CHECK=1

corners_of() {  # a corner for each wheel
  local name version
  for name in "$@"; do
    version="${name##*-cp3}"  # cynet_mx-0.1.0-cp311-cp311-manylinux...: after the last -cp3
    echo "3.${version%%-*} numpy>=2 $(realpath "$name")"
  done
}
[ $# = 0 ] || mapfile -t corners < <(corners_of "$@")

# A copy is installed: a build in the checkout would leave C++ that another Python's Cython has made.
mkdir "$work/source"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) | tar -x -C "$work/source"

try_corner() {  # install $3 with Python $1 and NumPy $2, then test outside the checkout
  local python="$1" numpy="$2" env="$work/env" beside
  rm -rf "$env" && "$python" -m venv "$env" || return 1
  "$env/bin/python" -m pip install -q "$3" "$numpy" || return 1
  for beside in ${SMOKE_BESIDE:-}; do
    "$env/bin/python" -m pip install -q "$beside" || return 1
    "$env/bin/python" -c "import $beside, cynet as mx; assert mx.nd.ones(3).sum().asscalar() == 3" || return 1
  done
  "$env/bin/python" -m pip install -q pytest pytest-timeout "cython>=3.1" "setuptools>=77" "mypy>=1.11" || return 1
  rm -rf "$work/tests" && cp -r "$root/tests/smoke" "$work/tests"
  cp "$root"/tests/typing/{good,bad,test_typing}.py "$root/tests/pages.py" "$work/tests"
  cp -r "$root/docs/start" "$work/tests"
  (cd "$work" && "$env/bin/python" -m pytest -q -c /dev/null --rootdir "$work" -W error tests) || return 1
  "$env/bin/python" -m pip install -q "cynet-mx[serve,viz]" || return 1  # of the installed one
  (cd "$work" && MPLBACKEND=agg "$env/bin/python" -m pytest -q -c /dev/null --rootdir "$work" -W error tests/test_pages.py)
}

passed=0 failed=0 missing=()
for corner in "${corners[@]}"; do
  read -r version numpy from <<< "$corner"
  python="$(find_python "$version")"
  if [ -z "$python" ]; then
    missing+=("Python $version (for $numpy)")
    continue
  fi
  echo "== $python, $numpy, ${from:-the checkout}"
  if try_corner "$python" "$numpy" "${from:-$work/source}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
for each in "${missing[@]}"; do
  echo "MISSING: $each was not found on this machine; nothing was tried with it" >&2
done
echo "smoke: $passed environments passed, $failed failed, ${#missing[@]} missing"
[ "$failed" = 0 ] && { [ ${#missing[@]} = 0 ] || [ "${SMOKE_ALLOW_MISSING:-}" = 1 ]; }
