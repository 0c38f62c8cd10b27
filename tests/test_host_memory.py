"""cpu, cpu_pinned and cpu_shared are one device: arrays of either go together everywhere."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.base.errors import ArgumentError

CPU = mx.cpu()
KINDS = [mx.Context("cpu_shared", 0), mx.cpu_pinned(0), mx.cpu_pinned(1)]
pytestmark = pytest.mark.parametrize("kind", KINDS, ids=str)
A, B = [[1, 2], [3, 4]], [[5, 6], [7, 8]]


def arrays(kind):
    """One in that memory, one in ordinary memory."""
    return nd.array(A, ctx=kind), nd.array(B)


# Operators of two and more inputs: values as of arrays in one place.
CALLS = {
    "add": lambda a, b: a + b,
    "compare": lambda a, b: a > b,
    "dot": nd.dot,
    "concat": lambda a, b: nd.concat(a, b, a, dim=0),
    "stack": lambda a, b: nd.stack(a, b),
    "where": lambda a, b: nd.where(a, b, a),
    "take": lambda a, b: nd.take(a, nd.array([1], ctx=b.context)),
    "broadcast": lambda a, b: nd.broadcast_mul(a, b[:1]),
    "add_n": lambda a, b: nd.add_n(a, b, a),
    "fully connected": lambda a, b: nd.FullyConnected(a, b, no_bias=True, num_hidden=2),
    "index": lambda a, b: a[nd.array([0], ctx=b.context)],
    "batch norm": lambda a, b: nd.BatchNorm(a, b[0], a[0], a[1], b[1]),
    "custom": lambda a, b: nd.maximum(a, b),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("swap", [False, True])
def test_operands(kind, name, swap):
    a, b = arrays(kind)
    right = CALLS[name](*[each.copyto(CPU) for each in ((b, a) if swap else (a, b))])
    got = CALLS[name](*((b, a) if swap else (a, b)))
    np.testing.assert_array_equal(got.asnumpy(), right.asnumpy())


def test_labels(kind):
    a, b = arrays(kind)
    assert (a + a).context == kind  # kept
    assert (a + b).context == (b + a).context == CPU  # beside ordinary memory, as in MXNet
    assert a.as_in_context(kind) is a and a.as_in_context(CPU).context == CPU
    assert b.as_in_context(kind).context == kind
    assert a.copyto(b) is b and b.asnumpy().tolist() == A
    assert nd.array(B).copyto(a).context == kind


def test_results_are_written_into_either(kind):
    a, b = arrays(kind)
    for out in (nd.empty((4, 2), ctx=kind), nd.empty((4, 2))):
        place = out.context
        for inputs in ((a, b), (b, b), (a, a)):
            right = np.concatenate([each.asnumpy() for each in inputs])
            assert nd.concat(*inputs, dim=0, out=out) is out and out.context == place
            np.testing.assert_array_equal(out.asnumpy(), right)
    a += b
    b -= a
    assert a.asnumpy().tolist() == [[6, 8], [10, 12]] and b.asnumpy().tolist() == [
        [-1, -2],
        [-3, -4],
    ]
    assert (a.context, b.context) == (kind, CPU)
    b[:] = a
    a[0] = b[1]
    assert a.asnumpy().tolist() == [[10, 12], [10, 12]]


def test_gradients(kind):
    a, b = arrays(kind)
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        y = (a * b * a).sum()
    y.backward(nd.full((1,), 2, ctx=kind))
    np.testing.assert_array_equal(a.grad.asnumpy(), 4 * np.array(A) * B)
    np.testing.assert_array_equal(b.grad.asnumpy(), 2 * np.square(A))
    assert (a.grad.context, b.grad.context) == (kind, CPU)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("of_net", [False, True])
def test_networks(kind, hybridize, of_net):
    """Batches in that memory for an ordinary network, and the reverse."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), gluon.nn.BatchNorm(), gluon.nn.Dense(1))
    net.initialize(mx.init.One(), ctx=kind if of_net else CPU)
    if hybridize:
        net.hybridize()
    batch = nd.array(A, ctx=CPU if of_net else kind)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(batch), nd.ones((2, 1), ctx=kind)).mean()
        loss.backward()
        trainer.step(1)
    other = gluon.nn.HybridSequential()
    other.add(gluon.nn.Dense(3), gluon.nn.BatchNorm(), gluon.nn.Dense(1))
    other.initialize(mx.init.One())
    plain = gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            loss = gluon.loss.L2Loss()(other(nd.array(A)), nd.ones((2, 1))).mean()
        loss.backward()
        plain.step(1)
    for a, b in zip(net.collect_params().values(), other.collect_params().values()):
        np.testing.assert_array_equal(a.data().asnumpy(), b.data().asnumpy())


def test_parameters(kind):
    one = gluon.Parameter("one", shape=(2,))
    one.initialize(mx.init.One())
    assert one.data(kind) is one.data() and one.grad(kind) is one.grad()
    with pytest.raises(RuntimeError, match="is not on"):
        one.data(mx.cpu(1))
    one.set_data(nd.full((2,), 3, ctx=kind))
    assert one.data().context == CPU and one.data().asnumpy().tolist() == [3, 3]


def test_a_graph_of_two_indices_is_refused(kind):
    op = mx.executor.CachedOp(mx.sym.var("x") + mx.sym.var("y"))
    ones = [nd.ones(2, ctx=each) for each in (CPU, kind, mx.cpu(1))]
    assert op(ones[1], ones[0])[0].context == op(ones[0], ones[1])[0].context == CPU
    with pytest.raises(ArgumentError, match=r"are on cpu\(0\) and cpu\(1\)"):
        op(*ones[::2])


def test_modules_and_executors(kind):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    for where, given in ((CPU, kind), (kind, CPU)):
        module = mx.mod.Module(net, label_names=None, context=where)
        module.bind([("data", (2, 2))], inputs_need_grad=True)
        module.init_params(mx.init.One())
        module.forward(mx.io.DataBatch([nd.array(A, ctx=given)]), is_train=True)
        assert module.get_outputs()[0].asnumpy().tolist() == [[3], [7]]
        module.backward([nd.ones((2, 1), ctx=given)])
        assert module.get_input_grads()[0].asnumpy().tolist() == [[1, 1]] * 2
    a, b = arrays(kind)
    bound = (mx.sym.var("x") + mx.sym.var("y")).bind(CPU, {"x": a, "y": b})
    assert bound.forward()[0].asnumpy().tolist() == (np.array(A) + B).tolist()


def test_batches_of_a_loader(kind):
    net = gluon.nn.Dense(1)
    net.initialize(mx.init.One())
    data = gluon.data.ArrayDataset(np.ones((4, 2), np.float32), np.ones(4, np.float32))
    for batch, label in gluon.data.DataLoader(
        data, 2, pin_memory=True, pin_device_id=kind.device_id
    ):
        assert batch.context.device_type == "cpu_pinned"
        assert (net(batch)[:, 0] + label).asnumpy().tolist() == [3, 3]
    parts = gluon.utils.split_and_load(nd.ones((4, 2), ctx=kind), [CPU, mx.cpu(1)])
    assert [each.context for each in parts] == [CPU, mx.cpu(1)]
    norm = gluon.utils.clip_global_norm([nd.ones(2), nd.ones(2, ctx=kind)], 1)
    np.testing.assert_allclose(norm, 2)


def test_stores_optimizers_and_metrics(kind, tmp_path):
    a, b = arrays(kind)
    store = mx.kv.create("local")
    store.init(0, a)
    store.push(0, [a, b])
    out = nd.empty((2, 2), ctx=kind)
    store.pull(0, out)
    np.testing.assert_array_equal(out.asnumpy(), np.array(A) + B)
    for name in ("sgd", "adam", "lamb"):
        changed = []
        for grad in (a, a.copyto(CPU)):
            weight = nd.array(B)
            mx.optimizer.get_updater(mx.optimizer.create(name))(0, grad, weight)
            changed.append(weight.asnumpy())
        np.testing.assert_array_equal(*changed)
    metric = mx.metric.create("acc")
    metric.update([nd.array([1, 0], ctx=kind)], [b])
    assert metric.get()[1] == 0.5
    nd.save(str(tmp_path / "x"), {"a": a})
    assert nd.load(str(tmp_path / "x"))["a"].asnumpy().tolist() == A
