"""Steps of a training in which rank 1 does what argv[1] says; argv[2] is a folder for results."""

import os
import signal
import sys
import time

import cynet as mx

HOW, FOLDER = sys.argv[1:]
RANK = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])


def wrong():
    """What rank 1 does in step 5."""
    if HOW == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if HOW == "raises":
        raise ValueError("this is not my day")
    if HOW == "exits":
        sys.exit(5)
    if HOW == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    if HOW == "no rank returns from MPI":
        kv._world._communication._negotiation.poll = lambda: time.sleep(100)
    if HOW == "fails in the engine":
        kv.sum_up("bad", mx.nd.Custom(mx.nd.ones(3), op_type="failing"))
    if HOW == "another rate":
        optimizer.set_learning_rate(0.2)
    if HOW == "another rate in the store":
        kv.updater.optimizer.set_learning_rate(0.2)
    if HOW == "sets an optimizer alone":
        kv.set_optimizer(optimizer)
    if HOW == "has no data":
        module = mx.mod.Module(mx.sym.LinearRegressionOutput(mx.sym.var("data"), name="softmax"))
        module.fit(NoData(), num_epoch=1, kvstore="dist_sync", verbose=False)


class Failing(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise ArithmeticError("no result")


@mx.operator.register("failing")
class FailingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Failing()


class NoData(mx.io.NDArrayIter):
    def __init__(self):
        super().__init__(mx.nd.ones((4, 3)), mx.nd.ones((4, 3)), 4)

    def iter_next(self):
        return False


if HOW == "never comes" and RANK == 1:
    sys.exit(3)
kv = mx.kv.create("dist_sync")
gradient = mx.nd.ones(3)
optimizer = mx.optimizer.SGD(learning_rate=0.1)
in_store = HOW == "another rate in the store"
if in_store:
    kv.init("w", gradient)
    kv.set_optimizer(optimizer)
began = time.monotonic()
try:
    for step in range(1, 10):
        if step == 5 and (RANK == 1 or HOW == "no rank returns from MPI"):
            began = time.monotonic()
            wrong()
        shape, dtype, key = 3, "float32", "w"
        if step == 5 and RANK == 1:
            shape = 4 if HOW == "another shape" else 3
            dtype = "float64" if HOW == "another dtype" else "float32"
            key = "v" if HOW == "another key" else "w"
        began = time.monotonic()
        if in_store:
            kv.push("w", mx.nd.ones(3))
        else:
            kv.sum_up(key, mx.nd.ones(shape, dtype=dtype), optimizer=optimizer)
        kv.sum_up("then", gradient)
        gradient.wait_to_read()
        if step < 5:
            time.sleep(0.02)
finally:
    with open(os.path.join(FOLDER, f"{RANK}.seconds"), "w") as file:
        file.write(str(time.monotonic() - began))
