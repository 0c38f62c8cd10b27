#!/usr/bin/env bash
# Installs cynet into a fresh environment of each supported corner and runs the smoke tests there.
#
# A corner is a Python and a NumPy. Interpreters are looked for on PATH, under ~/.pyenv and in SMOKE_PYTHONS
# (a colon-separated list of folders). One that is missing is named at the end and the run fails, unless
# SMOKE_ALLOW_MISSING=1.
set -uo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
corners=("3.13 numpy>=2" "3.10 numpy==1.26.*")
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

# A copy is installed: a build in the checkout would leave C++ that another Python's Cython has made.
mkdir "$work/source"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T -) | tar -x -C "$work/source"

find_python() {  # the path of Python $1, or nothing
  local IFS=: folder
  for folder in $PATH ${SMOKE_PYTHONS:-} "$HOME"/.pyenv/versions/"$1"*/bin; do
    if "$folder/python$1" -c 'import ensurepip, venv' 2>/dev/null; then  # a pyenv shim may not run
      echo "$folder/python$1"
      return
    fi
  done
}

try_corner() {  # install with Python $1 and NumPy $2, then test outside the checkout
  local python="$1" numpy="$2" env="$work/env"
  rm -rf "$env" && "$python" -m venv "$env" || return 1
  "$env/bin/python" -m pip install -q "$work/source" "$numpy" || return 1
  "$env/bin/python" -m pip install -q pytest pytest-timeout "cython>=3.1" "setuptools>=77" "mypy>=1.11" || return 1
  rm -rf "$work/tests" && cp -r "$root/tests/smoke" "$work/tests"
  cp "$root"/tests/typing/{good,bad,test_typing}.py "$work/tests"
  (cd "$work" && "$env/bin/python" -m pytest -q -c /dev/null --rootdir "$work" -W error tests)
}

passed=0 failed=0 missing=()
for corner in "${corners[@]}"; do
  version="${corner%% *}" numpy="${corner#* }"
  python="$(find_python "$version")"
  if [ -z "$python" ]; then
    missing+=("Python $version (for $numpy)")
    continue
  fi
  echo "== $python, $numpy"
  if try_corner "$python" "$numpy"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
for each in "${missing[@]}"; do
  echo "MISSING: $each was not found on this machine; nothing was tried with it" >&2
done
echo "smoke: $passed environments passed, $failed failed, ${#missing[@]} missing"
[ "$failed" = 0 ] && { [ ${#missing[@]} = 0 ] || [ "${SMOKE_ALLOW_MISSING:-}" = 1 ]; }
