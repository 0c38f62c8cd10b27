#!/usr/bin/env bash
# Makes environments with PyTorch and MXNet 1.9.1 under the folder given: setup.sh DIR
# MXNet 1.9.1 needs NumPy 1.23 and so Python 3.10 or 3.11; PYTHON names one.
set -euo pipefail
folder=${1:?"usage: setup.sh DIR"}
python=${PYTHON:-}
for each in python3.11 python3.10; do
    [ -n "$python" ] || { command -v "$each" >/dev/null && python=$each; } || true
done
[ -n "$python" ] || { echo "setup.sh: needs Python 3.10 or 3.11 (PYTHON=...)" >&2; exit 1; }

environment() { # name, then what pip installs
    local home=$folder/$1
    shift
    [ -x "$home/bin/python" ] || "$python" -m venv "$home"
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

environment torch 'torch==2.13.0' numpy
environment mxnet 'mxnet==1.9.1' 'numpy==1.23.5'
"$folder/torch/bin/python" -c 'import torch; print("PyTorch", torch.__version__)'
"$folder/mxnet/bin/python" -W ignore -c 'import mxnet; print("MXNet", mxnet.__version__)'
