"""Hybridized Blocks, whose arrays are others in each call, replay graphs: forward, backward and
the Trainer's update are one each, and compute what launching anew computes, to the last bit."""

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import cynet as mx
from tests.gpu.test_graphs import Counted, shuffles

STEPS = 24


class Net(mx.gluon.HybridBlock):
    """A network with its loss, as one graph."""

    def __init__(self, dropout=0.3):
        super().__init__()
        with self.name_scope():
            self.body = mx.gluon.nn.HybridSequential()
            self.body.add(mx.gluon.nn.Dense(16, activation="relu", in_units=6))
            self.body.add(mx.gluon.nn.BatchNorm(in_channels=16), mx.gluon.nn.Dropout(dropout))
            self.body.add(mx.gluon.nn.Dense(4, in_units=16))
            self.loss = mx.gluon.loss.L2Loss()

    def hybrid_forward(self, F, x, y):
        return self.loss(self.body(x), y)


def made(ctx, optimizer="sgd", hybridize=True, dropout=0.3, **options):
    mx.random.seed(9)
    net = Net(dropout)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    options = options or {"learning_rate": 0.1, "momentum": 0.9}
    mx.random.seed(10)
    return net, mx.gluon.Trainer(net.collect_params(), optimizer, options)


def batches(ctx, n=STEPS, rows=8):
    """Arrays of their own for each step, as a DataLoader gives them."""
    rng = np.random.default_rng(2)
    for _ in range(n):
        pair = rng.standard_normal((rows, 6)).astype("f"), rng.standard_normal((rows, 4))
        yield [mx.nd.array(each, dtype="float32").as_in_context(ctx) for each in pair]


def trained(ctx, step, *args, **options):
    """The losses of some steps by ``step(net, trainer, x, y, number)``, and the parameters."""
    net, trainer = made(ctx, *args, **options)
    found = []
    for i, (x, y) in enumerate(batches(ctx)):
        loss = step(net, trainer, x, y, i)
        if loss is not None:
            found.append(loss.asnumpy())
    return found + [p.data().asnumpy() for p in net.collect_params().values()]


def plain(net, trainer, x, y, i):
    with mx.autograd.record():
        loss = net(x, y)
    loss.backward()
    trainer.step(8)


def reads(net, trainer, x, y, i):
    """In between somebody looks at the loss and at a gradient."""
    with mx.autograd.record():
        loss = net(x, y)
    if i % 2:
        loss.asnumpy()
    loss.backward()
    if i % 3:
        net.body[0].weight.grad().asnumpy()
    trainer.step(8)
    return loss


def other_rates(net, trainer, x, y, i):
    trainer.set_learning_rate(0.1 / (i + 1))
    return reads(net, trainer, x, y, i)


def clips(net, trainer, x, y, i):
    with mx.autograd.record():
        loss = net(x, y)
    loss.backward()
    grads = [p.grad() for p in trainer._params if p.grad_req != "null"]
    mx.gluon.utils.clip_global_norm(grads, 0.1)
    trainer.step(8)
    return loss


def adds(net, trainer, x, y, i):
    """Gradients of three steps are added up; states move in each of them."""
    if i == 0:
        net.collect_params().setattr("grad_req", "add")
    with mx.autograd.record():
        loss = net(x, y)
    loss.backward()
    if i % 3 == 2:
        trainer.step(24)
        net.collect_params().zero_grad()
    return loss


def two_at_once(net, trainer, x, y, i):
    """Two calls before one backward: each has memory of its own."""
    with mx.autograd.record():
        first, second = net(x, y), net(x * 2, y)
        loss = first + second
    loss.backward()
    trainer.step(16)
    return loss


def predicts(net, trainer, x, y, i):
    net(x, y)
    reads(net, trainer, x, y, i)
    return net(x, y)


def shapes(net, trainer, x, y, i):
    n = (8, 5, 3)[i % 3]
    return reads(net, trainer, x[:n].copy(), y[:n].copy(), i)


def written(net, trainer, x, y, i):
    """Parameters are set, and trained on from there."""
    if i % 5 == 4:
        net.body[0].weight.set_data(net.body[0].weight.data() * 0.5)
    return reads(net, trainer, x, y, i)


WAYS = [plain, reads, other_rates, clips, adds, two_at_once, predicts, shapes, written]


@pytest.mark.parametrize("step", WAYS, ids=[each.__name__ for each in WAYS])
def test_as_without_graphs(gpu, unrecorded, step):
    with Counted() as count:
        one = trained(gpu, step)
    assert count.replayed > STEPS
    for mine, plainly in zip(one, unrecorded(trained, gpu, step), strict=True):
        np.testing.assert_array_equal(mine, plainly)
    for mine, host in zip(one, trained(mx.cpu(), step), strict=True):
        np.testing.assert_allclose(mine, host, 1e-3, 1e-4)


def test_a_step_is_three_graphs(gpu):
    """Once the loop has met all sets of addresses that it comes back to."""
    net, trainer = made(gpu)
    for i, (x, y) in enumerate(batches(gpu, 60)):
        with Counted() as count:
            plain(net, trainer, x, y, i)
        if i >= 40:
            assert (count.recorded, count.replayed) == (0, 3)


def test_a_step_skipped_by_amp(gpu, unrecorded):
    def step(net, trainer, x, y, i):
        with mx.autograd.record():
            loss = net(x * float("inf") if i in (4, 15) else x, y)
        loss.backward()
        trainer.step(8)

    def run():
        net, trainer = made(gpu, dropout=0.0)
        net.body[1].use_global_stats = True  # moving statistics stay finite
        trainer._amp_loss_scaler = mx.contrib.amp.LossScaler()
        found = []
        for i, (x, y) in enumerate(batches(gpu)):
            step(net, trainer, x, y, i)
            found.append(net.body[0].weight.data().asnumpy())
        return found

    with Counted() as count:
        one = run()
    assert count.replayed > STEPS
    for mine, plainly in zip(one, unrecorded(run), strict=True):
        np.testing.assert_array_equal(mine, plainly)
    for i in (4, 15):
        np.testing.assert_array_equal(one[i], one[i - 1])


def test_two_gpus(two, unrecorded):
    def run():
        net, trainer = made(list(two), dropout=0.0)
        losses = []
        for (x, y), (v, w) in zip(batches(two[0]), batches(two[1])):
            with mx.autograd.record():
                both = [net(x, y), net(v + 1, w)]
            mx.autograd.backward(both)
            trainer.step(16)
            losses += [each.asnumpy() for each in both]
        values = [a for p in net.collect_params().values() for a in p.list_data()]
        return losses + [each.asnumpy() for each in values]

    with Counted() as count:
        one = run()
    assert count.replayed > 2 * STEPS
    for mine, plainly in zip(one, unrecorded(run), strict=True):
        np.testing.assert_array_equal(mine, plainly)


def test_a_checked_index_cuts_a_plan(gpu):
    """`pick` of SoftmaxCrossEntropyLoss refuses labels that are no classes: the host waits for the
    answer both ways, for a failed forward does not keep backward from running."""
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize()
    x, y = mx.nd.ones((4, 3), ctx=gpu), mx.nd.array([0, 1, 2, 1], ctx=gpu)
    x.attach_grad()
    for _ in range(12):
        with Counted() as count, mx.autograd.record():
            loss = loss_of(x, y)
        with Counted() as back:
            loss.backward()
    assert (count.replayed, back.replayed) == (2, 2)
    want = (1 / 3 - np.eye(3)[[0, 1, 2, 1]]).astype("f")
    np.testing.assert_allclose(x.grad.asnumpy(), want, 1e-5)
    with mx.autograd.record():
        loss = loss_of(x, mx.nd.array([0, 1, 3, 1], ctx=gpu))
    with pytest.raises(mx.base.MXNetError, match="index 3 is out of bounds"):
        loss.asnumpy()


def test_all_graphs_share_their_temporary_memory(gpu):
    """Of all addresses and all plans; it goes with the last of them."""
    n = 1 << 19
    ops = [mx.executor.CachedOp(shuffles(1)) for _ in range(3)]  # 8 MiB each, arrays of 2 MiB
    given = [mx.nd.array(np.arange(n) + i, ctx=gpu) for i in range(4)]
    for op in ops:
        for x in given:
            op(x)
    mx.nd.waitall()
    before = mx.storage.stats(gpu)["used_bytes"]
    with Counted() as count:
        for _ in range(4):
            for op in ops:
                for i, x in enumerate(given):
                    out = op(x)[0]
                    np.testing.assert_array_equal(np.sort(out.asnumpy()), np.arange(n) + i)
                    del out
    assert count.recorded >= 12 and count.replayed >= 24
    assert 8 << 20 <= mx.storage.stats(gpu)["used_bytes"] - before < 16 << 20
    del op, ops
    gc.collect()
    mx.nd.waitall()
    assert mx.storage.stats(gpu)["used_bytes"] - before < 4 << 20  # what copies use


def test_threads_call_one_block(gpu):
    """Each has arrays of its own, and a plan where calls meet."""
    net = mx.gluon.nn.Dense(5, in_units=7)
    net.initialize(mx.init.Xavier(), ctx=gpu)
    net.hybridize()
    weight, bias = net.weight.data().asnumpy(), net.bias.data().asnumpy()
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x = rng.standard_normal((3, 7)).astype("f")
            y = net(mx.nd.array(x, ctx=gpu)).asnumpy()
            if not np.allclose(y, x @ weight.T + bias, 1e-4, 1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    with Counted() as count:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not wrong and count.replayed > 50


def test_addresses_that_never_come_again(gpu):
    """No graph is recorded for them, and few are remembered."""
    op, x = mx.executor.CachedOp(mx.sym.exp(mx.sym.var("x")) * 2), mx.nd.ones((3,), ctx=gpu)
    kept = []
    with Counted() as count:
        for _ in range(200):
            kept.append(op(x)[0])
    assert (count.recorded, count.replayed) == (0, 0)
    for out in kept:
        np.testing.assert_allclose(out.asnumpy(), np.full(3, 2 * np.e, "f"), 1e-6)


def test_a_net_may_outlive_the_driver(gpu):
    """What the interpreter frees last, behind pycuda's streams."""
    program = """
import builtins
import tests.gpu.conftest
import cynet as mx
from cynet.cuda import graphs
net = builtins.kept = mx.gluon.nn.Dense(3, in_units=4)
net.initialize(ctx=mx.gpu(0))
net.hybridize()
x = mx.nd.ones((2, 4), ctx=mx.gpu(0))
for _ in range(8):
    net(x)
mx.nd.waitall()
assert graphs.graph_counts()[1] > 3
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr
