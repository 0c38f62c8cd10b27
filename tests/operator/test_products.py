"""Products of matrices: which algorithm is estimated to be the fastest, from times measured
with two threads, and every one of them, forced, beside float64."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.isa.dispatch import cpu_capability
from cynet.operator.products import PRODUCTS, ProductDesc, choose_own_loop
from tests.levels import on_x86

LEVELS = ["avx2", "avx512"]


def chosen(m, n, k, level="avx2", **flags):
    return choose_own_loop(ProductDesc(m, n, k, "float32", weight=True, level=level, **flags)).name


@on_x86
@pytest.mark.parametrize("level", LEVELS)
def test_few_rows_are_not_packed_for(level):
    """By rows, contiguous columns, and the size of b."""

    def narrow(m, n, k, b=False, a=False):
        return chosen(m, n, k, level, a_transposed=a, b_transposed=b) == "narrow"

    most = 16 if level == "avx2" else 128
    assert narrow(1, 50, 30) and narrow(most, 50, 30) and not narrow(most + 1, 50, 30)
    turned = 16 if level != "avx2" else 8
    assert narrow(turned - 1, 50, 30, True) and not narrow(turned, 50, 30, True)
    columns = 8 if level != "avx2" else 5
    assert narrow(50, columns, 64, True) and not narrow(50, columns + 1, 64, True)
    assert narrow(50, 2, 30, True) and not narrow(50, 3, 30, True)
    assert not narrow(3, 50, 30, a=True)
    assert narrow(3, 1024, 1024) == (level != "avx2") and narrow(3, 1024, 1023)


@on_x86
def test_amx_where_it_pays():
    for m, n, k, pays in (
        (128, 784, 128, False),  # faster, but not by as much as the clock would be lower
        (128, 784, 512, True),
        (1792, 512, 128, True),
        (32, 32, 32, False),
        (8, 1000, 1000, False),
        (512, 28, 500, False),
    ):
        assert (chosen(m, n, k, "amx") == "amx") == pays
        assert chosen(m, n, k, "avx512") != "amx"


@on_x86
def test_a_library_for_large_products_and_outer_ones():
    def name(m, n, k, level="avx2", **options):
        return PRODUCTS.choose(ProductDesc(m, n, k, "float32", level=level, **options)).name

    assert name(2000, 2000, 2000) == "blas"
    assert name(2000, 2000, 200) == "panels"  # one side is short
    assert name(2000, 2000, 1, b_transposed=True) == "blas"
    assert name(15, 500, 500) == "blas"
    assert name(50, 50, 50) == "blas"
    assert name(50, 50, 50, b_transposed=True) == "panels"
    assert name(50, 50, 50, weight=True) == "panels"
    assert name(500, 500, 500, "baseline") == "blas"
    assert PRODUCTS.choose(ProductDesc(500, 500, 500, "float64")).name == "blas"


SIZES = [(20, 40, 33), (3, 300, 50), (65, 70, 129), (1, 1, 1), (33, 20, 1)]  # m, n, k
FLAGS = [(False, False), (False, True), (True, False), (True, True)]
ALGORITHMS = ["panels", "narrow", "blas"] + ["amx"] * (cpu_capability() == "amx")


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_dot(algorithm, size, flags, monkeypatch):
    """Also a stack of products; the narrow way where the left operand is not transposed."""
    monkeypatch.setenv("CYNET_GEMM_ALGORITHM", algorithm)
    m, n, k = size
    rng = np.random.RandomState(4)
    print("seed 4")
    for batch in ((), (3,)):
        a, b = rng.standard_normal((*batch, m, k)), rng.standard_normal((*batch, k, n))
        given = [x.swapaxes(-1, -2) if flag else x for x, flag in zip((a, b), flags)]
        op = mx.sym.batch_dot if batch else mx.sym.dot
        net = op(
            mx.sym.var("a"), mx.sym.var("b"), transpose_a=flags[0], transpose_b=flags[1], name="c"
        )
        executor = net.simple_bind(mx.cpu(), a=given[0].shape, b=given[1].shape)
        executor.arg_dict["a"][:], executor.arg_dict["b"][:] = given
        (step,) = [each for each in executor._graph.steps if each.name == "c"][:1]
        names = {what: choice.name for what, choice in step.algorithms.items()}
        assert (names["forward"] == algorithm) == (algorithm != "narrow" or not flags[0])
        head = rng.standard_normal((*batch, m, n))
        out = executor.forward(True)[0].asnumpy()
        executor.backward(mx.nd.array(head))
        near(out, a @ b, np.abs(a) @ np.abs(b), k)
        grads = [head @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ head]
        sizes = [np.abs(head) @ np.abs(b).swapaxes(-1, -2), np.abs(a).swapaxes(-1, -2) @ abs(head)]
        for got, want, size, flag, length in zip(
            executor.grad_arrays, grads, sizes, flags, (n, m), strict=True
        ):
            got = got.asnumpy()
            near(got.swapaxes(-1, -2) if flag else got, want, size, length)


def near(got, want, size, length):
    """A float32 sum of so many products is off by some sqrt(length) roundings of the sum of their
    magnitudes, `size`, and of the operands."""
    bound = 2 * np.finfo("f").eps * (np.sqrt(length) + 4) * size.max()
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)


def test_unknown_name(monkeypatch):
    monkeypatch.setenv("CYNET_GEMM_ALGORITHM", "strassen")
    with pytest.raises(mx.errors.ArgumentError, match="expected one of panels, narrow, amx, blas"):
        mx.sym.dot(mx.sym.var("a"), mx.sym.var("b")).simple_bind(mx.cpu(), a=(3, 4), b=(4, 5))


def test_names_in_documentation():
    (setting,) = [each for each in mx.config.settings() if each.name == "CYNET_GEMM_ALGORITHM"]
    assert all(f" {name}" in setting.doc for name in PRODUCTS.names)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rnn(algorithm, monkeypatch):
    """The products over all steps: the same as by BLAS but for rounding."""
    outs = []
    rng = np.random.RandomState(6)
    print("seed 6")
    for name in (algorithm, "blas"):
        monkeypatch.setenv("CYNET_GEMM_ALGORITHM", name)
        net = mx.sym.RNN(
            mx.sym.var("x"),
            mx.sym.var("p"),
            mx.sym.var("s"),
            mx.sym.var("c"),
            mode="lstm",
            state_size=24,
            num_layers=2,
            name="r",
        )
        executor = net.simple_bind(mx.cpu(), x=(7, 5, 33))
        if not outs:
            given = {k: rng.uniform(-0.3, 0.3, v.shape) for k, v in executor.arg_dict.items()}
            head = rng.uniform(-1, 1, executor.outputs[0].shape)
        for key, value in given.items():
            executor.arg_dict[key][:] = value
        out = executor.forward(True)[0].asnumpy()
        executor.backward(mx.nd.array(head))
        outs.append([out, *(each.asnumpy() for each in executor.grad_arrays)])
    for got, want in zip(*outs, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())
