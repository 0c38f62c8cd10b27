#!/bin/bash
# setup.sh DIR: gluonnlp 0.10.0 and gluonts 0.5.2 without their dependency on mxnet, for
# test_packages.py (CYNET_PACKAGES=DIR). PYTHON names the Python to use.
#   DIR/nlp     gluonnlp and packaging, for any Python
#   DIR/ts      gluonts
#   DIR/tsenv   an environment with the NumPy and pandas that gluonts can work with
set -e
python=${PYTHON:-python3}
mkdir -p "$1" && cd "$1"
"$python" -m venv tsenv
tsenv/bin/pip install -q 'pip<24.1'   # later ones refuse the metadata of gluonts 0.5.2
tsenv/bin/pip install -q --target nlp --no-deps gluonnlp==0.10.0 packaging
tsenv/bin/pip install -q --target ts --no-deps gluonts==0.5.2
tsenv/bin/pip install -q 'numpy<2' 'pandas<2' 'pydantic<2' ujson tqdm 'holidays<0.15' toolz \
    matplotlib scipy_openblas32 onednn_cpu_gomp==2023.2.0
