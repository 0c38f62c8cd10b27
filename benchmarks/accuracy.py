"""How near float32 comes to the truth, here and in MXNet 1.9.1: outputs, gradients, corners.

``python benchmarks/accuracy.py --mxnet PYTHON [--size 224] [--batch 2] [--weights he] [NAME ...]``
runs networks of examples/image_classification/symbols on the same weights and data in float64 and
float32 with both packages. The truth is MXNet's float64 (its LRN takes float32 only, so LRN is
written out there). A ReLU or a maximum pooling whose inputs are nearly tied may choose otherwise in
float32; the gradient then differs by a whole element however small the rounding was. So
gradients are compared a second time with every choice given: the masks of ReLU and the places of
maxima are the truth's, arrays that the network takes as inputs.

Printed for each network: outputs and gradients as |a - b| / |b|, largest magnitude over largest
magnitude (max) and norm over norm (L2), of the worst parameter and of the median one; how many
parameters are nearer to the truth here than in MXNet (by L2); how many choices differ from the
truth's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CLASSES = 10
MOST = 1 << 20  # elements of a gradient that are compared: a larger one's lie evenly in it
NETWORKS = {  # name: file, options
    "AlexNet": ("alexnet", {}),
    "VGG-16": ("vgg", {"num_layers": 16}),
    "GoogLeNet": ("googlenet", {}),
    "Inception-BN": ("inception_bn", {}),
    "ResNet-50": ("resnet", {"num_layers": 50}),
    "ResNet-50, version 1": ("resnet", {"num_layers": 50, "version": 1}),
}


def draw(weights, name, shape, classes=CLASSES):
    """A parameter, a state or an input in float32, from its name."""
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    if name == "softmax_label":
        return rng.randint(0, classes, shape).astype("f")
    normal = rng.standard_normal(shape)
    fan_in = np.prod(shape[1:])
    if name == "data":
        value = normal
    elif name.endswith(("gamma", "var")):
        value = rng.uniform(0.5, 1.5, shape) if weights == "trained" else np.ones(shape)
    elif name.endswith(("beta", "mean", "bias")):
        value = 0.1 * normal if weights == "trained" else np.zeros(shape)
    elif weights == "normal":
        value = 0.01 * normal
    elif weights == "he":
        value = np.sqrt(2 / fan_in) * normal
    elif weights == "xavier":
        fan_out = shape[0] * np.prod(shape[2:])
        value = np.sqrt(6 / (fan_in + fan_out)) * rng.uniform(-1, 1, shape)
    else:  # trained: heavy tails, filters of different size
        scale = np.exp(0.3 * rng.standard_normal((shape[0], *[1] * (len(shape) - 1))))
        value = np.sqrt(0.6 * 2 / fan_in) * scale * rng.standard_t(5, shape)
    return value.astype("f")


def rebuild(mx, symbol, given=False, exact=False):
    """The same network, with the choices of ReLU and of maximum pooling `given` as inputs, or with
    LRN written out (`exact`); and the names of those choices' nodes."""
    nodes = json.loads(symbol.tojson())
    made, choices = [], []
    for node in nodes["nodes"]:
        attrs, name = node.get("attrs", {}), node["name"]
        inputs = [made[i][j] for i, j, *_ in node["inputs"]]
        if node["op"] == "null":
            out = mx.sym.var(name)
        elif node["op"] == "Activation" and attrs["act_type"] == "relu":
            choices.append(name)
            out = inputs[0] * mx.sym.var(name + "_mask") if given else None
        elif node["op"] == "Pooling" and attrs["pool_type"] == "max":
            choices.append(name)
            flat = mx.sym.reshape(inputs[0], shape=(-1,))
            out = mx.sym.take(flat, mx.sym.var(name + "_place")) if given else None
        elif node["op"] == "LRN" and exact:
            alpha, beta, knorm = (float(attrs.get(k)) for k in ("alpha", "beta", "knorm"))
            half = int(attrs["nsize"]) // 2
            # as many channels of zeros on both sides, then windows of them added up
            square = mx.sym.transpose(mx.sym.square(inputs[0]), axes=(0, 2, 1, 3))
            square = mx.sym.pad(
                square, mode="constant", pad_width=(0, 0, 0, 0, half, half, 0, 0), constant_value=0
            )
            total = 0
            for k in range(2 * half + 1):
                last = k - 2 * half or None
                total = total + mx.sym.slice_axis(square, axis=2, begin=k, end=last)
            total = mx.sym.transpose(total, axes=(0, 2, 1, 3))
            out = inputs[0] * (knorm + alpha / (2 * half + 1) * total) ** -beta
        else:
            out = None
        if out is None:
            if node["op"] == "Dropout":
                attrs = {**attrs, "p": "0.0"}
            home = mx.sym._internal if node["op"].startswith("_") else mx.sym
            out = getattr(home, node["op"])(*inputs, name=name, **attrs)
        made.append(out)
    i, j, *_ = nodes["heads"][0]
    return made[i][j], choices


def network(mx, job, given=False):
    """The Symbol of a job, and the names of its choices."""
    sys.path.insert(0, str(ROOT / "examples" / "image_classification"))
    sys.modules["cynet"] = mx  # the files import cynet
    module = __import__(f"symbols.{job['file']}", fromlist=["get_symbol"])
    shape = (3, job["size"], job["size"])
    symbol = module.get_symbol(num_classes=CLASSES, image_shape=shape, **job["options"])
    exact = mx.__name__ == "mxnet" and job["dtype"] == "float64"
    return rebuild(mx, symbol, given, exact)


def bind(mx, symbol, job, req, masks=None):
    """An executor with the parameters drawn."""
    masks = masks or {}
    types = dict.fromkeys(symbol.list_arguments(), job["dtype"])
    types.update((k, "int32") for k in masks if k.endswith("_place"))
    shapes = {k: v.shape for k, v in masks.items()}
    shapes["data"] = (job["batch"], 3, job["size"], job["size"])
    reqs = {k: "null" if k in masks else req for k in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.cpu(), reqs, types, **shapes)
    for key, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        if key in masks:
            array[:] = mx.nd.array(masks[key], dtype=types[key])
        else:
            array[:] = mx.nd.array(draw(job["weights"], key, array.shape), dtype=job["dtype"])
    return executor


def places(x, shape, attrs):
    """For each window of a maximum pooling with an output of `shape`: where in all of x its largest
    element lies."""
    kernel, stride, pad = (
        json.loads(attrs.get(k, d).replace("(", "[").replace(")", "]"))
        for k, d in (("kernel", ""), ("stride", "[1, 1]"), ("pad", "[0, 0]"))
    )
    sizes = zip(shape[2:], stride, kernel, pad, x.shape[2:])
    wide = [(n - 1) * s + k - p - m for n, s, k, p, m in sizes]
    wide = [(0, 0), (0, 0), *((p, max(w, 0)) for p, w in zip(pad, wide))]
    padded = np.pad(x, wide, constant_values=-np.inf)
    where = np.pad(np.arange(x.size, dtype="i").reshape(x.shape), wide)
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1]][:, :, : shape[2], : shape[3]]
    best = windows.reshape(*shape, -1).argmax(-1)[..., None]
    indices = np.lib.stride_tricks.sliding_window_view(where, kernel, (2, 3))
    indices = indices[:, :, :: stride[0], :: stride[1]][:, :, : shape[2], : shape[3]]
    return np.take_along_axis(indices.reshape(*shape, -1), best, -1)[..., 0]


def choices_of(mx, symbol, names, bound):
    """The masks of ReLU and the places of maxima that this package and dtype choose, of nodes with
    these names in `symbol`; ``bound(symbol)`` gives an executor."""
    nodes = {node["name"]: node for node in json.loads(symbol.tojson())["nodes"]}
    internals, found = symbol.get_internals(), {}
    everything = internals.list_outputs()
    all_nodes = json.loads(symbol.tojson())["nodes"]
    outputs = []
    for name in names:
        outputs.append(internals[name + "_output"])
        i, *_ = nodes[name]["inputs"][0]
        source = all_nodes[i]["name"]
        source = source + "_output" if source + "_output" in everything else source
        outputs.append(internals[source])
    values = bound(mx.sym.Group(outputs)).forward(is_train=True)
    for i, name in enumerate(names):
        if nodes[name]["op"] == "Activation":
            found[name + "_mask"] = values[2 * i].asnumpy() > 0
        else:
            x, shape = values[2 * i + 1].asnumpy(), values[2 * i].shape
            found[name + "_place"] = places(x, shape, nodes[name]["attrs"])
    return found


def work(job, path):
    """What one process does: run one job with one package, and write what came out."""
    mx = __import__(job["package"])
    found = {}
    if job["what"] == "choices":
        symbol, names = network(mx, job)
        found = choices_of(mx, symbol, names, lambda symbol: bind(mx, symbol, job, "null"))
    else:
        masks = dict(np.load(job["masks"])) if job["masks"] else None
        executor = bind(mx, network(mx, job, masks is not None)[0], job, "write", masks)
        found["out/"] = executor.forward(is_train=True)[0].asnumpy()
        executor.backward()
        for name, grad in executor.grad_dict.items():
            if grad is not None and name != "softmax_label" and name not in (masks or ()):
                flat = grad.asnumpy().ravel()
                found[f"grad/{name}"] = flat[:: -(-flat.size // MOST)]
    np.savez(path, **found)


def run(python, job, path):
    """Let a process do a job."""
    command = [python, __file__, "--job", json.dumps(job), "--path", str(path)]
    environment = {**os.environ, "MXNET_SUBGRAPH_BACKEND": "NONE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{job} failed: {done.stderr}")
    return dict(np.load(path)) if job["what"] != "choices" else path


def distances(found, truth):
    """By parameter: largest difference over largest magnitude, norm of it over norm.

    A gradient that is zero but for rounding, as a bias's in front of a BatchNorm, or a scale's in
    front of another one, is measured in units of a hundredth of the largest of its layer.
    """
    size = {}
    for key, want in truth.items():
        size[key] = np.array([np.abs(want).max(), np.linalg.norm(want)])
    result = {}
    for key, want in truth.items():
        layer = key.rpartition("_")[0]
        others = [0.01 * size[k] for k in size if k.rpartition("_")[0] == layer]
        unit = np.max([size[key], *others], axis=0)
        difference = found[key].astype("d") - want
        result[key] = np.array([np.abs(difference).max(), np.linalg.norm(difference)]) / unit
    return result


def study(name, args, folder):
    """One network: print its table."""
    file, options = NETWORKS[name]
    base = {"file": file, "options": options, "size": args.size, "batch": args.batch}
    base.update(weights=args.weights, masks="", what="gradients")
    python = {"mxnet": args.mxnet, "cynet": sys.executable}

    def do(package, dtype, what="gradients", masks=""):
        job = {**base, "package": package, "dtype": dtype, "what": what, "masks": str(masks)}
        return run(python[package], job, folder / f"{package}_{dtype}_{what}_{bool(masks)}.npz")

    masks = do("mxnet", "float64", "choices")
    truth = do("mxnet", "float64")
    rows = {
        "cynet64 - truth": do("cynet", "float64"),
        "cynet32 - truth": do("cynet", "float32"),
        "MXNet32 - truth": do("mxnet", "float32"),
    }
    rows["cynet32 - MXNet32"] = rows["cynet32 - truth"]
    rows["cynet32 - truth, choices given"] = do("cynet", "float32", masks=masks)
    rows["MXNet32 - truth, choices given"] = do("mxnet", "float32", masks=masks)
    rows["cynet32 - MXNet32, choices given"] = rows["cynet32 - truth, choices given"]
    print(f"\n{name}, {args.batch} x 3 x {args.size} x {args.size}, weights {args.weights}")
    print(f"{'':36}{'output':>9}{'worst max':>11}{'worst L2':>10}{'median L2':>11}  worst by L2")
    by_row = {}
    for label, found in rows.items():
        to = truth
        if "- MXNet32" in label:
            to = rows[label.replace("cynet32 - MXNet32", "MXNet32 - truth")]
        by_row[label] = errors = distances(found, to)
        output = errors.pop("out/")[0]
        worst = max(errors, key=lambda key: errors[key][1])
        both = np.array(list(errors.values()))
        print(
            f"{label:36}{output:9.1e}{both[:, 0].max():11.1e}{both[:, 1].max():10.1e}"
            f"{np.median(both[:, 1]):11.1e}  {worst[5:]}"
        )
    for tail in ("", ", choices given"):
        ours, theirs = by_row["cynet32 - truth" + tail], by_row["MXNet32 - truth" + tail]
        ratio = np.array([ours[key][1] / max(theirs[key][1], 1e-12) for key in ours])
        print(
            f"nearer to the truth than MXNet{tail}: {(ratio < 1).sum()} of {len(ratio)} parameters;"
            f" error over MXNet's: median {np.median(ratio):.2f}, most {ratio.max():.2f}"
            f" ({list(ours)[ratio.argmax()][5:]})"
        )
        if args.verbose:
            for key in ours:
                print(f"  {key[5:]:40}{ours[key][1]:10.1e}{theirs[key][1]:10.1e}")
    exact = np.load(masks)
    for package in ("cynet", "mxnet"):
        chosen = np.load(do(package, "float32", "choices"))
        relu = [(chosen[k] != exact[k]).sum() for k in exact.files if k.endswith("_mask")]
        pool = [(chosen[k] != exact[k]).sum() for k in exact.files if k.endswith("_place")]
        total = sum(exact[k].size for k in exact.files if k.endswith("_mask"))
        print(f"choices that differ, {package}: {sum(relu)} ReLU of {total}, {sum(pool)} maxima")
    sys.stdout.flush()


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--mxnet", help="Python of an environment with MXNet 1.9.1")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--weights", default="he", choices=["he", "xavier", "normal", "trained"])
    parser.add_argument("--verbose", action="store_true", help="every parameter's distances")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        work(json.loads(args.job), args.path)
        return
    for name in args.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            study(name, args, Path(folder))


if __name__ == "__main__":
    main()
