"""What an operator's Python code keeps of the arrays it is lent: its own, with the values of then.

Kept arrays, views of them and pointers into them never show, nor write to, what others compute.
"""

import ctypes
import gc

import numpy as np
import pytest

import cynet as mx
from tests.pairs import pairwise

KEEP = {
    "whole": lambda a: a,
    "slice": lambda a: a[1:2],
    "reshape": lambda a: a.reshape((2, -1)),
    "view of a view": lambda a: a.reshape((2, 2))[1].reshape((2, 1)),
    "two views": lambda a: (a[0:1], a[3:4]),
    "flatten": lambda a: a.flatten() if a.ndim > 1 else a.reshape((4,)),
    "memoryview": lambda a: memoryview(a),
    "buffer": lambda a: np.frombuffer(a, dtype="float32"),
    "asarray": lambda a: np.asarray(a),
    "dlpack": lambda a: np.from_dlpack(a),
    "dlpack of a view": lambda a: np.from_dlpack(a[1:3]),
    "capsule": lambda a: a.to_dlpack_for_write(),
    "pointer": lambda a: (a, ctypes.cast(a.data_ptr, ctypes.POINTER(ctypes.c_float * 4))),
    "two ways": lambda a: (a[1:2], np.from_dlpack(a)),
}


def scribble(kept):
    """Write 8 wherever what was kept lets one."""
    if isinstance(kept, tuple):
        for each in kept:
            scribble(each)
    elif isinstance(kept, mx.nd.NDArray):
        kept[:] = 8
    elif isinstance(kept, memoryview):
        if not kept.readonly:
            kept[0] = 8
    elif isinstance(kept, np.ndarray):
        if kept.flags.writeable:
            kept[...] = 8
    elif isinstance(kept, ctypes._Pointer):
        kept.contents[2] = 8
    elif "used" not in repr(kept):  # a capsule that was taken has nothing to write to
        scribble(mx.nd.from_dlpack(kept))
    mx.nd.waitall()


kept = []
choice = {"keep": None, "of": "out_data"}


def _keep(**lists):
    if choice["of"] in lists:
        kept.append(KEEP[choice["keep"]](lists[choice["of"]][0]))


class Keeps(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 3)
        _keep(in_data=in_data, out_data=out_data, aux=aux)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 3)
        _keep(in_grad=in_grad, out_grad=out_grad)


@mx.operator.register("test_keeps")
class KeepsProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Keeps()


class KeepsToo(mx.operator.NDArrayOp):
    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * 3
        _keep(in_data=in_data, out_data=out_data)

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0] * 3
        _keep(in_grad=in_grad, out_grad=out_grad)


WAYS = {
    "CustomOp": lambda x: mx.sym.Custom(x, op_type="test_keeps"),
    "NDArrayOp": lambda x: KeepsToo()(x),
}


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    kept.clear()


@pytest.mark.parametrize("how", KEEP)
@pytest.mark.parametrize("of", ["out_data", "in_data"])
def test_an_imperative_call(how, of):
    choice.update(keep=how, of=of)
    x = mx.nd.ones((4,))
    y = mx.nd.Custom(x, op_type="test_keeps")
    y.wait_to_read()
    scribble(kept[0])
    assert y.asnumpy().tolist() == [3, 3, 3, 3] and x.asnumpy().tolist() == [1, 1, 1, 1]
    out = mx.nd.zeros((4,))
    mx.nd.Custom(x, op_type="test_keeps", out=out)
    out.wait_to_read()
    scribble(kept[1])
    assert out.asnumpy().tolist() == [3, 3, 3, 3] and x.asnumpy().tolist() == [1, 1, 1, 1]


OF = ["out_data", "in_data", "in_grad", "out_grad"]


@pytest.mark.parametrize("way, how, of", pairwise(list(WAYS), list(KEEP), OF))
def test_an_executor(way, how, of):
    choice.update(keep=how, of=of)
    x = mx.sym.Variable("x")
    net = (WAYS[way](x + 1) * 2 + x).simple_bind(mx.cpu(), x=(4,))
    net.arg_dict["x"][:] = 1
    for _ in range(2):
        net.forward(is_train=True)
        net.outputs[0].wait_to_read()
        for each in kept:
            scribble(each)
        net.backward(mx.nd.ones((4,)))
        net.grad_dict["x"].wait_to_read()
        for each in kept:
            scribble(each)
        assert net.outputs[0].asnumpy().tolist() == [13] * 4
        assert net.grad_dict["x"].asnumpy().tolist() == [7] * 4
        assert net.arg_dict["x"].asnumpy().tolist() == [1] * 4


@pytest.mark.parametrize("how", KEEP)
def test_memory_that_has_gone(how):
    """What was kept is written to when the arrays, or the executor, are there no more."""
    choice.update(keep=how, of="out_data")
    for make in ("nd", "out", "executor") * 10:
        kept.clear()
        if make == "nd":
            y = mx.nd.Custom(mx.nd.ones((4,)), op_type="test_keeps")
        elif make == "out":
            y = mx.nd.zeros((4,))
            mx.nd.Custom(mx.nd.ones((4,)), op_type="test_keeps", out=y)
        else:
            net = mx.sym.Custom(mx.sym.Variable("x") + 1, op_type="test_keeps") * 2
            y = net.bind(mx.cpu(), {"x": mx.nd.ones((4,))}).forward()[0]
            del net
        y.wait_to_read()
        del y
        gc.collect()
        others = [mx.nd.zeros((n,)) for n in (4, 16, 32, 64, 128) for _ in range(8)]
        mx.nd.waitall()
        scribble(kept[0])
        assert not any(other.asnumpy().any() for other in others)


def test_what_is_kept_has_the_values_of_then():
    choice.update(keep="two views", of="in_data")
    net = mx.sym.Custom(mx.sym.Variable("x") * 1, op_type="test_keeps")
    net = net.simple_bind(mx.cpu(), grad_req="null", x=(4,))
    for value in (1, 2):
        net.forward(x=mx.nd.array([value, 5, 6, 7 * value]))[0].wait_to_read()
    found = [[part.asnumpy().tolist() for part in pair] for pair in kept]
    assert found == [[[1], [7]], [[2], [14]]]


def floats_at(array):
    """The memory of four floats, by its address."""
    return np.ctypeslib.as_array((ctypes.c_float * 4).from_address(array.data_ptr))


def test_inside_the_call_views_and_pointers_write_to_the_output():
    class Views(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            half = out_data[0][0:2]
            whole = floats_at(out_data[0])  # from here on the array has memory of its own
            whole[...] = in_data[0].asnumpy()
            half[:] = 5
            half.wait_to_read()
            assert whole[0] == 5
            floats_at(out_data[0].reshape((2, 2)))[3] = 9

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            floats_at(in_grad[0])[...] = 4

    @mx.operator.register("test_views")
    class ViewsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Views()

    x = mx.nd.array([1, 2, 3, 4])
    assert mx.nd.Custom(x, op_type="test_views").asnumpy().tolist() == [5, 5, 3, 9]
    net = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_views").bind(
        mx.cpu(), {"x": x}, args_grad={"x": mx.nd.zeros((4,))}
    )
    assert net.forward(is_train=True)[0].asnumpy().tolist() == [5, 5, 3, 9]
    net.backward(mx.nd.ones((4,)))
    assert net.grad_dict["x"].asnumpy().tolist() == [4] * 4


def test_a_call_that_keeps_nothing_copies_nothing():
    """The memory is the output's own, and views that have gone leave it there."""
    addresses = []

    class Looks(mx.operator.Operator):
        def forward(self, ctx, in_data, req, out_data, aux_states):
            from cynet.operator.custom._borrow import end_loans, lend

            lists = (lend(out_data, self.memory_owner, True),)
            lists[0][0][:] = 6
            lists[0][0][1:2][:] = 7
            end_loans(lists)
            assert lists == ([None],)
            addresses.append(out_data[0].data_ptr)
            assert np.asarray(out_data[0]).tolist() == [6, 7, 6, 6]

    @mx.operator.register("test_looks")
    class LooksProperty(mx.operator.OperatorProperty):
        """Fills."""

        def create_operator(self, ctx, in_shapes, in_types):
            return Looks()

    y = mx.nd.test_looks(mx.nd.zeros((4,)))
    assert y.asnumpy().tolist() == [6, 7, 6, 6]
    assert addresses == [y.data_ptr]
