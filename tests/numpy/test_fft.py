"""mx.np.fft beside numpy.fft: lengths, axes, norms, gradients, graphs."""

import inspect
import itertools

import numpy as np
import pytest

import cynet as mx
from cynet import autograd

F = mx.np.fft
NORMS = (None, "backward", "ortho", "forward")


def given(value):
    """An mx.np array, of a complex one with real and imaginary parts in an axis at the end."""
    if np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], -1)
    return mx.np.array(value, dtype="float64")


def compare(found, wanted):
    if np.iscomplexobj(wanted):
        wanted = np.stack([wanted.real, wanted.imag], -1)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-10, atol=1e-10)


def sample(name, rng, shape):
    real = rng.normal(size=shape)
    return real if name.startswith("rfft") else real + 1j * rng.normal(size=shape)


def cases(name):
    """(shape, keywords) of a function."""
    if name in ("fft", "ifft", "rfft", "irfft"):
        for shape, n in itertools.product(((6,), (7,), (2, 3, 5), (4, 2)), (None, 1, 2, 4, 5, 9)):
            yield from (((shape, {"n": n, "axis": axis})) for axis in range(-len(shape), 1))
    elif name.endswith("2"):
        for s in (None, (3, 4), (5, 3), (7, 7)):
            yield from (((3, 4, 5), {"s": s, "axes": axes}) for axes in ((-2, -1), (0, 2), (1, 0)))
    else:
        yield from (((4, 3, 5), {}), ((3, 4), {"axes": (0,)}), ((2, 3, 4), {"axes": (2, 0)}))
        yield from (((4, 5, 6), {"s": s, "axes": (1, 2)}) for s in ((3, 5), (8, 8)))
        yield (4, 3, 6), {"axes": (-1, -2, -3)}


@pytest.mark.parametrize("name", F.__all__)
def test_values(name, rng):
    seen = 0
    for (shape, more), norm in itertools.product(cases(name), NORMS):
        x = sample(name, rng, shape)
        last = more["axis"] if "axis" in more else (more.get("axes") or (-1,))[-1]
        if name.startswith("irfft") and x.shape[last] < 2 and not (more.get("n") or more.get("s")):
            continue
        compare(
            getattr(F, name)(given(x), norm=norm, **more),
            getattr(np.fft, name)(x, norm=norm, **more),
        )
        seen += 1
    assert seen >= 24


@pytest.mark.parametrize("name", F.__all__)
def test_gradients_and_graphs(name, rng):
    """Against the transform of a step into each direction: it is linear. Hybridized alike."""
    function, shape = getattr(F, name), (3, 4)
    more = {"n": 5} if name in ("fft", "ifft", "rfft", "irfft") else {"s": (5, 5), "axes": (0, 1)}
    x = given(sample(name, rng, shape))
    out = function(x, **more)
    head = given(rng.normal(size=out.shape))
    x.attach_grad()
    with autograd.record():
        total = (function(x, **more) * head).sum()
    total.backward()
    wanted = np.empty(x.shape)
    for at in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[at] = 1
        wanted[at] = (function(given(step), **more) * head).sum().item()
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-10, atol=1e-10)

    class Net(mx.gluon.HybridBlock):
        def forward(self, x):
            return function(x, **more)

    net = Net()
    net.hybridize()
    compare(net(x), out.asnumpy())
    compare(net(x), out.asnumpy())


def test_second_gradients(rng):
    x = given(rng.normal(size=(3, 4)))
    x.attach_grad()
    with autograd.record():
        y = (F.irfft2(F.rfft2(x) ** 2) ** 2).sum()
        first = autograd.grad(y, [x], create_graph=True)[0]
        total = (first * first).sum()
    total.backward()
    step, values = 1e-5, []
    for sign in (1, -1):
        moved = x.detach() + sign * step * given(np.eye(3, 4))
        moved.attach_grad()
        with autograd.record():
            y = (F.irfft2(F.rfft2(moved) ** 2) ** 2).sum()
        y.backward()
        values.append((moved.grad**2).sum().item())
    slope = (values[0] - values[1]) / (2 * step)
    np.testing.assert_allclose((x.grad * given(np.eye(3, 4))).sum().item(), slope, rtol=1e-5)


def test_inverses_and_dtypes(rng):
    x = mx.np.array(rng.integers(0, 9, (4, 6)), dtype="int32")
    found = F.irfft2(F.rfft2(x))
    assert str(np.dtype(found.dtype)) == "float32"
    np.testing.assert_allclose(found.asnumpy(), x.asnumpy(), atol=1e-5)
    z = given(rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)))
    compare(F.ifftn(F.fftn(z)), z.asnumpy())


def test_numpys_functions_stay_complex():
    assert np.iscomplexobj(np.asarray(np.fft.rfft(mx.np.ones(4).asnumpy())))


@pytest.mark.parametrize(
    "name, shape, more, match",
    [
        ("fft", (4,), {}, "real and imaginary parts in the last axis"),
        ("irfft", (4, 3), {}, "real and imaginary parts in the last axis"),
        ("rfft", (), {}, "one axis at least"),
        ("rfft", (4,), {"n": 0}, "a length must be an int from 1 on"),
        ("rfft", (4,), {"axis": 1}, "axis 1 is not one of 1"),
        ("fft", (4, 2), {"axis": 1}, "axis 1 is not one of 1"),
        ("rfft", (4,), {"norm": "other"}, "norm is 'backward', 'ortho' or 'forward'"),
        ("rfft2", (4, 4), {"s": (3,)}, "s has 1 lengths for 2 axes"),
        ("rfftn", (4, 4), {"axes": ()}, "one axis at least"),
        ("rfft", (2, 0), {}, "a transform of no numbers"),
        ("irfft", (1, 2), {}, "give the length n"),
        ("rfft", (4,), {"axis": 0.5}, "an axis must be an int"),
    ],
)
def test_bad_input_is_refused(name, shape, more, match):
    with pytest.raises((mx.errors.ShapeError, mx.errors.ArgumentError, TypeError), match=match):
        getattr(F, name)(mx.np.ones(shape), **more)


def test_the_names_and_arguments_are_numpys():
    for name in F.__all__:
        ours = list(inspect.signature(getattr(F, name)).parameters)
        assert ours == list(inspect.signature(getattr(np.fft, name)).parameters)[: len(ours)]
