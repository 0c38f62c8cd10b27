"""Every importer with every attribute left out and given, of all versions where it changed, beside
ONNX Runtime or NumPy: as the file says it, with open lengths, and with its constants as inputs."""

import re
from collections import Counter

import numpy as np
import pytest

import cynet as mx
from cynet.symbol.node import topological_order
from tests.onnx.import_row import K
from tests.onnx.rows_of_elements import casts, elementwise, functions, places
from tests.onnx.rows_of_layers import dense, layers, recurrent, sampling, windows
from tests.onnx.rows_of_shapes import parts, reductions, shapes, sizes
from tests.onnx.test_import_values import computed


def read_and_computed(path, given):
    """The network, what it gives."""
    network, args, states = mx.onnx.import_model(path)
    feeds = {n: mx.nd.array(x.reshape(x.shape or (1,)), dtype=x.dtype) for n, x in given.items()}
    names, aux = network.list_arguments(), network.list_auxiliary_states()
    every = {**feeds, **args, **states}
    bound = network.bind(
        mx.cpu(),
        {n: every[n] for n in names},
        grad_req="null",
        aux_states={n: every[n] for n in aux},
    )
    return network, bound.forward()


def wrong(row, form, path):
    """What is wrong with a form of a row; "refused" where what it leaves open is asked for."""
    given = row.save(path, form)
    try:
        network, found = read_and_computed(path, given)
    except mx.errors.UndefinedError as error:
        if form != "closed" and re.search(ASKED[form], str(error)):
            return "refused"
        return f"refused: {error}"
    if row.want is None:
        row.want = computed(path, given)
    if len(found) != len(row.want):
        return f"{len(found)} outputs"
    for made, each in zip(found, row.want):
        if made.shape != (each.shape or (1,)) or np.dtype(made.dtype) != each.dtype:
            return f"{made.dtype} {made.shape} for {each.dtype} {each.shape}"
        made, each = (np.float64(v).reshape(made.shape) for v in (made.asnumpy(), each))
        if not np.allclose(made, each, row.rtol, 1e-5, equal_nan=True):
            return f"{made.ravel()[:6]} for {each.ravel()[:6]}"
    kinds = [node.op.name for node in topological_order(network.entries) if node.op]
    if form == "closed" and (not {*row.has} <= {*kinds} or {*row.lacks} & {*kinds}):
        return f"{kinds} for {row.has} without {row.lacks}"
    name = network.list_outputs()[0]
    if kinds and row.kind != "Celu" and not (name == "n" or name.startswith("n_")):  # a function
        return f"{name} has not the name of the file"
    return None


FAMILIES = (
    elementwise,
    functions,
    casts,
    places,
    layers,
    dense,
    windows,
    recurrent,
    sampling,
    reductions,
    shapes,
    parts,
    sizes,
)
ASKED = {
    "open": "does not tell|not known when|whose length the file|must tell the batch|"
    "is not exact from|kind Size is not read",
    "inputs": "must be a constant|not constant|not the constant|not known when|without a constant",
}
# kinds whose rows are all refused in a form: the first one is tried; and how many of the others'
WHOLE = {
    "open": {
        "GatherElements",
        "GatherND",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "Einsum",
        "ArgMax",
        "ArgMin",
        "Hardmax",
        "EyeLike",
        "Size",
        "Trilu",
        "Resize",
        "Upsample",
    },
    "inputs": {
        "OneHot",
        "TopK",
        "GRU",
        "LSTM",
        "RNN",
        "CumSum",
        "Split",
        "Unsqueeze",
        "Expand",
        "Slice",
        "Tile",
        "Trilu",
        "Resize",
        "Upsample",
        "Pad",
    },
}
REFUSED = {
    "open": {
        "layers": {"ConvTranspose": 24},
        "dense": {"LogSoftmax": 4, "Softmax": 4},
        "windows": {"AveragePool": 87, "Conv": 8, "LpPool": 13, "MaxPool": 57},
        "recurrent": {"GRU": 8, "LSTM": 16, "RNN": 12},
        "shapes": {"Flatten": 2},
        "parts": {"DepthToSpace": 1, "Expand": 10, "Pad": 59},
    },
    "inputs": {
        "functions": {"PRelu": 4},
        "dense": {"Dropout": 8},
        "reductions": {
            "ReduceL1": 3,
            "ReduceL2": 3,
            "ReduceLogSum": 3,
            "ReduceLogSumExp": 3,
            "ReduceMax": 7,
            "ReduceMean": 4,
            "ReduceMin": 6,
            "ReduceProd": 4,
            "ReduceSum": 4,
            "ReduceSumSquare": 3,
        },
        "shapes": {"Reshape": 8, "Squeeze": 8},
    },
}
ROWS = {family.__name__: [*family()] for family in FAMILIES}


@pytest.mark.parametrize("family", ROWS)
def test_values(family, tmp_path):
    told, refused = [], {"open": Counter(), "inputs": Counter()}
    for row in ROWS[family]:
        held = any(isinstance(x, K) for x in row.inputs)
        for form in ["closed", *["open"] * (not row.lengths), *["inputs"] * held]:
            if form != "closed" and row.kind in WHOLE[form] & refused[form].keys():
                continue
            try:
                each = wrong(row, form, tmp_path / "m.onnx")
            except Exception as error:
                each = f"{type(error).__name__}: {str(error)[:300]}"
            if each == "refused":
                refused[form][row.kind] += 1
            elif each:
                told.append(f"{row} {form}: {each}")
    assert not told, f"{len(told)} of {len(ROWS[family])}\n" + "\n".join(told)
    for form, kinds in WHOLE.items():
        kinds = dict.fromkeys(kinds & {row.kind for row in ROWS[family]}, 1)
        assert refused[form] == {**REFUSED[form].get(family, {}), **kinds}
