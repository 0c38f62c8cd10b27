"""Memory of bound executors, batch 32, 224x224: cynet's plan beside MXNet's. Nothing is allocated.

``python benchmarks/memory.py`` prints the table; ``--mxnet PYTHON`` asks that Python's MXNet anew
(it allocates some GB). Figures are MB of 2**20 bytes, without arguments, gradients and outputs,
which have arrays of their own in both, and without the temporary space that a thread lends to one
operator after another (columns of a convolution, for example). "Kept" are weights that a prediction
plan keeps in other forms (scaled by BatchNorm, packed) beside its temporaries.
"""

import argparse
import importlib
import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "image_classification"
DATA = (32, 3, 224, 224)
NETWORKS = {  # name: file of symbols/, options
    "AlexNet": ("alexnet", {}),
    "VGG-16": ("vgg", {"num_layers": 16}),
    "GoogLeNet": ("googlenet", {}),
    "Inception-BN": ("inception_bn", {}),
    "ResNet-50": ("resnet", {"num_layers": 50, "image_shape": DATA[1:]}),
}
MODES = {"training": "write", "prediction": "null"}
MXNET = {  # MB without and with planning, as MXNet 1.9.1's debug_str says (subgraphs off)
    ("AlexNet", "training"): (368, 247),
    ("AlexNet", "prediction"): (212, 104),
    ("VGG-16", "training"): (4057, 2427),
    ("VGG-16", "prediction"): (2029, 910),
    ("GoogLeNet", "training"): (1818, 933),
    ("GoogLeNet", "prediction"): (809, 199),
    ("Inception-BN", "training"): (2897, 1398),
    ("Inception-BN", "prediction"): (1246, 244),
    ("ResNet-50", "training"): (5292, 2640),
    ("ResNet-50", "prediction"): (2640, 300),
}


def network(mx, name):
    """The Symbol of `name` with 1,000 classes, built with `mx`."""
    file, options = NETWORKS[name]
    before = sys.modules.get("cynet")
    sys.modules["cynet"] = mx  # the files import cynet
    sys.path.insert(0, str(EXAMPLE))
    try:
        return importlib.import_module(f"symbols.{file}").get_symbol(1000, **options)
    finally:
        sys.path.remove(str(EXAMPLE))
        if before is not None:
            sys.modules["cynet"] = before


def cynet_memory(name, mode):
    """The MemoryReport of one network of the table."""
    import cynet as mx
    from cynet.graph.compile import memory_of

    return memory_of(network(mx, name), mx.cpu(), MODES[mode], data=DATA)


def mxnet_memory(name, mode):
    """MB that MXNet's plan takes; run in a Python that has it."""
    import mxnet as mx

    executor = network(mx, name).simple_bind(mx.cpu(), grad_req=MODES[mode], data=DATA)
    lines = executor.debug_str().splitlines()
    return next(int(line.split()[1]) for line in lines if line.endswith("MB allocated"))


def ask(python, name, mode):
    """(without, with planning) from the MXNet of another Python."""
    found = []
    for switch in ("0", "1"):
        env = {
            **os.environ,
            "MXNET_SUBGRAPH_BACKEND": "NONE",
            "NNVM_EXEC_ENABLE_INPLACE": switch,
            "NNVM_EXEC_MATCH_RANGE": "16" if switch == "1" else "0",
        }
        command = [python, "-W", "ignore", __file__, "--one", name, mode]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        found.append(int(done.stdout.splitlines()[-1]))
    return tuple(found)


def table(mxnet):
    """Lines of the table; `mxnet` is a dict like `MXNET`."""
    head = ("cynet, without", "with planning", "least possible", "kept", "MXNet, without", "with")
    yield f"| network | | {' | '.join(head)} |"
    yield "|---|---|---|---|---|---|---|---|"
    for (name, mode), (without, planned) in mxnet.items():
        report = cynet_memory(name, mode)
        figures = (report.unplanned, report.planned, report.live, report.cached)
        ours = " | ".join(str(round(n / 2**20)) for n in figures)
        yield f"| {name} | {mode} | {ours} | {without} | {planned} |"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", metavar="PYTHON", help="measure MXNet anew with this Python")
    parser.add_argument("--one", nargs=2, metavar=("NETWORK", "MODE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(mxnet_memory(*args.one))
        return
    mxnet = {row: ask(args.mxnet, *row) for row in MXNET} if args.mxnet else MXNET
    for line in table(mxnet):
        print(line, flush=True)


if __name__ == "__main__":
    main()
