"""Sizes, counts and widths beyond what memory or 64 bits hold are refused at once, with the
operator and the parameter or shape; nothing is listed or allocated before."""

import json
import re

import pytest

import cynet as mx
from cynet.operator.parameters import MAX_ARRAYS
from tests.operator.sweeps import check_sweep

PARTS = 2
HUGE = 1 << 62


@pytest.mark.parametrize("part", range(PARTS))
def test_every_parameter(part):
    check_sweep("size_sweep", part, PARTS, "refused")


ones = mx.nd.ones
TOO_LARGE = {
    "broadcast_to": lambda: ones((4,)).broadcast_to((HUGE, 4)),
    "broadcast_axis": lambda: mx.nd.broadcast_axis(ones((1, 4)), axis=0, size=HUGE + 1),
    "tile": lambda: mx.nd.tile(ones((4,)), reps=(HUGE + 1, 1)),
    "repeat": lambda: mx.nd.repeat(ones((4,)), repeats=HUGE),
    "arange": lambda: mx.nd.arange(0, 4, repeat=HUGE),
    "arange of many": lambda: mx.nd.arange(0, 1e30),
    "_arange": lambda: mx.nd._internal._arange(start=0, stop=4, repeat=HUGE),
    "linspace": lambda: mx.nd.linspace(0, 1, HUGE),
    "eye": lambda: mx.nd.eye(1 << 40, 1 << 40),
    "zeros": lambda: mx.nd.zeros((1 << 40, 1 << 40)),
    "full": lambda: mx.nd._internal._full(shape=(HUGE + 1, 4), value=1),
    "UpSampling": lambda: mx.nd.UpSampling(
        ones((1, 1, 2, 2)), scale=1 << 31, sample_type="nearest"
    ),
    "diag": lambda: mx.nd.diag(ones((4,)), k=(1 << 32) - 4),
    "uniform": lambda: mx.nd.random.uniform(shape=(1 << 32, 1 << 32)),
    "one_hot": lambda: mx.nd.one_hot(ones((4,)), depth=HUGE),
    "Pad": lambda: mx.nd.Pad(ones((1, 1, 4, 4)), mode="edge", pad_width=(0,) * 6 + (HUGE, 0)),
    "scatter_nd": lambda: mx.nd.scatter_nd(ones((3,)), mx.nd.zeros((2, 3)), shape=(HUGE, 4)),
    "Embedding": lambda: mx.nd.Embedding(ones((3,)), ones((2, 2)), input_dim=2, output_dim=HUGE),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_more_elements_than_memory_holds(name):
    with pytest.raises(mx.base.MXNetError, match="any memory|expected .2, ") as caught:
        TOO_LARGE[name]()
    assert name == "Embedding" or isinstance(caught.value, MemoryError)


def test_memory_that_is_not_there_is_missed_at_once():
    with pytest.raises(
        MemoryError, match="in use, 0 were cached and have been given back, peak"
    ) as caught:
        mx.nd.Pad(
            ones((1, 1, 4, 4)), mode="reflect", pad_width=(0,) * 6 + (3, 3)
        )  # small, to compare
        mx.nd.Pad(ones((1, 1, 4, 4)), mode="edge", pad_width=(0,) * 6 + (1 << 44, 0))
    assert isinstance(caught.value, mx.base.MXNetError)


WRONG = [
    ("SliceChannel", {"num_outputs": 10**12}, 1),
    ("SliceChannel", {"num_outputs": MAX_ARRAYS + 1}, 1),
    ("_split_v2", {"sections": 10**12}, 1),
    ("Concat", {"num_args": 10**12}, 1),
    ("add_n", {"num_args": 10**12}, 1),
    ("stack", {"num_args": 1 << 63}, 1),
    ("RNN", {"num_layers": 10**12, "state_size": 1, "mode": "lstm"}, 4),
    ("tile", {"reps": (10**30,)}, 1),
    ("repeat", {"repeats": 1 << 63}, 1),
    ("slice_axis", {"axis": 0, "begin": -(1 << 63) - 1}, 1),
    ("Pad", {"mode": "edge", "pad_width": (0, 0, 0, 0, 10**30, 0)}, 1),
    ("UpSampling", {"scale": 10**30, "sample_type": "nearest"}, 1),
    ("one_hot", {"depth": 10**30}, 1),
    ("Pooling", {"kernel": (1 << 40, 1), "pool_type": "max"}, 1),
    ("Convolution", {"kernel": (1, 1), "stride": (1 << 40, 1), "num_filter": 1}, 3),
]


@pytest.mark.parametrize(("op", "params", "n"), WRONG, ids=lambda v: v if type(v) is str else "")
def test_counts_are_refused_before_anything_is_listed(op, params, n):
    face = "_internal" if op.startswith("_") else None
    nd, sym = ((getattr(f, face) if face else f) for f in (mx.nd, mx.sym))
    if "num_args" not in params:
        with pytest.raises(mx.base.MXNetError, match=op):
            getattr(nd, op)(*[ones((4, 4, 4, 4))] * n, **params)
    with pytest.raises(mx.base.MXNetError, match=op):
        getattr(sym, op)(*[mx.sym.Variable(f"x{i}") for i in range(n)], **params)
    nodes = [{"op": "null", "name": f"x{i}", "inputs": []} for i in range(n)]
    attrs = {key: str(value) for key, value in params.items()}
    nodes.append({"op": op, "name": "y", "attrs": attrs, "inputs": [[i, 0, 0] for i in range(n)]})
    with pytest.raises(mx.base.MXNetError, match=op) as caught:
        mx.sym.load_json(json.dumps({"nodes": nodes, "heads": [[n, 0, 0]]}))
    assert len(str(caught.value)) < 1000


def test_inputs_are_counted_before_they_are_named():
    graph = {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {
                "op": "Concat",
                "name": "y",
                "attrs": {"num_args": str(MAX_ARRAYS)},
                "inputs": [[0, 0, 0]],
            },
        ],
        "heads": [[1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
    }
    with pytest.raises(mx.base.MXNetError, match=f"{MAX_ARRAYS} inputs") as caught:
        mx.sym.load_json(json.dumps(graph))
    assert len(str(caught.value)) < 1000
    graph["attrs"]["mxnet_version"][1] = 800  # files that do not list all inputs
    listed = mx.sym.load_json(json.dumps(graph)).list_arguments()
    assert listed == ["x", *(f"y_arg{i}" for i in range(1, MAX_ARRAYS))]


def test_an_executor_refuses_sizes_by_name():
    net = mx.sym.tile(mx.sym.Variable("x"), reps=(HUGE, 1), name="many")
    with pytest.raises(mx.base.MXNetError, match="many"):
        mx.sym.sum(net).simple_bind(mx.cpu(), x=(4, 4))
    net = mx.sym.Variable("x", shape=(HUGE, 4)) + 1
    with pytest.raises(mx.base.MXNetError, match="more than any memory"):
        net.simple_bind(mx.cpu())


@pytest.mark.parametrize("mode", ["edge", "reflect"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
def test_wide_borders(mode, dtype, rng):
    import numpy as np

    x = rng.integers(0, 200, (2, 3, 4, 70)).astype(dtype)
    widths = (
        ((0, 0), (0, 0), (3, 2), (1000, 2000))
        if mode == "edge"
        else ((0, 0), (0, 0), (3, 2), (69, 60))
    )
    found = mx.nd.Pad(mx.nd.array(x, dtype=dtype), mode=mode, pad_width=sum(widths, ()))
    np.testing.assert_array_equal(found.asnumpy(), np.pad(x, widths, mode))


LONG, WIDE = (1 << 20, 1), (1, 1 << 22)  # together 16 TiB


def sums(F, x, y):
    return F.broadcast_add(F.exp(x), F.exp(y), name="sums")


class Sums(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, y):
        return sums(F, x, y)


def bound(symbol, **requests):
    symbol.simple_bind(mx.cpu(), x=LONG, y=WIDE, **requests)


X, Y = mx.sym.var("x"), mx.sym.var("y")
WAYS = {
    "operator broadcast_add, for an output of shape (1048576, 4194304), float32": (
        lambda: sums(mx.nd, mx.nd.ones(LONG), mx.nd.ones(WIDE))
    ),
    "operator dot, for an output of shape (1048576, 4194304), float16": (
        lambda: mx.nd.dot(mx.nd.ones(LONG, dtype="float16"), mx.nd.ones(WIDE, dtype="float16"))
    ),
    "operator _random_uniform, for an output of shape (4194304, 4194304), float32": (
        lambda: mx.nd.random.uniform(shape=(1 << 22, 1 << 22))
    ),
    "no memory for 'sums_output' of shape (1048576, 4194304)": lambda: bound(sums(mx.sym, X, Y)),
    "arguments and outputs ('sums_output' of shape (1048576, 4194304) is the largest)": (
        lambda: bound(mx.sym.sort(sums(mx.sym, X, Y)).sum(), grad_req="null")
    ),
    "no memory for argument 'x' of shape (4194304, 4194304)": (
        lambda: X.exp().simple_bind(mx.cpu(), x=(1 << 22, 1 << 22))
    ),
    "no memory for outputs, 'sums0_sums_output' of shape (1048576, 4194304)": (
        lambda: hybrid()(mx.nd.ones(LONG), mx.nd.ones(WIDE))
    ),
}


def hybrid():
    net = Sums(prefix="sums0_")
    net.hybridize()
    return net


@pytest.mark.parametrize("said", WAYS)
def test_a_lack_of_memory_names_what_it_was_for(said):
    with pytest.raises(MemoryError, match="were cached and have been given back, peak") as caught:
        WAYS[said]()
    assert isinstance(caught.value, mx.base.MXNetError)
    text = str(caught.value)
    assert said in text and re.search(r"cpu\(0\) has no \d{13,} bytes", text)
