"""The tape: what it keeps and for how long, its order, threads, users' operators."""

import gc
import resource
import threading
import weakref

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd


def leaf(values, req="write", **kwargs):
    x = nd.array(values, **kwargs)
    x.attach_grad(req)
    return x


def test_a_loop_of_recorded_steps_is_flat():
    x = leaf(np.ones(1000))

    def steps(n):
        for _ in range(n):
            with ag.record():
                y = nd.sigmoid(x * 2)
        y.backward()
        nd.waitall()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = steps(20_000)
    assert steps(80_000) - before < 4000  # kB; one array each would be 320,000


def test_a_deep_graph():
    x = leaf([1.0])
    for _ in range(2):
        with ag.record():
            y = x
            for _ in range(100_000):
                y = nd.sin(y * 1.0)
        y.backward()
        assert 0 < x.grad.asscalar() < 1
    with ag.record():
        for _ in range(100_000):
            y = y * x
    del y  # a graph that nobody goes back through


def test_only_what_backward_reads_is_kept():
    x = leaf(np.ones(10))
    with ag.record():
        a = x + 1
        b = nd.exp(a)  # whose gradient reads its output
        c = b * 2
    held = weakref.ref(a), weakref.ref(b)
    del a, b
    gc.collect()
    assert held[0]() is None and held[1]() is None
    c.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.exp(2.0) * np.ones(10), 1e-6)


def test_memory_goes_with_backward():
    x = leaf(np.ones(1 << 20))
    with ag.record():
        y = x
        for _ in range(10):
            y = nd.square(y)
    nd.waitall()
    before = mx.storage.stats(mx.cpu())["used_bytes"]
    y.backward()
    nd.waitall()
    assert mx.storage.stats(mx.cpu())["used_bytes"] <= before - 8 * (4 << 20)


def test_gradients_are_summed_in_one_pass_over_a_diamond():
    x = leaf([1.0], dtype="float64")
    with ag.record():
        y = x
        for _ in range(60):
            y = y + y  # 2**60 ways
    y.backward()
    assert x.grad.asscalar() == 2.0**60


def test_views_share_memory():
    x = leaf(np.arange(6).reshape(2, 3))
    with ag.record():
        row, flat = x[1], x.reshape((3, 2))
        assert row.shares_memory(x) and flat.shares_memory(x)
        y = (row * row).sum() + (flat[:, 1] * 10).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [[0, 10, 0], [16, 8, 20]]


KEYS = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(3, 0, -2),
    (0, 1),
    (slice(None), 1),
    (Ellipsis, slice(0, 2)),
    (None, 1, None, slice(None)),
    [0, 0, 2],
    ([1, 3], [0, 2]),
    (slice(None), [2, 2, 1]),
    np.array([True, False, True, True]),
    (np.array([[0, 1], [3, 3]]),),
    (slice(1, None), [0, 1], 2),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys(key):
    values = np.arange(4 * 3 * 5, dtype="float64").reshape(4, 3, 5)
    x = leaf(values, dtype="float64")
    with ag.record():
        picked = x[key]
        weight = np.random.default_rng(0).uniform(1, 2, picked.shape)
        y = picked * nd.array(weight, dtype="float64")
    expected = np.zeros_like(values)
    np.add.at(expected, key, weight.reshape(values[key].shape))
    assert (picked.asnumpy().reshape(values[key].shape) == values[key]).all()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), expected, 1e-12)


def test_writing_over_what_backward_reads():
    x, b = leaf([2.0]), nd.array([3.0])
    with ag.record():
        b += x  # whose gradient reads nothing
        y = b * 1
    y.backward()
    assert x.grad.asscalar() == 1
    b = nd.array([3.0])
    with pytest.raises(mx.MXNetError, match="must not be written over it"), ag.record():
        b *= x


def test_two_threads():
    results = [None] * 4

    def work(number):
        x = leaf(np.full(100, number + 1.0))
        for _ in range(200):
            with ag.record():
                y = (nd.square(x) * x).sum()
            y.backward()
        results[number] = x.grad.asnumpy()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, grad in enumerate(results):
        np.testing.assert_allclose(grad, 3 * (number + 1.0) ** 2, 1e-6)


def test_custom_operator():
    class Cube(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.flags = ag.is_recording(), is_train
            self.assign(out_data[0], req[0], in_data[0] ** 3)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            seen.append((self.flags, req))
            self.assign(in_grad[0], req[0], out_grad[0] * 3 * in_data[0] ** 2)

    @mx.operator.register("tape_cube")
    class CubeProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Cube()

    seen = []
    for req, expected in (("write", 48), ("add", 96)):
        x = leaf([2.0], req)
        for _ in range(2):
            with ag.record():
                y = nd.Custom(x * 1, op_type="tape_cube")
                z = nd.Custom(x, op_type="tape_cube") * 3 + y
            z.backward()
        assert x.grad.asscalar() == expected
    assert {flags for flags, _ in seen} == {(False, True)}
    with ag.record():
        y = nd.Custom(x, op_type="tape_cube")
    with pytest.raises(mx.MXNetError, match="operator Custom has no gradient written"):
        ag.grad(y, [x], create_graph=True)


def test_an_operator_that_fails_in_backward():
    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            raise ZeroDivisionError("in backward")

    @mx.operator.register("tape_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()

    x = leaf([2.0])
    with ag.record():
        y = nd.Custom(x, op_type="tape_fails") * 1
    y.backward()
    with pytest.raises(ZeroDivisionError, match=r"in backward.*test_tape.py:\d+"):
        x.grad.asnumpy()


def test_a_gradient_as_a_constant_of_the_graph():
    x = leaf([2.0])
    x.grad[:] = 5
    with ag.record():
        y = x * x.grad
    y.backward()
    assert x.grad.asscalar() == 5


def test_contexts():
    x = leaf([1.0, 2.0])
    with ag.record():
        far = x.as_in_context(mx.cpu(1)) * 2
        near = far.as_in_context(mx.cpu(0)) + x.astype("float64").astype("float32")
    near.backward()
    assert x.grad.asnumpy().tolist() == [3, 3] and x.grad.context == mx.cpu(0)


def test_states_move_in_front_of_what_stops_gradients():
    """As in a graph (BatchNorm before BlockGrad)."""
    x, gamma, beta = leaf([[1.0], [3.0]]), leaf([1.0]), leaf([0.0])
    mean, var = nd.zeros(1), nd.ones(1)
    with ag.record():
        y = nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False)
        z = nd.BlockGrad(y) * 1 + x * 0
    z.backward()
    assert not x.grad.asnumpy().any()


def test_python_iteration_and_len():
    x = leaf([1.0, 2.0, 3.0])
    with ag.record():
        y = sum(row * (i + 1) for i, row in enumerate(x))
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 2, 3]


def test_kernels_write_nothing_that_is_recorded():
    kernel = mx.rtc.CudaModule(
        'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }', exports=["twice"]
    ).get_kernel("twice", "float *x")
    x = leaf([1.0, 2.0])
    with ag.record():
        y = x * 1
        with pytest.raises(mx.MXNetError, match="must not be written"):
            kernel.launch([y], mx.cpu(), (1, 1, 1), (2, 1, 1))
    kernel.launch([y], mx.cpu(), (1, 1, 1), (2, 1, 1))
    assert y.asnumpy().tolist() == [2, 4]


def test_operator_in_python():
    class Multiply(mx.operator.Operator):
        def forward(self, ctx, in_data, req, out_data, aux_states):
            np.asarray(out_data[0])[...] = np.asarray(in_data[0]) * np.asarray(in_data[1])

        def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
            a, b = map(np.asarray, in_data)
            np.asarray(in_grad[0])[...] = np.asarray(out_grad[0]) * b
            np.asarray(in_grad[1])[...] = np.asarray(out_grad[0]) * a

    @mx.operator.register("tape_multiply")
    class MultiplyProperty(mx.operator.OperatorProperty):
        def list_arguments(self):
            return ["a", "b"]

        def create_operator(self, ctx, in_shapes, in_types):
            return Multiply()

    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0], "add")
    for _ in range(2):
        with ag.record():
            y = nd.tape_multiply(a, b) + nd.tape_multiply(b, b)
        y.backward()
    assert a.grad.asnumpy().tolist() == [3, 4]
    assert b.grad.asnumpy().tolist() == [14, 20]


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[0:0] * 2,
        lambda x: x[[]],
        lambda x: x[x.asnumpy() > 5],
        lambda x: (x[0:0])[:, 1],
        lambda x: nd.concat(x[0:0], x[1:] * 0, dim=0),
    ],
)
def test_parts_without_elements(part):
    x = leaf(np.ones((2, 3)))
    x.grad[:] = 7
    with ag.record():
        y = part(x).sum()
    y.backward()
    assert not x.grad.asnumpy().any()
