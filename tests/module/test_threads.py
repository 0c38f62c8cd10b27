"""Modules that several threads use: each gets the outputs of its own batches, or is told."""

import copy
import logging
import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import StateError

THREADS, ROUNDS, SIZE = 8, 12, 4


def net(data=None):
    data = mx.sym.var("data") if data is None else data
    return mx.sym.FullyConnected(data, num_hidden=64, no_bias=True, name="fc")


def sequential():
    first = mx.mod.Module(mx.sym.identity(mx.sym.var("data"), name="same"), label_names=None)
    chain = mx.mod.SequentialModule()
    return chain.add(first).add(mx.mod.Module(net(), label_names=None), auto_wiring=True)


MODULES = {
    "Module": lambda: mx.mod.Module(net(), label_names=None),
    "two devices": lambda: mx.mod.Module(net(), label_names=None, context=["cpu(0)", "cpu(1)"]),
    "BucketingModule": lambda: mx.mod.BucketingModule(lambda key: (net(), ("data",), ()), 32),
    "SequentialModule": sequential,
}
WEIGHT = np.random.RandomState(0).randn(64, 32).astype("float32")


@pytest.fixture(params=MODULES)
def module(request):
    made = MODULES[request.param]()
    made.bind([("data", (SIZE, 32))], for_training=False)
    made.init_params(arg_params={"fc_weight": mx.nd.array(WEIGHT)}, aux_params={})
    return made


def batch(seed, rows=SIZE):
    values = np.random.RandomState(seed).randn(rows, 32).astype("float32")
    made = mx.io.DataBatch(
        [mx.nd.array(values)], bucket_key=32, provide_data=[("data", (rows, 32))]
    )
    return made, values @ WEIGHT.T


def hammer(run):
    """Call ``run(number of the thread, round)`` in threads; the errors they raised."""
    errors, start = [], threading.Barrier(THREADS)

    def work(number):
        start.wait()
        for i in range(ROUNDS):
            try:
                run(number, i)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return errors


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


class One(mx.io.DataIter):
    """An iterator over one batch, with the sums of its outputs for labels."""

    def __init__(self, seed, rows):
        super().__init__(rows)
        self.batch, self.want = batch(seed, rows)
        self.batch.label = [mx.nd.array(self.want)]
        self.provide_data, self.provide_label, self.done = self.batch.provide_data, [], False

    def reset(self):
        self.done = False

    def next(self):
        if self.done:
            raise StopIteration
        self.done = True
        return self.batch


@pytest.mark.parametrize("rows", ["one size", "sizes"])
def test_predict_iter_predict_and_score_are_right(module, rows):
    """Of batches of several sizes, too, for which the module changes its shapes."""

    def run(number, i):
        one = One(100 * number + i, SIZE if rows == "one size" else 2 + 2 * (number % 3))
        close(module.predict(one).asnumpy(), one.want)
        one.reset()
        for outputs, _, _ in module.iter_predict(one):
            time.sleep(0.0003)  # the others run meanwhile
            close(outputs[0].asnumpy(), one.want)
        if not isinstance(module, mx.mod.SequentialModule):  # whose modules take no labels here
            assert dict(module.score(one, "mse"))["mse"] < 1e-6

    assert hammer(run) == []


def test_predict_of_arrays_is_right():
    module = MODULES["Module"]()
    module.bind([("data", (SIZE, 32))], for_training=False)
    module.init_params(arg_params={"fc_weight": mx.nd.array(WEIGHT)}, aux_params={})

    def run(number, i):
        made, want = batch(100 * number + i)
        close(module.predict(made.data[0]).asnumpy(), want)

    assert hammer(run) == []


def test_forward_and_get_outputs_under_a_lock_are_right(module):
    lock = threading.Lock()

    def run(number, i):
        made, want = batch(100 * number + i)
        with lock:
            module.forward(made, is_train=False)
            outputs = module.get_outputs()
        close(outputs[0].asnumpy(), want)  # the others run meanwhile

    assert hammer(run) == []


def test_forward_and_get_outputs_without_a_lock_are_right_or_refused(module):
    right = []

    def run(number, i):
        made, want = batch(100 * number + i)
        module.forward(made, is_train=False)
        outputs = module.get_outputs()[0].asnumpy()
        close(outputs, want)
        right.append(number)

    errors = hammer(run)
    assert all(type(each) is StateError for each in errors), errors
    assert all("another thread has called forward" in str(each) for each in errors)
    assert len(errors) + len(right) == THREADS * ROUNDS


def in_thread(run):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_outputs_stay_when_a_second_thread_comes(module):
    """The first thread has the module's own memory in its hands by then."""
    mine, want = batch(1)
    module.forward(mine, is_train=False)
    held = module.get_outputs()[0]
    in_thread(lambda: module.forward(batch(2)[0], is_train=False))
    close(held.asnumpy(), want)
    for what in (module.get_outputs, lambda: module.update_metric(mx.metric.Loss(), [])):
        with pytest.raises(StateError, match="another thread has called forward"):
            what()
    module.forward(mine, is_train=False)
    close(module.get_outputs()[0].asnumpy(), want)


def test_outputs_go_to_a_thread_that_ran_nothing(module):
    mine, want = batch(1)
    module.forward(mine, is_train=False)
    got = []
    in_thread(lambda: got.append(module.get_outputs()[0].asnumpy()))
    close(got[0], want)


def test_backward_of_another_threads_forward_is_refused():
    module = mx.mod.Module(mx.sym.LinearRegressionOutput(net(), name="softmax"))
    module.bind([("data", (SIZE, 32))], [("softmax_label", (SIZE, 64))], inputs_need_grad=True)
    module.init_params()
    made = batch(1)[0]
    made.label = [mx.nd.zeros((SIZE, 64))]
    module.forward(made, is_train=True)
    in_thread(lambda: module.forward(made, is_train=False))
    for what in (module.backward, module.get_input_grads):
        with pytest.raises(StateError, match=f"{what.__name__}: another thread"):
            what()
    module.forward_backward(made)
    assert float(mx.nd.norm(module.get_input_grads()[0]).asscalar()) > 0


def test_threads_predict_while_one_trains():
    """Training gives the weights that it gives alone; a rate of 0 lets predictions be compared."""

    def train(rate, meanwhile):
        module = mx.mod.Module(mx.sym.LinearRegressionOutput(net(), name="softmax"))
        rng = np.random.RandomState(3)
        it = mx.io.NDArrayIter(rng.randn(400, 32), rng.randn(400, 64), 4)
        module.bind(it.provide_data, it.provide_label)
        module.init_params(arg_params={"fc_weight": mx.nd.array(WEIGHT)}, aux_params={})
        stop, errors = threading.Event(), []

        def predict(number):
            i = 0
            while not stop.is_set():
                i += 1
                one = One(100 * number + i, SIZE)
                try:
                    got = module.predict(one).asnumpy()
                    if rate == 0:
                        close(got, one.want)
                except Exception as error:
                    errors.append(error)

        threads = [threading.Thread(target=predict, args=(n,)) for n in range(3 * meanwhile)]
        for each in threads:
            each.start()
        history = module.fit(
            it,
            num_epoch=2,
            eval_metric="mse",
            verbose=False,
            optimizer_params={"learning_rate": rate, "momentum": 0.9 * (rate > 0)},
        )
        stop.set()
        for each in threads:
            each.join()
        assert errors == []
        return module.get_params()[0]["fc_weight"].asnumpy(), history.metrics

    for rate in (0.0, 0.1):
        (alone, figures), (together, others) = train(rate, False), train(rate, True)
        np.testing.assert_array_equal(alone, together)
        assert figures == others


def test_a_copy_is_nobodys():
    module = mx.mod.Module(net(), label_names=None, logger=logging.getLogger("copied"))
    copied = copy.deepcopy(module)
    assert copied._thread_guard is not module._thread_guard and copied._thread_guard.last is None
