"""&, |, ^, ~, <<, >> and // of arrays of mx.nd."""

import operator

import numpy as np
import pytest

import cynet as mx
from cynet import nd

VALUES = np.array([-3, -1, 0, 1, 2, 5])
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int32", "int64")
JOINS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
SHIFTS = {"<<": operator.lshift, ">>": operator.rshift}


def host(x):
    return x.astype("float64").asnumpy()


@pytest.mark.parametrize("sign", JOINS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_masks_give_masks(sign, dtype):
    values = np.abs(VALUES) if dtype == "uint8" else VALUES
    x = nd.array(values, dtype=dtype)
    run = JOINS[sign]
    low, high = values > 0, values < 2
    wanted = run(low, high)
    pairs = [
        (x > 0, x < 2),
        (x > 0, high),
        (low, x < 2),
        (x > 0, (x < 2).astype("bool")),
        (x > 0, nd.array(values, dtype="int32") < 2),
        (nd.array(values) > 0, x < 2),
    ]
    for a, b in pairs:
        found = run(a, b)
        assert (host(found) == wanted).all()
    found = run(x > 0, x < 2)
    assert found.dtype == x.dtype
    assert host(x[found]).tolist() == values[wanted].tolist()
    assert host(x[~found]).tolist() == values[~wanted].tolist()
    for truth in (True, False):
        assert (host(run(x > 0, truth)) == run(low, truth)).all()
        assert (host(run(truth, x > 0)) == run(truth, low)).all()
    written = x > 0
    written = {"&": operator.iand, "|": operator.ior, "^": operator.ixor}[sign](written, x < 2)
    assert (host(written) == wanted).all()


@pytest.mark.parametrize("sign", JOINS | SHIFTS)
@pytest.mark.parametrize("left", INTEGERS)
@pytest.mark.parametrize("right", INTEGERS)
def test_integers_have_bits(sign, left, right, rng):
    run = (JOINS | SHIFTS)[sign]
    top = 4 if sign in SHIFTS else 100
    for shapes in (((3, 4), (3, 4)), ((3, 1), (4,)), ((0, 3), (3,))):
        a, b = (rng.integers(0, top, s).astype(d) for s, d in zip(shapes, (left, right)))
        found = run(nd.array(a, dtype=left), nd.array(b, dtype=right))
        assert found.shape == run(a, b).shape and (found.asnumpy() == run(a, b)).all()
    found = run(nd.array(a, dtype=left), 3)
    assert found.dtype == np.dtype(left) and (found.asnumpy() == run(a, a.dtype.type(3))).all()
    assert (run(3, nd.array(b, dtype=right)).asnumpy() == run(b.dtype.type(3), b)).all()
    assert (~nd.array(b, dtype=right)).asnumpy().tolist() == (~b).tolist()


def test_bools():
    a, b = np.array([True, True, False]), np.array([True, False, False])
    x, y = nd.array(a, dtype="bool"), nd.array(b, dtype="bool")
    for run in JOINS.values():
        for found, wanted in ((run(x, y), run(a, b)), (run(x, True), run(a, True))):
            assert found.dtype == np.bool_ and found.asnumpy().tolist() == wanted.tolist()
    assert (~x).asnumpy().tolist() == (~a).tolist()


def test_what_is_no_mask_is_refused():
    x = nd.array([1, 2, 3])
    with pytest.raises(TypeError, match=r"NDArray &: an operand, of float32, .* holds 2\.0"):
        x & x
    with pytest.raises(TypeError, match=r"NDArray \|: an operand, of float32"):
        (x > 1) | x
    with pytest.raises(TypeError, match="NDArray ~: an operand, of float32"):
        operator.invert(x)
    with pytest.raises(TypeError, match="NDArray & 2: a mask of float32 takes True or False"):
        (x > 1) & 2
    with pytest.raises(TypeError, match=r"NDArray \^ 1\.5: expected a mask"):
        x.astype("int32") ^ 1.5
    with pytest.raises(TypeError, match="NDArray << takes integers, got an array of float32"):
        x << 1
    with pytest.raises(TypeError, match="unsupported operand"):
        x & "1"
    with pytest.raises(TypeError, match="as_nd_ndarray"):
        (x > 1) & mx.np.array([True, False, True])
    with pytest.raises(ValueError, match="expected a dense array"):
        nd.zeros((2, 2)).tostype("csr") & True
    assert host(nd.array([1, 0, 1]) & (x > 1)).tolist() == [0, 0, 1]  # zeros and ones are one


@pytest.mark.parametrize("left", FLOATS + INTEGERS)
@pytest.mark.parametrize("right", FLOATS + INTEGERS)
def test_quotients_rounded_down(left, right):
    a, b = np.array([7, 8, 9, 1]), np.array([2, 3, 4, 5])
    x, y = nd.array(a, dtype=left), nd.array(b, dtype=right)
    assert host(x // y).tolist() == (a // b).tolist()
    assert host(x // 2).tolist() == (a // 2).tolist()
    assert host(9 // y).tolist() == (9 // b).tolist()
    assert (x // 2).dtype == x.dtype
    assert host(x // 2.5).tolist() == (a // 2.5).tolist()
    x //= 2
    assert host(x).tolist() == (a // 2).tolist()


def test_no_gradient_goes_through():
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with mx.autograd.record():
        y = (x * ((x > 1) & (x < 3))).sum() + (x // 2).sum() + (x * ~(x > 1)).sum()
    y.backward()
    assert x.grad.tolist() == [1, 1, 0]
