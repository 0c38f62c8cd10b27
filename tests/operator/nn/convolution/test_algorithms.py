"""Every algorithm of Convolution and Deconvolution, forced by CYNET_CONV_ALGORITHM, beside float64
sums over windows in NumPy."""

from functools import cached_property, lru_cache

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.operator.nn.convolution import select
from tests.operator.nn.convolution import reference

FLOATS = np.finfo("f").eps
SHAPES = {  # data, filters, kernel, stride, dilate, pad, groups
    "3x3": ((4, 32, 13, 18), 48, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "one image": ((1, 16, 35, 37), 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "images at a time": ((7, 16, 21, 22), 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "flat": ((1, 16, 3, 200), 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "low": ((3, 16, 7, 40), 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "pad alone": ((1, 16, 20, 40), 16, (3, 3), (1, 1), (1, 1), (6, 6), 1),
    "2x2": ((1, 16, 21, 30), 32, (2, 2), (1, 1), (1, 1), (1, 1), 1),
    "4x4": ((1, 24, 30, 31), 40, (4, 4), (1, 1), (1, 1), (2, 0), 1),
    "5x5": ((16, 20, 12, 12), 50, (5, 5), (1, 1), (1, 1), (0, 0), 1),
    "4x4 by 2": ((8, 32, 16, 16), 32, (4, 4), (2, 2), (1, 1), (1, 1), 1),
    "5x5 by 2": ((1, 32, 31, 41), 48, (5, 5), (2, 2), (1, 1), (2, 2), 1),
    "4 pixels": ((20, 33, 2, 3), 40, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "16 pixels": ((32, 32, 4, 4), 48, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "wide window": ((4, 12, 3, 9), 20, (2, 5), (1, 2), (2, 1), (1, 2), 1),
    "1x1": ((3, 40, 9, 11), 24, (1, 1), (1, 1), (1, 1), (0, 0), 1),
    "1x1 by 2": ((3, 40, 9, 11), 24, (1, 1), (2, 2), (1, 1), (0, 0), 1),
    **{
        f"1x1 by {s}, {c} channels": ((2, c, 8, 7), 8, (1, 1), s, (1, 1), (0, 0), 1)
        for c, s in enumerate([(2, 2), (3, 3), (2, 1), (1, 2), (2, 2), (2, 2), (3, 2), (2, 2)], 1)
    },
    "image": ((2, 3, 21, 26), 24, (4, 4), (2, 2), (1, 1), (1, 1), 1),
    "grey image": ((3, 1, 12, 15), 16, (5, 5), (2, 2), (1, 1), (2, 2), 1),
    "5 channels by 3": ((2, 5, 11, 9), 16, (2, 2), (3, 3), (1, 1), (0, 0), 1),
    "9 channels": ((2, 9, 10, 12), 20, (4, 4), (2, 2), (1, 1), (1, 1), 1),
    "groups": ((3, 12, 9, 8), 16, (3, 3), (2, 1), (1, 1), (1, 1), 4),
    "dilated": ((2, 8, 14, 13), 12, (3, 2), (1, 1), (2, 3), (2, 0), 1),
    "depthwise": ((4, 20, 2, 2), 20, (3, 3), (1, 1), (1, 1), (1, 1), 20),
    "depthwise row": ((2, 16, 1, 7), 16, (3, 5), (1, 2), (1, 1), (1, 0), 16),
    "depthwise 5x5": ((5, 8, 2, 4), 8, (5, 5), (2, 1), (1, 1), (2, 2), 8),
    "depthwise 7x2": ((1, 3, 3, 6), 3, (7, 2), (1, 3), (1, 2), (3, 1), 3),
    "one axis": ((3, 6, 31), 8, (5,), (2,), (1,), (2,), 2),
    "one column": ((2, 8, 30, 1), 16, (3, 1), (1, 1), (1, 1), (1, 0), 1),
    "three axes": ((2, 4, 5, 6, 7), 6, (3, 2, 3), (1, 2, 1), (1, 1, 1), (1, 0, 1), 1),
}
WINOGRAD = [*SHAPES][:13]
CASES = [
    *(("winograd", name) for name in WINOGRAD),
    *(("direct", name) for name in (*WINOGRAD, "wide window", "dilated", "image", "1x1 by 2")),
    *(("gemm", name) for name in ["1x1"]),
    *(("onednn", name) for name in SHAPES),
    *(("scatter", name) for name in ("image", "grey image", "5 channels by 3", "9 channels")),
    *(("by_channel", name) for name in SHAPES if name.startswith("depthwise")),
    *(("implicit_gemm", name) for name in SHAPES if name != "1x1"),
    *(("im2col", name) for name in SHAPES),
]
# Of those, in row-major memory as imperative calls have it.
ROW_MAJOR = [case for case in CASES if case[0] in ("winograd", "direct", "implicit_gemm", "im2col")]
DECONVOLUTION = [
    *(case for case in CASES if case[0] not in ("gemm", "by_channel", "implicit_gemm")),
    ("scatter", "3x3"),
]
PACKED = [case for case in CASES if case[0] in ("winograd", "onednn")]
needs_onednn = pytest.mark.skipif(not onednn.available(), reason="no oneDNN, no channels-last form")


def made_by(executor, name):
    """The algorithms of the steps of node `name`."""
    (found,) = {
        tuple((what, choice.name) for what, choice in step.algorithms.items())
        for step in executor._graph.steps
        if step.name == name and step.direction == "forward"
    }
    return dict(found)


@lru_cache
def case_of(name, transposed=False):
    return Case(name, transposed)


class Case:
    """A convolution or deconvolution with random arrays, and what it has to give.

    A float32 sum of n products is off by about sqrt(n) roundings of the sum of their magnitudes;
    Winograd's transforms make that some times as much.
    """

    def __init__(self, name, transposed=False, seed=5):
        print("seed", seed)
        rng = np.random.RandomState(seed)
        self.shape, filters, kernel, stride, dilate, pad, groups = SHAPES[name]
        self.window = stride, dilate, pad, groups
        self.transposed = transposed
        x = rng.standard_normal(self.shape)
        w = rng.standard_normal((filters, self.shape[1] // groups, *kernel))
        y = reference.convolution(x, w, *self.window)
        self.data = rng.standard_normal(y.shape) if transposed else x
        self.head = rng.standard_normal(x.shape if transposed else y.shape)
        self.weight = w
        self.bias = None
        channels = self.shape[1] if transposed else filters
        if not name.startswith("depthwise"):  # whose loops take none
            self.bias = rng.standard_normal(channels)
        self.options = {
            "kernel": kernel,
            "stride": stride,
            "dilate": dilate,
            "pad": pad,
            "num_filter": channels,
            "num_group": groups,
            "no_bias": self.bias is None,
        }
        if transposed:
            spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilate)]
            self.options["adj"] = tuple(
                n - (s * (m - 1) + span - 2 * p)
                for n, m, s, p, span in zip(self.shape[2:], y.shape[2:], stride, pad, spans)
            )

    def values(self):
        given = {"data": self.data, "c_weight": self.weight, "c_bias": self.bias}
        return {name: value for name, value in given.items() if value is not None}

    def forward(self, data, weight, bias):
        if self.transposed:
            out = reference.data_gradient(data, weight, self.shape, *self.window)
        else:
            out = reference.convolution(data, weight, *self.window)
        return out if bias is None else out + bias.reshape(-1, *[1] * (out.ndim - 2))

    def gradients(self, data, weight, head):
        """Those of data, weight and bias."""
        x, dy = (head, data) if self.transposed else (data, head)
        if self.transposed:
            back = reference.convolution(head, weight, *self.window)
        else:
            back = reference.data_gradient(head, weight, self.shape, *self.window)
        return {
            "data": back,
            "c_weight": reference.weight_gradient(x, dy, weight.shape, *self.window),
            "c_bias": head.sum((0, *range(2, head.ndim))),
        }

    @cached_property
    def wanted(self):
        """(value, magnitudes of its products) of out and of each gradient."""
        size = [None if a is None else np.abs(a) for a in (self.data, self.weight, self.bias)]
        out = self.forward(self.data, self.weight, self.bias), self.forward(*size)
        grads = self.gradients(self.data, self.weight, self.head)
        sizes = self.gradients(*size[:2], np.abs(self.head))
        return out, {name: (grads[name], sizes[name]) for name in self.values()}

    def symbol(self):
        op = mx.sym.Deconvolution if self.transposed else mx.sym.Convolution
        return op(mx.sym.var("data"), name="c", **self.options)


def near(got, wanted, products, added=0):
    """`products` is how many a sum has at most."""
    value, size = wanted
    assert got.shape == value.shape
    bound = 4 * FLOATS * (np.sqrt(products) + 8) * size.max()
    np.testing.assert_allclose(got, value + added, rtol=0, atol=bound)


def check(case, algorithm, req, monkeypatch):
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", algorithm)
    executor = case.symbol().simple_bind(mx.cpu(), req, data=case.data.shape)
    assert algorithm in made_by(executor, "c").values()
    for name, value in case.values().items():
        executor.arg_dict[name][:] = value
        executor.grad_dict[name][:] = np.nan if req == "write" else 1
    out, grads = case.wanted
    products = max(case.data.size, case.head.size)
    executor.forward(True)
    executor.backward(mx.nd.array(case.head))
    near(executor.outputs[0].asnumpy(), out, products)
    for name, wanted in grads.items():
        near(executor.grad_dict[name].asnumpy(), wanted, products, req == "add")
    return executor


@pytest.fixture(scope="module")
def used_workspace():
    """Values in the workspace: a kernel that reads what it has not written gives them away."""
    net = mx.sym.Convolution(mx.sym.var("data"), num_filter=8, kernel=(3, 3), name="c")
    with mx.config.environment("CYNET_CONV_ALGORITHM", "im2col"):
        executor = net.simple_bind(mx.cpu(), data=(8, 16, 40, 40))
    for each in executor.arg_arrays:
        each[:] = 1e3
    executor.forward(True)
    executor.backward(executor.outputs[0] * 0 + 1e3)
    mx.nd.waitall()


@needs_onednn
@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("algorithm, shape", CASES)
def test_convolution(algorithm, shape, req, monkeypatch, used_workspace):
    check(case_of(shape), algorithm, req, monkeypatch)


@needs_onednn
@pytest.mark.parametrize("algorithm, shape", DECONVOLUTION)
def test_deconvolution(algorithm, shape, monkeypatch):
    check(case_of(shape, transposed=True), algorithm, "write", monkeypatch)


@needs_onednn
@pytest.mark.parametrize("algorithm, shape", ROW_MAJOR)
def test_row_major(algorithm, shape, monkeypatch):
    """As imperative calls have it, and plans without the pass that gives values their order."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "none")
    check(case_of(shape), algorithm, "add", monkeypatch)


@needs_onednn
@pytest.mark.parametrize("transposed", [False, True], ids=["convolution", "deconvolution"])
@pytest.mark.parametrize("algorithm", ["direct", "winograd", "im2col"])
def test_row_major_requests(algorithm, transposed, monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "none")
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", algorithm)
    case = case_of("3x3", transposed)
    out, grads = case.wanted
    for reqs in (
        ("null", "null", "write"),
        ("write", "null", "add"),
        ("null", "add", "null"),
        ("null", "null", "null"),
    ):
        reqs = dict(zip(case.values(), reqs))
        executor = case.symbol().simple_bind(mx.cpu(), reqs, data=case.data.shape)
        for name, value in case.values().items():
            executor.arg_dict[name][:] = value
            if executor.grad_dict[name] is not None:
                executor.grad_dict[name][:] = 1
        near(executor.forward(True)[0].asnumpy(), out, case.data.size)
        if set(reqs.values()) != {"null"}:
            executor.backward(mx.nd.array(case.head))
        for name, grad in executor.grad_dict.items():
            if grad is not None:
                near(grad.asnumpy(), grads[name], case.head.size, reqs[name] == "add")


@needs_onednn
@pytest.mark.parametrize("algorithm, shape", PACKED)
def test_packed_weight(algorithm, shape, monkeypatch):
    check_prediction(case_of(shape), algorithm, monkeypatch)


@needs_onednn
@pytest.mark.parametrize("shape", ["3x3", "image", "grey image", "9 channels"])
def test_packed_weight_of_deconvolutions(shape, monkeypatch):
    assert check_prediction(case_of(shape, transposed=True), "scatter", monkeypatch)


def check_prediction(case, algorithm, monkeypatch):
    """Without gradients; returns the steps that pack."""
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", algorithm)
    executor = case.symbol().simple_bind(mx.cpu(), "null", data=case.data.shape)
    for name, value in case.values().items():
        executor.arg_dict[name][:] = value
    out, _ = case.wanted
    for _ in range(2):
        near(executor.forward()[0].asnumpy(), out, case.data.size)
    assert made_by(executor, "c")["forward"] == algorithm
    return [step for step in executor._graph.steps if step.prop.op_name == "_pack_weight"]


@pytest.mark.parametrize("transposed", [False, True], ids=["convolution", "deconvolution"])
@pytest.mark.parametrize("shape", SHAPES)
def test_imperative(shape, transposed):
    """By what the list chooses."""
    case = case_of(shape, transposed)
    op = mx.nd.Deconvolution if transposed else mx.nd.Convolution
    got = op(*map(mx.nd.array, case.values().values()), **case.options)
    near(got.asnumpy(), case.wanted[0], max(case.data.size, case.head.size))


# --- the setting ----------------------------------------------------------------------------------
def test_unknown_name(monkeypatch):
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", "fft")
    with pytest.raises(
        mx.errors.ArgumentError, match=r"='fft': expected one of .*winograd.*im2col"
    ):
        case_of("3x3").symbol().simple_bind(mx.cpu(), data=(1, 3, 8, 8))


def test_where_it_does_not_support_a_shape_the_list_decides(monkeypatch):
    case = case_of("1x1 by 2")
    usual = case.symbol().simple_bind(mx.cpu(), data=case.data.shape)
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", "winograd")
    forced = case.symbol().simple_bind(mx.cpu(), data=case.data.shape)
    assert made_by(forced, "c") == made_by(usual, "c")


def test_names_in_documentation():
    (setting,) = [each for each in mx.config.settings() if each.name == "CYNET_CONV_ALGORITHM"]
    assert all(f" {name}" in setting.doc for name in select.ALGORITHMS.names)


@needs_onednn
def test_debug_str_and_profile(monkeypatch):
    case = case_of("3x3")
    executor = check(case, "winograd", "write", monkeypatch)
    line = next(line for line in executor.debug_str().splitlines() if " Convolution c " in line)
    assert line.split(": ", 1)[1].startswith("winograd (forced; ")
    rows = executor.profile(lambda: executor.forward(True), 1)
    assert any(name.startswith("Convolution c: winograd (forced; ") for _, name, _ in rows)
    monkeypatch.delenv("CYNET_CONV_ALGORITHM")
    executor = case.symbol().simple_bind(mx.cpu(), data=case.data.shape)
    choice = made_by(executor, "c")["forward"]
    assert f"c @cpu(0): {choice} (cost " in executor.debug_str()
