"""Eight CustomOps in a row, each waiting and calling nd functions; the last runs another Custom
operator at once and a bound executor with one inside. Arguments: where to run, how often."""

import multiprocessing
import sys
import threading

import numpy as np

import cynet as mx


class Inner(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        in_data[0].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.abs(in_data[0]) + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * mx.nd.sign(in_data[0]))


class Outer(Inner):
    """Runs Inner twice: by mx.nd, and in an executor of its own."""

    executor = None

    def forward(self, is_train, req, in_data, out_data, aux):
        if self.executor is None:
            net = mx.sym.Custom(mx.sym.Variable("x"), op_type="inner", name="deep")
            self.executor = net.simple_bind(mx.cpu(), grad_req="null", x=in_data[0].shape)
        once = mx.nd.Custom(in_data[0], op_type="inner")
        twice = self.executor.forward(x=once)[0].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.array(twice - 1))


def make(cls):
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return cls()

    return Prop


mx.operator.register("inner")(make(Inner))
mx.operator.register("outer")(make(Outer))


def work(iterations):
    net = mx.sym.Variable("x")
    for i in range(8):
        net = mx.sym.Custom(net, op_type="outer" if i == 7 else "inner", name=f"n{i}")
    executor = net.simple_bind(mx.cpu(), x=(3,))
    start = np.array([-1, 2, 3], np.float32)
    for k in range(iterations):
        executor.forward(is_train=True, x=mx.nd.array(start * (k + 1)))
        executor.backward(mx.nd.ones((3,)))
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), abs(start * (k + 1)) + 8)
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.sign(start))


def join(process):
    process.join()
    assert process.exitcode == 0, process.exitcode


if __name__ == "__main__":
    how, iterations = sys.argv[1], int(sys.argv[2])
    if how == "here":
        work(iterations)
    elif how == "threads":
        failed = []

        def guarded():
            try:
                work(iterations)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=guarded) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failed, failed
    else:
        work(3)  # the parent's engine has run before
        process = multiprocessing.get_context(how).Process(target=work, args=(iterations,))
        process.start()
        work(3)  # and runs beside the child
        join(process)
    print("done", how, iterations)
