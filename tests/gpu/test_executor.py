"""Executors on a GPU against those on the CPU; their graphs."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet.cuda import graphs


def network():
    x = mx.sym.Variable("data")
    x = mx.sym.FullyConnected(x, name="fc1", num_hidden=32)
    x = mx.sym.tanh(x)
    x = mx.sym.FullyConnected(x, name="fc2", num_hidden=5)
    return mx.sym.exp(x * 0.3)


def bound(symbol, ctx, rng_seed, grad_req="write", **shapes):
    executor = symbol.simple_bind(ctx, grad_req=grad_req, **shapes)
    rng = np.random.default_rng(rng_seed)
    for name in sorted(executor.arg_dict):
        array = executor.arg_dict[name]
        array[:] = rng.standard_normal(array.shape).astype("f") * 0.5
    return executor


def close(a, b):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_many_steps(gpu, seed, recorded, grad_req):
    before = graphs.switch_recording(recorded)
    try:
        here, there = (bound(network(), c, seed, grad_req, data=(16, 8)) for c in (mx.cpu(), gpu))
        was = graphs.graph_counts()
        rng = np.random.default_rng(seed + 1)
        for _ in range(6):
            x = rng.standard_normal((16, 8)).astype("f")
            heads = rng.standard_normal((16, 5)).astype("f")
            for executor, ctx in ((here, mx.cpu()), (there, gpu)):
                executor.forward(is_train=True, data=x)
                executor.backward([mx.nd.array(heads, ctx=ctx)])
            close(there.outputs[0], here.outputs[0])
            for name, grad in here.grad_dict.items():
                close(there.grad_dict[name], grad)
        now = graphs.graph_counts()
        assert now[0] - was[0] == (2 if recorded else 0)  # forward and backward
        assert now[1] - was[1] == (8 if recorded else 0)  # but for the first two steps
    finally:
        graphs.switch_recording(before)


def test_predicting_and_training_have_graphs_of_their_own(gpu, seed):
    here, there = (bound(network(), c, seed, "null", data=(4, 8)) for c in (mx.cpu(), gpu))
    for step in range(10):
        is_train = step % 2 == 1
        here.forward(is_train=is_train)
        there.forward(is_train=is_train)
        close(there.outputs[0], here.outputs[0])


def test_a_graph_reads_what_the_arrays_hold_now(gpu, seed):
    there = bound(network(), gpu, seed, data=(4, 8))
    outputs = []
    for _ in range(5):
        there.forward(is_train=False)
        outputs.append(there.outputs[0].asnumpy())
        there.arg_dict["fc2_bias"] += 1
    for first, second in itertools.pairwise(outputs):
        np.testing.assert_allclose(second, first * np.exp(np.float32(0.3)), rtol=1e-4)


def test_an_executor_may_die_while_its_graph_runs(gpu, seed):
    for _ in range(5):
        there = bound(network(), gpu, seed, data=(64, 8))
        for _ in range(4):
            there.forward(is_train=True)
            there.backward([mx.nd.ones((64, 5), ctx=gpu)])
        kept = there.outputs[0]
        del there
        assert np.isfinite(kept.asnumpy()).all()


def test_an_operator_without_a_form_is_named(gpu):
    class Nothing(mx.operator.OperatorProperty):
        any_device = False

    mx.operator.register("nothing_on_gpus")(Nothing)
    x = mx.sym.nothing_on_gpus(mx.sym.Variable("x"), name="node7")
    with pytest.raises(ValueError, match="node7"):
        x.simple_bind(gpu, x=(3,))


def test_random_numbers_differ_between_steps_as_on_the_cpu(gpu):
    x = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5)
    results = []
    for ctx in (mx.cpu(), gpu):
        mx.random.seed(11)
        executor = x.simple_bind(ctx, x=(50, 20))
        executor.arg_dict["x"][:] = 1
        found = []
        for _ in range(5):
            executor.forward(is_train=True)
            found.append(executor.outputs[0].asnumpy())
        results.append(found)
    assert not np.array_equal(results[1][3], results[1][4])
    np.testing.assert_array_equal(results[0], results[1])
