"""Every operator's cases through an Executor on a GPU, against the CPU, gradients too."""

import numpy as np
import pytest

import cynet as mx
from tests.operator.cuda.running import CASES, SEED, same
from tests.operator.runner import Run


def run(case, dtype, ctx, steps):
    """Name to value: outputs, states and gradients of the last of `steps` runs."""
    given = Run(case, dtype)
    differentiable = given.prop.differentiable
    names = given.prop.list_arguments()
    states = given.prop.list_auxiliary_states()
    variables = [mx.sym.Variable(name) for name in names + states]
    face = mx.sym if hasattr(mx.sym, case.op) else mx.sym._internal
    inputs = dict(zip(names + states, variables))
    symbol = getattr(face, case.op)(**inputs, **case.params, name="node")
    arrays = [mx.nd.array(a, ctx=ctx, dtype=a.dtype) for a in given.inputs]
    aux = [mx.nd.array(a, ctx=ctx, dtype=a.dtype) for a in given.aux]
    grads = [mx.nd.zeros(a.shape, ctx=ctx, dtype=a.dtype) for a in given.inputs]
    executor = symbol.bind(
        ctx, arrays, grads if differentiable else None, "write" if differentiable else "null", aux
    )
    for _ in range(steps):
        mx.random.seed(SEED)
        for array, value in zip(arrays + aux, given.inputs + given.aux):
            array[:] = value
        executor.forward(is_train=case.is_train or differentiable)
        if differentiable:
            rng = np.random.default_rng(case.seed + 1)
            heads = [
                mx.nd.array(rng.uniform(0.5, 1.5, o.shape), ctx=ctx, dtype=o.dtype)
                for o in executor.outputs
            ]
            executor.backward(heads)
    found = {f"output {i}": o.asnumpy() for i, o in enumerate(executor.outputs)}
    found |= {f"state {n}": a.asnumpy() for n, a in zip(states, aux)}
    if differentiable:
        found |= {f"gradient of {n}": g.asnumpy() for n, g in zip(names, grads)}
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_operator(gpu, case):
    dtype = case.dtypes[0]
    wanted, found = run(case, dtype, mx.cpu(), 1), run(case, dtype, gpu, 3)  # the third is a graph
    for name, value in wanted.items():
        same(found[name], value, name, times=10)


def test_an_imperative_call(gpu, rng):
    x = rng.standard_normal((3, 4)).astype("f")
    a = mx.nd.array(x, ctx=gpu)
    b = mx.nd.softmax(a * 2 + 1, axis=1)
    assert b.context == gpu
    np.testing.assert_allclose(
        b.asnumpy(), mx.nd.softmax(mx.nd.array(x) * 2 + 1, axis=1).asnumpy(), rtol=1e-5
    )
    a += 1
    np.testing.assert_allclose(a.asnumpy(), x + 1)
    assert mx.nd.zeros((2, 2), ctx=gpu).sum().asscalar() == 0


def test_random_numbers_are_the_cpus(gpu):
    for draw in (mx.nd.random.uniform, mx.nd.random.normal):
        values = []
        for ctx in (mx.cpu(), gpu):
            mx.random.seed(5)
            values.append([draw(shape=(100,), ctx=ctx).asnumpy() for _ in range(3)])
        np.testing.assert_array_equal(values[0], values[1])
