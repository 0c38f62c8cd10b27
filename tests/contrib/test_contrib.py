"""mx.contrib: the operators under their first names, and what is not there said by name."""

import subprocess
import sys

import cynet as mx


def test_operators():
    assert mx.contrib.nd is mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.sym is mx.contrib.symbol is mx.sym.contrib
    assert mx.contrib.amp.amp._amp_initialized is False


def test_as_packages_import_it():
    code = (
        "import cynet; cynet.install_as_mxnet()\n"
        "from mxnet.contrib.amp import amp\n"
        "from mxnet.gluon.data.dataloader import ForkingPickler, _as_in_context\n"
        "import mxnet.contrib.ndarray as nd\n"
        "from mxnet.contrib.quantization import quantize_model\n"
        "print(callable(nd.arange_like), amp._amp_initialized, callable(quantize_model))\n"
        "try: import mxnet.notebook\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "True False True", done.stderr
    missing = "mx.notebook is a name of MXNet 1.9.1 that cynet does not provide"
    assert missing in lines[1]
