#!/usr/bin/env bash
# aarch64.sh wheel | test [TEST ...]: cynet for Linux on 64-bit ARM, compiled on x86-64 and run by an emulator.
#
# Everything lies in build/aarch64: Debian's arm64 Python and libraries, unpacked and not installed (root); packages from
# the index (site); what the build needs on this side (host); a copy of the checkout, compiled (source); and the emulated
# interpreter (python), which any command can use. `wheel` puts a wheel into dist/; `test` runs pytest on the copy. Needs Debian or a system derived from it, apt-get
# and, where the cross compiler and qemu are missing, root.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$root/build/aarch64"
version=3.11 # of Debian 12's Python
base="${PYTHON:-python3}"
here="$work/host/bin/python"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$base" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$version'.split('.'))))" ||
    { echo "aarch64: $base must be a Python $version, as the one that is emulated; PYTHON=... names it" >&2; exit 1; }
mkdir -p "$work"

host() { # an environment with what pyproject.toml asks for to build
    [ -e "$work/host/complete" ] && return
    "$base" -m venv --clear "$work/host"
    "$here" -c "import tomllib; print(*tomllib.load(open('$root/pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
        > "$work/requires.txt"
    "$here" -m pip install -q -r "$work/requires.txt"
    touch "$work/host/complete"
}

tools() { # the cross compiler and the emulator
    command -v aarch64-linux-gnu-g++ qemu-aarch64-static > /dev/null && return
    apt-get update -qq < /dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq g++-aarch64-linux-gnu qemu-user-static < /dev/null
}

libraries() { # Python of arm64, without changing what this system has installed
    [ -e "$work/root/usr/bin/python$version" ] && return
    mkdir -p "$work"/apt/{state/lists/partial,cache/archives/partial} "$work/debs"
    touch "$work/apt/status"
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$work/apt/state"
        -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$work/debs" && "${apt[@]}" download "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib" \
        "libpython$version-dev" libc6 libgcc-s1 libstdc++6 libgomp1 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 \
        libsqlite3-0 libreadline8 libtinfo6 libncursesw6 libuuid1 libcrypt1)
    mkdir -p "$work/unpacked"
    for package in "$work"/debs/*.deb; do dpkg -x "$package" "$work/unpacked"; done
    mv "$work/unpacked" "$work/root"
}

packages() { # into a folder: what pip has for arm64
    local folder="$1"
    shift
    "$here" -m pip install -q --target "$folder" --python-version "$version" --only-binary=:all: \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
        --platform linux_aarch64 "$@"
}

interpreter() { # python: it starts itself under the emulator, so that sys.executable can be started, also as that of a venv
    [ -d "$work/site" ] || packages "$work/site" "numpy>=2" "scipy-openblas32>=0.3.27" "tqdm>=4.60" pytest pytest-timeout \
        pip waitress "scipy>=1.11" "cython>=3.1" "setuptools>=77" "opencv-python-headless>=4.8" "safetensors>=0.4"
    cat > "$work/python" <<END
#!/bin/sh
export PYTHONPATH="\${PYTHONPATH:+\$PYTHONPATH:}$work/site"
export CXX=aarch64-linux-gnu-g++ # for what tests compile and load; what setup.py compiles has its own settings
export CPATH="$work/root/usr/include/python$version:$work/root/usr/include" # for operators that a script compiles
exec qemu-aarch64-static -0 "\$0" -L "$work/root" "$work/root/usr/bin/python$version" "\$@"
END
    chmod +x "$work/python"
}

cross() { # a command of setup.py, for arm64
    mkdir -p "$work/target"
    cp "$work/root/usr/lib/python$version/_sysconfigdata__aarch64-linux-gnu.py" "$work/target/"
    printf '[build_ext]\ninclude_dirs = %s:%s\n' "$work/root/usr/include/python$version" "$work/root/usr/include" > "$work/target/setup.cfg"
    local cache=""
    command -v ccache > /dev/null && cache="ccache "
    (cd "$work/source" &&
        CC="${cache}aarch64-linux-gnu-gcc" CXX="${cache}aarch64-linux-gnu-g++" CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1 \
            CYNET_BUILD_PYTHON="$work/python" DIST_EXTRA_CONFIG="$work/target/setup.cfg" PYTHONPATH="$work/target" \
            _PYTHON_HOST_PLATFORM=linux-aarch64 _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu \
            nice -n 10 "$here" setup.py -q "$@")
}

build() { # the copy of the checkout, with its modules; what did not change is not compiled again
    mkdir -p "$work/source"
    (cd "$root" && git ls-files -z --cached --others --exclude-standard > "$work/known.txt" &&
        "$here" -c "import os, sys; print(*(f for f in sys.stdin.read().split('\0') if os.path.exists(f)), sep='\0', end='')" \
            < "$work/known.txt" > "$work/files.txt" && tar -c --null -T "$work/files.txt") | tar -x -C "$work/source"
    cross build_ext --inplace --build-temp "$work/objects"
}

wheel() {
    find "$work/source/build" -name '*testing*.so' -delete # modules that only tests import are in no wheel
    cross bdist_wheel --dist-dir "$work/dist"
    mkdir -p "$root/dist"
    cp "$work"/dist/*.whl "$root/dist/"
    ls "$root"/dist/*aarch64.whl
}

smoke() { # the wheel in an environment of its own, beside nothing of the checkout
    rm -rf "$work/env" "$work/smoke"
    "$work/python" -m venv --without-pip "$work/env"
    "$work/env/bin/python" -m pip install -q --no-index --no-deps "$work"/dist/*.whl
    cp -r "$root/tests/smoke" "$work/smoke"
    cp -r "$root/tests/pages.py" "$root/docs/start" "$work/smoke/"
    (cd "$work/smoke" && "$work/env/bin/python" -m pytest -q -c /dev/null --rootdir "$work/smoke" -p no:cacheprovider .)
}

tools
host
libraries
interpreter
build
case "${1:-}" in
    wheel) wheel && smoke ;;
    # programs that tests start import the copy, too
    test) shift; (cd "$work/source" && PYTHONPATH="$work/source" "$work/python" -m pytest -q -p no:cacheprovider --timeout 1800 "$@") ;;
    *) echo "aarch64: wheel, or test with names of tests" >&2; exit 1 ;;
esac
