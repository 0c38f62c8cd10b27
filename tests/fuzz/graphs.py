"""Damaged graphs, bound and run: layers, detection, and loops and branches that hold graphs.

    python -m tests.fuzz.graphs --cases 100000 --seed 7

A case changes the JSON of a graph that is right, or the arrays it is bound to; then it is loaded,
inferred, bound, run forward and backward. It is right when that gives a result or an error of
cynet; a crash, a hang, any other exception is a fault; ``--show N`` repeats a case in this process.
"""

import copy
import json
import sys
from pathlib import Path

import numpy as np

from tests.fuzz.files import changed
from tests.fuzz.worker import Fault, command_line

PROGRAMS = Path(__file__).parents[1] / "fixtures/control_flow/programs.npz"
LOCATIONS = (
    "in_data_locs",
    "in_state_locs",
    "remain_locs",
    "cond_input_locs",
    "func_input_locs",
    "func_var_locs",
    "then_input_locs",
    "else_input_locs",
)
COUNTS = ("num_args", "num_outputs", "num_out_data", "max_iterations")
NUMBERS = (-(2**63), -2, -1, 0, 1, 2, 3, 5, 17, 2**31, 2**40, 2**62, 2**63 - 1, 10**30)
DEEPEST = 6  # of subgraphs that are put into one another


def _layers(mx):
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, pad=(1, 1), name="c")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="relu"), name="b", fix_gamma=False)
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.GroupNorm(net, num_groups=2, name="g") + mx.sym.contrib.AdaptiveAvgPooling2D(
        net, output_size=(1, 1)
    ).broadcast_like(net)
    net = mx.sym.FullyConnected(mx.sym.Dropout(net), num_hidden=6, name="f")
    parts = mx.sym.SliceChannel(net, num_outputs=2, name="s")
    net = mx.sym.Concat(parts[0], mx.sym.softmax(parts[1]), dim=1)
    return mx.sym.SoftmaxOutput(net, name="softmax"), {"data": (2, 3, 8, 8)}


def _detector(mx):
    features = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=8, name="c"
    )
    anchors = mx.sym.contrib.MultiBoxPrior(features, sizes=(0.4, 0.8), ratios=(1, 2))
    shift = mx.sym.flatten(mx.sym.Convolution(features, kernel=(1, 1), num_filter=12, name="l"))
    classes = mx.sym.Convolution(features, kernel=(1, 1), num_filter=9, name="k")
    classes = mx.sym.reshape(mx.sym.transpose(classes, axes=(0, 2, 3, 1)), shape=(0, -1, 3))
    classes = mx.sym.transpose(classes, axes=(0, 2, 1))
    target = mx.sym.contrib.MultiBoxTarget(
        anchors, mx.sym.Variable("label"), classes, overlap_threshold=0.5
    )
    found = mx.sym.contrib.MultiBoxDetection(
        mx.sym.SoftmaxActivation(classes, mode="channel"), shift, anchors, nms_threshold=0.5
    )
    return mx.sym.Group([*target, found]), {"data": (2, 3, 4, 4), "label": (2, 3, 5)}


def _regions(mx):
    data, rois = mx.sym.Variable("data"), mx.sym.Variable("rois")
    pooled = mx.sym.ROIPooling(data, rois, pooled_size=(2, 2), spatial_scale=0.5)
    aligned = mx.sym.contrib.ROIAlign(data, rois, pooled_size=(2, 2), spatial_scale=0.5)
    offset = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=18, name="o")
    bent = mx.sym.contrib.DeformableConvolution(
        data, offset, kernel=(3, 3), pad=(1, 1), num_filter=2, name="d"
    )
    grid = mx.sym.GridGenerator(
        mx.sym.Variable("affine"), transform_type="affine", target_shape=(3, 3)
    )
    turned = mx.sym.BilinearSampler(bent, grid)
    heads = [mx.sym.flatten(each) for each in (pooled, aligned, turned)]
    return mx.sym.Group(heads), {"data": (2, 2, 6, 6), "rois": (3, 5), "affine": (2, 6)}


def _sequence(mx):
    data = mx.sym.Variable("data")
    net = mx.sym.RNN(data, state_size=4, num_layers=2, mode="lstm", name="r", p=0.2)
    heads = mx.sym.contrib.interleaved_matmul_selfatt_qk(mx.sym.Variable("qkv"), heads=2)
    seen = mx.sym.contrib.interleaved_matmul_selfatt_valatt(
        mx.sym.Variable("qkv2"), mx.sym.softmax(heads), heads=2
    )
    loss = mx.sym.CTCLoss(net, mx.sym.Variable("label"))
    shapes = {"data": (5, 2, 3), "qkv": (5, 2, 12), "qkv2": (5, 2, 12), "label": (2, 2)}
    return mx.sym.Group([loss, seen]), shapes


def _algebra(mx):
    a = mx.sym.Variable("a")
    square = mx.sym.broadcast_add(
        mx.sym.linalg.gemm2(a, a, transpose_b=True), mx.sym.expand_dims(mx.sym.eye(3), axis=0)
    )
    factor = mx.sym.linalg.potrf(square)
    rows = mx.sym.reshape(mx.sym.slice_axis(a, axis=0, begin=0, end=1), shape=(3, 3))
    heads = [
        mx.sym.linalg.sumlogdiag(factor),
        mx.sym.linalg.trsm(factor, a),
        mx.sym.linalg.det(square),
        mx.sym.linalg.extracttrian(factor),
        mx.sym.topk(a, k=2, ret_typ="both")[0],
        mx.sym.khatri_rao(rows, rows),
    ]
    return mx.sym.Group(heads), {"a": (2, 3, 3)}


def graphs():
    """Pairs of a graph's JSON, as Python values, and the arrays that it is bound to."""
    import cynet as mx

    found = []
    for make in (_layers, _detector, _regions, _sequence, _algebra):
        symbol, shapes = make(mx)
        shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(**shapes)[0]))
        rng = np.random.default_rng(1)
        values = {k: rng.uniform(0, 1, s).astype("float32") for k, s in shapes.items()}
        found.append((json.loads(symbol.tojson()), values))
    programs = np.load(PROGRAMS)
    texts = json.loads(str(programs["json"]))
    for name, text in texts.items():
        start = f"{name}/in/"
        values = {k[len(start) :]: programs[k] for k in programs.files if k.startswith(start)}
        if values:  # else MXNet refused the program
            found.append((json.loads(text), values))
    return found


def _parts(graph):
    """Every graph inside of `graph`, itself first."""
    found = [graph]
    for each in found:
        for node in each["nodes"] if isinstance(each, dict) and "nodes" in each else []:
            found += node.get("subgraphs", []) if isinstance(node, dict) else []
    return found


def _text(rng, text):
    """Another value for an attribute."""
    number = NUMBERS[rng.integers(len(NUMBERS))]
    kind = rng.integers(4)
    if kind == 0:
        return str(number)
    values = [each.strip() for each in text.strip("()[]").split(",") if each.strip()]
    if kind == 1 and values:
        values[rng.integers(len(values))] = str(number)
    elif kind == 2 and values:
        values.insert(rng.integers(len(values)), values[rng.integers(len(values))])
    elif values:
        del values[rng.integers(len(values))]
    return f"[{', '.join(values)}]" if text[:1] in "([" else ", ".join(values)


def damaged_graph(rng, graph):
    """`graph` with one change of what it means: an attribute, an edge, a graph inside, anything."""
    parts = _parts(graph)
    part = parts[rng.integers(len(parts))]
    nodes = part["nodes"]
    node = nodes[rng.integers(len(nodes))]
    attrs, inputs = node.get("attrs", {}), node.get("inputs", [])
    kind = rng.integers(8)
    if kind == 0 and attrs:
        keys = [k for k in attrs if k in LOCATIONS or k in COUNTS] or list(attrs)
        key = keys[rng.integers(len(keys))]
        attrs[key] = _text(rng, attrs[key])
    elif kind == 1 and attrs:
        key = list(attrs)[rng.integers(len(attrs))]
        attrs[key] = _text(rng, attrs[key])
    elif kind == 2 and inputs:
        inputs[rng.integers(len(inputs))] = [int(rng.integers(-1, len(nodes))), 0, 0]
    elif kind == 3 and part["heads"]:
        at = rng.integers(len(part["heads"]))
        part["heads"][at] = [int(rng.integers(len(nodes))), int(rng.integers(-1, 3)), 0]
    elif kind == 4 and "subgraphs" in node:
        _other_subgraphs(rng, graph, node, parts)
    elif kind == 5 and node["op"] != "null":
        others = [n for p in parts for n in p["nodes"] if n["op"] != "null"]
        node["op"] = others[rng.integers(len(others))]["op"]
    elif kind == 6:
        changed(rng, part)
    else:
        nodes[rng.integers(len(nodes))], nodes[0] = nodes[0], nodes[rng.integers(len(nodes))]
    return graph


def _other_subgraphs(rng, graph, node, parts):
    """Give a node other graphs: one too few or too many, one of another node, its own one."""
    held = node["subgraphs"]
    kind = rng.integers(4)
    if kind == 0:
        del held[rng.integers(len(held))]
    elif kind == 1:
        held.append(copy.deepcopy(held[0]))
    elif kind == 2:
        held[rng.integers(len(held))] = copy.deepcopy(parts[rng.integers(len(parts))])
    else:
        place = node
        for _ in range(rng.integers(1, DEEPEST)):
            inside = copy.deepcopy(graph)
            place["subgraphs"][rng.integers(len(place["subgraphs"]))] = inside
            place = next((n for n in inside["nodes"] if n.get("subgraphs")), None)
            if place is None:
                break


def _values(rng, values):
    """The arrays, with another length, another dtype or unusual numbers in one of them."""
    values = dict(values)
    name = list(values)[rng.integers(len(values))]
    array, kind = values[name], rng.integers(4)
    if kind == 0:
        shape = list(array.shape)
        shape[rng.integers(len(shape))] = int(rng.choice([0, 1, 2, 7]))
        values[name] = np.zeros(shape, array.dtype)
    elif kind == 1:
        values[name] = array.astype(str(rng.choice(["float64", "float16", "int32", "bool"])))
    elif array.size:
        array = array.astype("float64")
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, -1, 1e30, 0])
        with np.errstate(all="ignore"):
            array = array.astype(values[name].dtype)
        values[name] = array
    return values


def draw(seed, number, good):
    """(JSON, arrays) of a case."""
    rng = np.random.default_rng([seed, number])
    graph, values = good[rng.integers(len(good))]
    graph = copy.deepcopy(graph)
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.25:
            values = _values(rng, values)
            continue
        try:
            graph = damaged_graph(rng, graph)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError):
            break  # what an earlier change left has no such part
    return json.dumps(graph), values, bool(rng.random() < 0.8)


def perform(text, values, train):
    """Load a graph, bind it to the arrays of its names, run it."""
    import cynet as mx

    symbol = mx.sym.load_json(text)
    assert mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()
    arguments = set(symbol.list_arguments())
    given = {k: v for k, v in values.items() if k in arguments}
    symbol.infer_type_partial(**{k: v.dtype for k, v in given.items()})
    symbol.infer_shape_partial(**{k: v.shape for k, v in given.items() if 0 not in v.shape})
    args = {k: mx.nd.array(v, dtype=v.dtype) for k, v in given.items()}
    if arguments == set(given) and not symbol.list_auxiliary_states():
        grads = {k: mx.nd.zeros(v.shape, dtype=v.dtype) for k, v in args.items()} if train else None
        executor = symbol.bind(mx.cpu(), args, grads, "write" if train else "null")
    else:
        shapes = {k: v.shape for k, v in given.items() if 0 not in v.shape}
        executor = symbol.simple_bind(mx.cpu(), "add" if train else "null", **shapes)
    outputs = executor.forward(is_train=train)
    for each in outputs:
        each.asnumpy()
    if train:
        executor.backward([mx.nd.ones(o.shape, dtype=o.dtype) for o in outputs])
        for each in executor.grad_arrays:
            if each is not None:
                each.asnumpy()


def prepare(seed):
    """What a worker does first; gives the function that runs case number `n`."""
    import logging
    import warnings

    from cynet.base.errors import CynetError

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    good = graphs()
    for graph, values in good:
        perform(json.dumps(graph), values, False)

    def run(number):
        case = draw(seed, number, good)
        try:
            perform(*case)
        except (CynetError, MemoryError) as error:
            if len(str(error)) > 3000:
                raise Fault(f"{len(str(error))} characters of message") from error
        except Exception as error:
            raise Fault(f"{case[0][:200]}: {type(error).__name__}: {error}"[:600]) from error

    return run


def show(seed, number):
    """Print a case of a run and perform it here."""
    case = draw(seed, number, graphs())
    print(case[0], {k: (v.shape, str(v.dtype)) for k, v in case[1].items()}, case[2], flush=True)
    perform(*case)


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.graphs", __doc__, show))
