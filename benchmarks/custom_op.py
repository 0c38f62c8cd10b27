"""Operators that users write: cost of a call, training with one, overlap."""

import os
import time

import numpy as np
from harness import Row, main, median_time

HIDDEN = (128, 64)
BATCH = 128


def register(mx):
    """The operators that are measured, in the MXNet 1.x interface."""

    class Softmax(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            y = np.exp(x - x.max(axis=1, keepdims=True))
            y /= y.sum(axis=1, keepdims=True)
            self.assign(out_data[0], req[0], mx.nd.array(y))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            label = in_data[1].asnumpy().astype(int)
            y = out_data[0].asnumpy()
            y[np.arange(len(label)), label] -= 1
            self.assign(in_grad[0], req[0], mx.nd.array(y))

    class Pass(mx.operator.CustomOp):
        """An operator that does nothing: its time is that of the call."""

        def forward(self, is_train, req, in_data, out_data, aux):
            pass

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            pass

    class Copy(mx.operator.CustomOp):
        """An operator that copies arrays to NumPy, and back by `assign`, as most custom operators
        do."""

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], mx.nd.array(in_data[0].asnumpy()))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], mx.nd.array(out_grad[0].asnumpy()))

    class Sleep(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            time.sleep(1)
            self.assign(out_data[0], req[0], in_data[0])

    class Bound(mx.operator.CustomOp):
        """An operator whose work in NumPy releases the GIL and keeps one core busy."""

        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            for _ in range(100):
                np.tanh(x, out=x)
            self.assign(out_data[0], req[0], mx.nd.array(x))

    def prop(op, loss=False):
        class Prop(mx.operator.CustomOpProp):
            def __init__(self):
                super().__init__(need_top_grad=not loss)

            def list_arguments(self):
                return ["data", "label"] if loss else ["data"]

            def infer_shape(self, in_shape):
                rest = [(in_shape[0][0],)] if loss else []
                return [in_shape[0], *rest], [in_shape[0]], []

            def create_operator(self, ctx, shapes, dtypes):
                return op()

        return Prop

    mx.operator.register("bench_softmax")(prop(Softmax, loss=True))
    for op in (Pass, Copy, Sleep, Bound):
        mx.operator.register("bench_" + op.__name__.lower())(prop(op))


def chain(mx, apply, length=10):
    """A function that runs `length` operators that `apply` makes, forward and backward."""
    net = mx.sym.Variable("x")
    for _ in range(length):
        net = apply(net)
    executor = net.simple_bind(mx.cpu(), x=(10,))
    ones = mx.nd.ones((10,))

    def run():
        executor.forward(is_train=True)
        executor.backward(ones)
        executor.grad_dict["x"].wait_to_read()

    return run


def perceptron(mx, softmax):
    """A function that trains on one batch of MNIST's shape through Module."""
    net = mx.sym.Variable("data")
    for i, n in enumerate(HIDDEN, 1):
        net = mx.sym.FullyConnected(net, num_hidden=n, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    net = softmax(mx.sym.FullyConnected(net, num_hidden=10, name="fc3"))
    module = mx.mod.Module(net, context=mx.cpu())
    data, label = [("data", (BATCH, 784))], [("softmax_label", (BATCH,))]
    module.bind(data_shapes=data, label_shapes=label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    rng = np.random.default_rng(0)
    batch = mx.io.DataBatch(
        [mx.nd.array(rng.random((BATCH, 784)))], [mx.nd.array(rng.integers(0, 10, BATCH))]
    )

    def run():
        module.forward_backward(batch)
        module.update()
        module.get_outputs()[0].wait_to_read()
        mx.nd.waitall()

    return run


def beside(mx, op_type, count, shape):
    """A function that runs `count` independent operators."""
    x = mx.sym.Variable("x")
    nets = [mx.sym.Custom(x, op_type=op_type, name=f"n{i}") for i in range(count)]
    executor = mx.sym.Group(nets).simple_bind(mx.cpu(), grad_req="null", x=shape)

    def run():
        executor.forward()
        mx.nd.waitall()

    return run


def rows(mx):
    """Microseconds of a call beyond its NumPy work, a training step, and what overlaps."""
    register(mx)
    for name in ("pass", "copy"):
        text = {"pass": "CustomOp that does nothing", "copy": "CustomOp asnumpy and assign"}[name]
        run = chain(mx, lambda x, name=name: mx.sym.Custom(x, op_type=f"bench_{name}"))
        yield Row(f"{text}, in a graph", median_time(run, number=10) / 20)
        array = mx.nd.ones((10,))

        def call(name=name, array=array):
            mx.nd.Custom(array, op_type=f"bench_{name}").wait_to_read()

        yield Row(f"{text}, one call", median_time(call, number=50))

    def custom(scores):
        return mx.sym.Custom(data=scores, name="softmax", op_type="bench_softmax")

    def built_in(scores):
        return mx.sym.SoftmaxOutput(scores, name="softmax")

    yield Row("MLP, batch 128, CustomOp softmax", median_time(perceptron(mx, custom), number=20))
    yield Row("MLP, batch 128, built-in", median_time(perceptron(mx, built_in), number=20))
    run = beside(mx, "bench_sleep", 3, (1,))
    yield Row("three that sleep 1 s", median_time(run, repeat=1, warm_up=0))
    one, two = (beside(mx, "bench_bound", n, (500, 1000)) for n in (1, 2))
    # the fastest of many: what else runs on the machine takes one of the two cores
    alone = min(median_time(one, repeat=1, warm_up=0) for _ in range(15))
    both = min(median_time(two, repeat=1, warm_up=0) for _ in range(15))
    yield Row("one bound by NumPy", alone)
    yield Row("two bound by NumPy (x: speed-up)", both, 2 * alone)
    if hasattr(mx.operator, "compile_pyx"):
        yield from other_ways(mx)
        yield from in_cython(mx)


def other_ways(mx):
    """One call in a graph of the same operator, twice its input, written in each way."""

    class Numpy(mx.operator.NumpyOp):
        def forward(self, in_data, out_data):
            np.multiply(in_data[0], 2, out=out_data[0])

        def backward(self, out_grad, in_data, out_data, in_grad):
            np.multiply(out_grad[0], 2, out=in_grad[0])

    class Arrays(mx.operator.NDArrayOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 2

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * 2

    class Raw(mx.operator.Operator):
        def forward(self, ctx, in_data, req, out_data, aux_states):
            mx.simple_op.assign(out_data[0], req[0], np.asarray(in_data[0]) * 2)

        def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
            mx.simple_op.assign(in_grad[0], req[0], np.asarray(out_grad[0]) * 2)

    @mx.operator.register("bench_raw")
    class RawProperty(mx.operator.OperatorProperty):
        def create_operator(self, ctx, in_shapes, in_types):
            return Raw()

    def forward(src, env, ret, req, ctx):
        mx.simple_op.assign(ret, req, np.asarray(src) * 2)

    def backward(out_grad, env, in_grad, req, ctx):
        mx.simple_op.assign(in_grad, req, np.asarray(out_grad) * 2)

    mx.simple_op.register("bench_simple").set_function("cpu", forward).set_gradient("cpu", backward)
    here = os.path.dirname(os.path.abspath(__file__))
    mx.operator.compile_pyx(f"{here}/../examples/cython_operator/leaky.pyx")
    ways = {
        "NDArrayOp": Arrays(),
        "NumpyOp": Numpy(),
        "raw Operator in Python": mx.sym.bench_raw,
        "SimpleOp in Python": mx.sym.bench_simple,
        "SimpleOp in Cython (smooth_l1)": mx.sym.smooth_l1,
        "raw Operator in Cython (leaky)": mx.sym.leaky,
    }
    for name, apply in ways.items():
        yield Row(f"{name}, in a graph", median_time(chain(mx, apply), number=10) / 20)


def in_cython(mx):
    """The example operator in Cython; beside it, as `NumPy`, the built-in `square`."""
    for size, number in ((10, 2000), (1_000_000, 20)):
        x = mx.nd.array(np.random.default_rng(0).normal(size=size))
        out = mx.nd.zeros((size,))
        times = {"leaky": [], "square": []}
        for _ in range(15):  # interleaved
            for name, seconds in times.items():
                function = getattr(mx.nd, name)

                def call(function=function, x=x, out=out):
                    function(x, out=out)
                    out.wait_to_read()

                seconds.append(median_time(call, number=number, repeat=3, warm_up=1))
        mine, built_in = (sorted(seconds)[len(seconds) // 2] for seconds in times.values())
        yield Row(f"Cython operator, {size:,} numbers (x: built-in)", mine, built_in)


if __name__ == "__main__":
    main(__doc__, rows)
